"""What is unusual: alarms, and what is said of every reading."""
from __future__ import annotations

import json
from typing import Any

import numpy as np

from ._lib import check, ffi, lib, names, take_text, text
from ._memory import view
from ._panel import Panel
from ._table import Table, Times, Words

_NUMBERS = ("value", "expected", "low", "high", "score", "p", "surprise", "margin")


def _condition(code: int) -> str:
    return text(lib.llap_condition_name(int(code)))


def _words(alarms: Any, n: int, which: str) -> np.ndarray:
    return np.array(names([getattr(alarms[i], which) for i in range(n)], n), object)


def _structs(owner: Any, pointer: Any, n: int, kind: str, fields: dict[str, str]) -> np.ndarray:
    """Fields of an array of C structs as a structured array, without a copy."""
    layout = np.dtype({"names": list(fields), "formats": list(fields.values()),
                       "offsets": [ffi.offsetof(kind, *name.split(".")) for name in fields],
                       "itemsize": ffi.sizeof(kind)})
    return view(owner, pointer, n * layout.itemsize, "|u1").view(layout)


class Detection(Table):
    """What `Model.detect` gives: a row for each alarm, in order of the time when it was noticed.

    `condition` is "unusual", "drifting", "stuck" or "silent"; `value` and what follows it are of the oddest reading, at
    `peak`. Printed, it is the program's table.
    """

    def __init__(self, pointer: Any, panel: Panel, targets: list[str]):
        self._c = ffi.gc(pointer, lib.llap_detection_destroy)
        self._panel, self._targets = panel, targets
        about = lib.llap_detection_about(self._c)
        #: readings that what is usual was learnt from, and readings judged
        self.learnt, self.judged = int(about.learnt), int(about.judged)
        #: alarms as a share of readings: wanted where all is well, and found
        self.rate_wanted, self.rate_found = float(about.wanted), float(about.found)
        out = ffi.new("int64_t *")
        first = lib.llap_detection_alarms(self._c, out)
        n, axis = int(out[0]), panel.axis
        of = _structs(self._c, first, n, "llap_alarm",
                      {"condition": "<i4", "time": "<i8", "from": "<i8", "to": "<i8", "rows": "<i8", "open": "<i4",
                       "peak.time": "<i8", **{f"peak.{name}": "<f8" for name in _NUMBERS}})
        columns: dict[str, Any] = {"entity": _words(first, n, "entity"),
                                   "variable": _words(first, n, "variable"),
                                   "condition": np.array([_condition(c) for c in of["condition"]], object)}
        columns.update((name, Times(np.array(of[name]), axis)) for name in ("time", "from", "to"))
        columns["rows"], columns["open"] = np.array(of["rows"]), of["open"] != 0
        columns["peak"] = Times(np.array(of["peak.time"]), axis)
        columns.update((name, np.array(of[f"peak.{name}"])) for name in _NUMBERS)
        super().__init__(columns)
        made = ffi.new("char **")
        check(lib.llap_detection_text(self._c, made))
        self._text = take_text(made)

    @property
    def start(self) -> Any:
        """The time from which readings were judged."""
        return self._panel.axis.decode(np.array([getattr(lib.llap_detection_about(self._c), "from")], np.int64))[0]

    @property
    def readings(self) -> Table:
        """What is said of every reading, where the call had `rows=True`: its law, score, surprise, margin, condition."""
        parts, entity, variable = [], [], []
        out = ffi.new("int64_t *")
        kinds = {"time": "<i8", "condition": "<i4", **{name: "<f8" for name in _NUMBERS}}
        for e in range(len(self._panel.entities)):
            for v in range(len(self._targets)):
                first = lib.llap_detection_rows(self._c, e, v, out)
                if not first:
                    continue
                parts.append(_structs(self._c, first, int(out[0]), "llap_judgement", kinds))
                entity.append(np.full(int(out[0]), e, np.int32))
                variable.append(np.full(int(out[0]), v, np.int32))
        if not parts:
            raise ValueError("what is said of every reading was not kept: detect(..., rows=True)")
        of = np.concatenate(parts)
        conditions = [_condition(c) for c in range(int(lib.LLAP_CONDITION_SILENT) + 1)]
        return Table({"entity": Words(np.concatenate(entity), self._panel.entities),
                      "time": Times(np.array(of["time"]), self._panel.axis),
                      "variable": Words(np.concatenate(variable), self._targets),
                      **{name: np.array(of[name]) for name in _NUMBERS},
                      "condition": Words(np.array(of["condition"]), conditions)})

    def _json(self) -> str:
        out = ffi.new("char **")
        check(lib.llap_detection_json(self._c, out))
        return take_text(out)

    def to_json(self) -> Any:
        """Everything, as the program writes it with --json."""
        return json.loads(self._json())

    def __repr__(self) -> str:
        return self._text.rstrip("\n")
