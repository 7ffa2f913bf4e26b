#!/usr/bin/env python3
"""Writes the safetensors seeds beside this file: small valid files and others with one thing wrong."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "safetensors"


def tensor(dtype, shape, begin, end):
    return f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


def pad(header):
    return header + " " * (-len(header.encode()) % 8)


SEEDS = {  # name: (header, bytes of data)
    "empty": ("{}", 0),
    "scalar": (pad('{"a":%s}' % tensor("F32", "[]", 0, 4)), 4),
    "no_elements": (pad('{"a":%s,"b":%s}' % (tensor("F64", "[0,3]", 0, 0), tensor("U8", "[2]", 0, 2))), 2),
    "two": (pad('{"w":%s,"b":%s}' % (tensor("F32", "[2,3]", 0, 24), tensor("F32", "[3]", 24, 36))), 36),
    "backward": (pad('{"b":%s,"w":%s}' % (tensor("I16", "[1]", 8, 10), tensor("I64", "[1]", 0, 8))), 10),
    "dtypes": (pad('{"a":%s,"b":%s,"c":%s,"d":%s}' % (
        tensor("C64", "[1]", 0, 8), tensor("BF16", "[1,1]", 8, 10), tensor("F8_E4M3", "[1]", 10, 11),
        tensor("BOOL", "[1]", 11, 12))), 12),
    "metadata": (pad('{"__metadata__":{"format":"1","config":"{\\"a\\":1}"},"a":%s}'
                     % tensor("U8", "[1]", 0, 1)), 1),
    "escapes": (pad('{"\\u00fc\\ud83d\\ude00\\n\\/ü":%s,"__metadata__":{"":"\\t"}}'
                    % tensor("I8", "[1]", 0, 1)), 1),
    "spaces": (pad('{ "a" :\t{ "shape" : [ 1 , 2 ] ,\n"data_offsets":[ 0 , 2 ],"dtype" : "U8" } }'), 2),
    "rank8": (pad('{"a":%s}' % tensor("U8", "[1,1,1,1,1,1,1,2]", 0, 2)), 2),
    "overlap": (pad('{"a":%s,"b":%s}' % (tensor("U8", "[4]", 0, 4), tensor("U8", "[4]", 2, 6))), 6),
    "hole": (pad('{"a":%s,"b":%s}' % (tensor("U8", "[4]", 0, 4), tensor("U8", "[1]", 5, 6))), 6),
    "twice": (pad('{"a":%s,"\\u0061":%s}' % (tensor("U8", "[4]", 0, 4), tensor("U8", "[2]", 4, 6))), 6),
    "misaligned": ('{"a":%s}' % tensor("F32", "[1]", 0, 4), 4),
    "too_large": (pad('{"a":%s}' % tensor("F64", "[4294967296,4294967296]", 0, 8)), 8),
    "surrogate": (pad('{"\\ud83d":%s}' % tensor("U8", "[1]", 0, 1)), 1),
    "unclosed": ('{"a":{"dtype":"F32","shape":[1', 4),
}

for name, (header, n_data) in SEEDS.items():
    text = header.encode()
    (FOLDER / f"{name}.seed").write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(n_data)))
