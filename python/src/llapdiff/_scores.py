"""Scores of an evaluation, and the poles of a model."""
from __future__ import annotations

import json
from typing import Any

import numpy as np

from ._lib import check, ffi, lib, names, take_text, text
from ._memory import view
from ._table import Table, Words

_NUMBERS = ("crps", "mse", "mae", "mae_median", "bias", "spread", "weighted_quantile_loss")
_BRIEF = ("crps", "mse", "mae", "coverage80", "width80")


class Scores(Table):
    """What `Model.evaluate` gives: a row for each forecaster (the model first) and variable.

    In standard deviations of training unless asked in `units`. Printed, it is the program's table; `to_json()` has
    everything else: by step and entity, intervals of differences, calibration.
    """

    def __init__(self, pointer: Any, units: bool):
        self._c = ffi.gc(pointer, lib.llap_scores_destroy)
        about = lib.llap_scores_about(self._c)
        who = names(about.forecasters, about.n_forecasters)
        what = names(about.variables, about.n_variables)
        rows, labels = [], []
        at = lib.llap_scores_in_units if units else lib.llap_scores_at
        for f, forecaster in enumerate(who):
            for v, variable in [*enumerate(what), *([] if units else [(lib.LLAP_ALL, "all")])]:
                row = at(self._c, f, v)
                if not row:
                    continue
                labels.append((forecaster, variable))
                rows.append([getattr(row, name) for name in _NUMBERS] + [row.coverage[1], row.coverage[2], row.n])
        numbers = np.array(rows, np.float64).reshape(len(rows), len(_NUMBERS) + 3)
        columns: dict[str, Any] = {"forecaster": np.array([a for a, _ in labels], object),
                                   "variable": np.array([b for _, b in labels], object)}
        for i, name in enumerate([*_NUMBERS, "coverage80", "coverage95"]):
            columns[name] = numbers[:, i]
        columns["n"] = numbers[:, -1].astype(np.int64)
        super().__init__(columns)
        out = ffi.new("char **")
        check(lib.llap_scores_text(self._c, out))
        self._text = take_text(out)

    @property
    def crps(self) -> float:
        """Of the model, over all variables."""
        row = lib.llap_scores_at(self._c, 0, lib.LLAP_ALL)
        return float(row.crps)

    def by_entity(self) -> Table:
        """A row for each forecaster, variable and entity that was scored, of an evaluation with `by="entity"`; in
        standard deviations of training."""
        about = lib.llap_scores_about(self._c)
        n = int(about.n_entities)
        if n == 0:
            raise ValueError("entities were not kept apart: evaluate(..., by='entity')")
        entities = names(about.entities, n)
        forecasters, variables = names(about.forecasters, about.n_forecasters), names(about.variables, about.n_variables)
        parts, codes = [], []
        for f in range(len(forecasters)):
            for v in range(len(variables)):
                row = lib.llap_scores_by_entity(self._c, f, v)
                columns = [view(self, row.n, n, "<i8")] + [view(self, getattr(row, name), n, "<f8") for name in _BRIEF]
                there = np.flatnonzero(columns[0])
                codes.append(np.stack([there, np.full_like(there, f), np.full_like(there, v)]).astype(np.int32))
                parts.append([column[there] for column in columns])
        who = np.concatenate(codes, axis=1)
        numbers = [np.concatenate(column) for column in zip(*parts)]
        return Table({"entity": Words(who[0], entities), "forecaster": Words(who[1], forecasters),
                      "variable": Words(who[2], variables), "n": numbers[0], **dict(zip(_BRIEF, numbers[1:]))})

    @property
    def n_own(self) -> int:
        """How many of the forecasters are the model and its parts; the others are opponents."""
        return int(lib.llap_scores_about(self._c).n_own)

    def to_json(self) -> Any:
        """Everything, as the program writes it with --json."""
        out = ffi.new("char **")
        check(lib.llap_scores_json(self._c, out))
        return json.loads(take_text(out))

    def __repr__(self) -> str:
        return self._text.rstrip("\n")


class Poles(Table):
    """What `Model.poles` gives: a row for each pole, `name` says of which anchor or network.

    Times are in the model's unit, `unit` of them.
    """

    def __init__(self, pointer: Any, model: Any):
        self._model = model  # the sets borrow it
        self._c = ffi.gc(pointer, lib.llap_pole_sets_destroy)
        about = lib.llap_pole_sets_about(self._c)
        self.unit = np.timedelta64(int(about.unit_ns), "ns")
        parts: dict[str, list[Any]] = {name: [] for name in ("rho", "omega", "half_life", "period", "energy")}
        labels: list[str] = []
        for i in range(about.n_sets):
            row = lib.llap_pole_sets_at(self._c, i)
            labels += [text(row.name)] * int(row.n)
            for name, columns in parts.items():
                columns.append(np.array(view(self, getattr(row, name), int(row.n), "<f8")))
        super().__init__({"name": np.array(labels, object),
                          **{name: np.concatenate(c) if c else np.empty(0) for name, c in parts.items()}})

    def to_json(self) -> Any:
        """Everything, as the program writes it with --json."""
        out = ffi.new("char **")
        check(lib.llap_pole_sets_json(self._c, out))
        return json.loads(take_text(out))
