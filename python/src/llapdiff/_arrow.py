"""Columns of NumPy as Arrow tables, without a copy: into the library, and out to whoever reads the interface."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._lib import OutOfMemoryError, ffi, lib

_NUMBERS = {"i1": "c", "u1": "C", "i2": "s", "u2": "S", "i4": "i", "u4": "I", "i8": "l", "u8": "L",
            "f2": "e", "f4": "f", "f8": "g"}
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


class Column:
    """A column as the interface describes it: a format, buffers, perhaps a dictionary."""

    __slots__ = ("name", "format", "length", "buffers", "null_count", "dictionary")

    def __init__(self, name: str, format: str, length: int, buffers: Sequence[np.ndarray | None],
                 null_count: int = 0, dictionary: Column | None = None):
        self.name, self.format, self.length = name, format, length
        self.buffers, self.null_count, self.dictionary = list(buffers), null_count, dictionary


def bits(flags: np.ndarray) -> np.ndarray:
    return np.packbits(flags, bitorder="little")


def _valid(valid: np.ndarray | None) -> tuple[np.ndarray | None, int]:
    if valid is None or valid.all():
        return None, 0
    return bits(valid), int(len(valid) - np.count_nonzero(valid))


def numbers(name: str, values: np.ndarray, valid: np.ndarray | None = None) -> Column:
    """Integers, floats or booleans."""
    present, nulls = _valid(valid)
    if values.dtype.kind == "b":
        return Column(name, "b", len(values), [present, bits(values)], nulls)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return Column(name, _NUMBERS[values.dtype.str[1:]], len(values), [present, values], nulls)


def times(name: str, values: np.ndarray, zone: str = "") -> Column:
    """datetime64 or timedelta64 of any unit; NaT is missing."""
    unit = np.datetime_data(values.dtype)
    if unit[0] not in _UNITS or unit[1] != 1:
        finer = "s" if unit[0] in ("Y", "M", "W", "D", "h", "m", "s") else "ns"
        values = values.astype(f"{values.dtype.kind}8[{finer}]")
        unit = (finer, 1)
    letter = _UNITS[unit[0]]
    present, nulls = _valid(~np.isnat(values))
    ticks = np.ascontiguousarray(values).view(np.int64)
    return Column(name, f"ts{letter}:{zone}" if values.dtype.kind == "M" else f"tD{letter}",
                  len(values), [present, ticks], nulls)


def words(name: str, codes: np.ndarray, texts: Sequence[str]) -> Column:
    """Texts by their places in a list; a negative place is missing."""
    present, nulls = _valid(codes >= 0)
    encoded = [text.encode() for text in texts]
    # not np.zeros, nor cumsum of a list: NumPy 2.2 leaves a reference behind there, and tests/test_leaks.py counts them
    offsets = np.empty(len(encoded) + 1, np.int32 if sum(map(len, encoded)) < 2**31 else np.int64)
    offsets[0] = 0
    np.cumsum(np.array([len(text) for text in encoded], np.int64), out=offsets[1:])
    letters = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
    dictionary = Column("", "u" if offsets.dtype == np.int32 else "U", len(encoded), [None, offsets, letters])
    codes = np.ascontiguousarray(codes)
    if codes.dtype.kind not in "iu":
        codes = codes.astype(np.int32)
    return Column(name, _NUMBERS[codes.dtype.str[1:]], len(codes), [present, codes], nulls, dictionary)


class _Export:
    """Keeps the memory behind a stream until python_release says that nobody needs it."""

    def __init__(self, columns: Sequence[Column]):
        self.keep: list[Any] = [columns]
        fields = [self._pair(c) for c in columns]
        length = columns[0].length if columns else 0
        self.schema = self._struct("struct ArrowSchema *", format=self._text("+s"), name=self._text(""),
                                   n_children=len(fields), children=self._pointers("struct ArrowSchema *[]", fields, 0))
        self.array = self._struct("struct ArrowArray *", length=length, n_buffers=1,
                                  buffers=self._pointers_to(["const void *[]", [ffi.NULL]]),
                                  n_children=len(fields), children=self._pointers("struct ArrowArray *[]", fields, 1))
        self.handle = ffi.new_handle(self)

    def _struct(self, kind: str, **members: Any) -> Any:
        struct = ffi.new(kind, members)
        self.keep.append(struct)
        return struct

    def _text(self, text: str) -> Any:
        return self._pointers_to(["char[]", text.encode()])

    def _pointers_to(self, arguments: list[Any]) -> Any:
        made = ffi.new(*arguments)
        self.keep.append(made)
        return made

    def _pointers(self, kind: str, fields: list[tuple[Any, Any]], which: int) -> Any:
        return self._pointers_to([kind, [pair[which] for pair in fields]]) if fields else ffi.NULL

    def _pair(self, c: Column) -> tuple[Any, Any]:
        inner = (ffi.NULL, ffi.NULL) if c.dictionary is None else self._pair(c.dictionary)
        buffers = [ffi.NULL if b is None else ffi.cast("void *", b.__array_interface__["data"][0]) for b in c.buffers]
        self.keep.append(c.buffers)
        return (self._struct("struct ArrowSchema *", format=self._text(c.format), name=self._text(c.name), flags=2,
                             dictionary=inner[0]),
                self._struct("struct ArrowArray *", length=c.length, null_count=c.null_count, n_buffers=len(buffers),
                             buffers=self._pointers_to(["const void *[]", buffers]), dictionary=inner[1]))


_exports: dict[int, _Export] = {}


def _key(handle: Any) -> int:
    return int(ffi.cast("intptr_t", handle))


def python_release(handle: Any) -> None:
    _exports.pop(_key(handle), None)


ffi.def_extern()(python_release)


def _keep(columns: Sequence[Column]) -> _Export:
    export = _Export(columns)
    _exports[_key(export.handle)] = export
    return export


def stream(columns: Sequence[Column]) -> Any:
    """A struct ArrowArrayStream for the library, which releases it."""
    export = _keep(columns)
    out = ffi.new("struct ArrowArrayStream *")
    if not lib.llap_py_stream(out, export.schema, export.array, export.handle):
        python_release(export.handle)
        raise OutOfMemoryError("out of memory")
    return out


def capsule(columns: Sequence[Column]) -> Any:
    """What __arrow_c_stream__ returns."""
    import ctypes

    export = _keep(columns)
    made = lib.llap_py_stream_create(export.schema, export.array, export.handle)
    if not made:
        python_release(export.handle)
        raise OutOfMemoryError("out of memory")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(_key(made), b"arrow_array_stream", _key(ffi.addressof(lib, "llap_py_capsule_free")))


def stream_of(taken: Any) -> Any:
    """The struct ArrowArrayStream in a capsule."""
    import ctypes

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ffi.cast("struct ArrowArrayStream *", get(taken, b"arrow_array_stream"))
