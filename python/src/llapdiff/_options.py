"""Keyword arguments to the option structs of the library, by its own tables."""
from __future__ import annotations

import datetime
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._lib import check, ffi, lib, text

_TABLES = {
    "read": (lib.llap_read_options, "llap_read_opts *"),
    "pack": (lib.llap_pack_options, "llap_pack_opts *"),
    "demo": (lib.llap_synth_options, "llap_synth_sizes *"),
    "train": (lib.llap_train_options, "llap_train_opts *"),
    "forecast": (lib.llap_forecast_options, "llap_forecast_opts *"),
    "impute": (lib.llap_impute_options, "llap_impute_opts *"),
    "evaluate": (lib.llap_evaluate_options, "llap_evaluate_opts *"),
    "detect": (lib.llap_detect_options, "llap_detect_opts *"),
    "poles": (lib.llap_pole_options, "llap_pole_opts *"),
}


def table(call: str) -> dict[str, Any]:
    """The options of a call by name, as the library lists them."""
    rows, out, i = _TABLES[call][0](), {}, 0
    while rows[i].name:
        out[text(rows[i].name)] = rows[i]
        i += 1
    return out


_known: dict[str, dict[str, Any]] = {}


class Options:
    """A struct of options, and what it points to."""

    __slots__ = ("struct", "keep", "files", "__weakref__")

    def __init__(self, call: str, given: Mapping[str, Any]):
        functions, kind = _TABLES[call]
        self.struct = ffi.new(kind)
        self.keep: list[Any] = []
        self.files: list[str] = []
        rows = _known.get(call)
        if rows is None:
            rows = _known[call] = table(call)
        try:
            for name, value in given.items():
                if value is None:
                    continue
                row = rows.get(name.rstrip("_"))
                if row is None:
                    raise TypeError(f"{call}() got an unexpected keyword argument '{name}'{_nearest(name, rows)}")
                made = ffi.new("char[]", self._text(name, row, value).encode())
                self.keep.append(made)
                check(lib.llap_option_set(functions(), self.struct, row.name, made))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Removes the files that stood for frames."""
        for path in self.files:
            os.unlink(path)
        self.files = []

    def __enter__(self) -> Options:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _text(self, name: str, row: Any, value: Any) -> str:
        if isinstance(value, Mapping) and row.type == lib.LLAP_OPTION_JSON:
            return json.dumps(value)
        if is_frame(value):
            from ._data import write_csv

            handle, path = tempfile.mkstemp(suffix=".csv")
            self.files.append(path)
            with os.fdopen(handle, "w", newline="") as file:
                write_csv(value, file)
            return path
        return as_text(name, value)


def is_frame(value: Any) -> bool:
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "to_csv")


def _nearest(name: str, rows: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(rows), 1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def as_text(name: str, value: Any) -> str:
    """A value as the program's options are written."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.timedelta64):  # an integer, too, as NumPy sees it
        return f"{int(value / np.timedelta64(1, 'ns'))}ns"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, datetime.timedelta):
        nanoseconds = getattr(value, "value", None)  # of pandas
        microseconds = (value.days * 86400 + value.seconds) * 10**6 + value.microseconds
        return f"{nanoseconds}ns" if nanoseconds is not None else f"{microseconds}us"
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return ",".join(f"{key}={as_text(name, each)}" for key, each in value.items())
    if isinstance(value, Iterable):
        return ",".join(as_text(name, each) for each in value)
    raise TypeError(f"{name}: expected text, a number, a time or a list of them, found {type(value).__name__}")
