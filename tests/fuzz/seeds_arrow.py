#!/usr/bin/env python3
"""Writes the Arrow seeds beside this file: tables as fuzz_arrow.c reads them."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "arrow"
FORMATS = ["g", "tss:", "u", "l", "f", "i", "C", "b", "tsn:UTC", "tsu:Europe/Rome", "U", "vu", "tdD"]
NAMES = ["time", "id", "x", "y", "ds", "unique_id", "variable", "value", "wd", "Date", "Time", ""]
NULLS, CODED, OFFSET = 1, 2, 4


def column(name, format, data, like=0, values=b""):
    return bytes([NAMES.index(name), like, FORMATS.index(format)]) + data + values


def table(rows, *columns, options=0, batch=0):
    return bytes([options, rows, batch, len(columns)]) + b"".join(columns)


def text(letters, *offsets):
    return bytes(offsets) + letters.encode().ljust(24)


HOURS = struct.pack("<4q", 0, 3600, 7200, 10800)
AUTUMN = struct.pack("<4q", 1698541200, 1698544800, 1698544800, 1698548400)
DOUBLES = struct.pack("<4d", 1.5, float("nan"), -9999, 1e20)
WORDS = bytes([0, FORMATS.index("u")]) + text("abcde", 0, 1, 2, 3, 4, 5)  # a dictionary
SEEDS = {
    "wide": table(4, column("time", "tss:", HOURS), column("x", "g", DOUBLES)),
    "batches": table(4, column("time", "tss:", HOURS), column("x", "g", DOUBLES), batch=1),
    "entities": table(4, column("id", "u", text("aabb", 0, 1, 2, 3, 4)), column("time", "tss:", HOURS),
                      column("x", "g", DOUBLES)),
    "nulls": table(4, column("time", "tss:", HOURS), column("x", "g", b"\x0b" + DOUBLES, NULLS)),
    "dictionary": table(4, column("id", "C", bytes([0, 1, 1, 2]), CODED, WORDS), column("time", "tss:", HOURS),
                        column("x", "g", DOUBLES)),
    "views": table(4, column("id", "vu", b"".join([
        struct.pack("<i12s", 1, b"a"), struct.pack("<i12s", 2, b"bc"), struct.pack("<i4sii", 14, b"long", 0, 3),
        struct.pack("<i4sii", 14, b"long", 0, 9)]) + b"a long text of 24 bytes."), column("time", "tss:", HOURS),
        column("x", "g", DOUBLES)),
    "long": table(4, column("time", "tss:", HOURS), column("variable", "u", text("xyxy", 0, 1, 2, 3, 4)),
                  column("value", "g", DOUBLES)),
    "autumn": table(4, column("time", "tss:", AUTUMN), column("x", "g", DOUBLES), options=4),
    "text_times": table(2, column("Date", "u", text("2024-01-012024-01-02", 0, 10, 20)),
                        column("x", "l", struct.pack("<2q", 40, 7)), options=16),
    "offset": table(1, column("time", "tss:", HOURS, OFFSET), column("x", "g", DOUBLES, OFFSET)),
    "days": table(4, column("ds", "tdD", struct.pack("<4i", 0, 1, 2, 9)), column("y", "i", struct.pack("<4i", 1, 2, 3, 4)),
                  options=32),
    "empty": table(0),
}

for name, data in SEEDS.items():
    (FOLDER / f"{name}.seed").write_bytes(data)
