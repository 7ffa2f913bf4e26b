"""Forecasts and filled gaps."""
from __future__ import annotations

import functools
import json
import os
from typing import Any, Callable

import numpy as np

from ._lib import check, ffi, lib, names, take_text
from ._memory import view
from ._panel import Panel
from ._table import Axis, Table, Times, Words, quantile_name


class Answer(Table):
    """A table that a model gave: what it has in common with the program's CSV.

    Rows are in the order of entity, origin, sample, time, variable.
    """

    def __init__(self, pointer: Any, panel: Panel, again: Callable[[], Answer] | None = None):
        self._c = ffi.gc(pointer, lib.llap_answer_destroy)
        self._view = lib.llap_answer_view(self._c)
        self._panel = panel
        self._again = again  # the same with its paths kept
        self._drawn: np.ndarray | None = None

    @functools.cached_property
    def _columns(self) -> dict[str, Any]:  # type: ignore[override]
        return self._make()

    def _make(self) -> dict[str, Any]:
        v, n = self._view, int(self._view.n_rows)
        axis = Axis.of(v.axis)
        columns: dict[str, Any] = {}
        if v.n_scenarios > 0:
            columns["scenario"] = Words(view(self._c, v.scenario, n, "<i4"), names(v.scenarios, v.n_scenarios))
        columns["entity"] = Words(view(self._c, v.entity, n, "<i4"), self.entities)
        if v.is_backtest:
            columns["origin"] = Times(view(self._c, v.origin, n, "<i8"), axis)
        columns["time"] = Times(view(self._c, v.time, n, "<i8"), axis)
        columns["variable"] = Words(view(self._c, v.variable, n, "<i4"), self.variables)
        if v.is_imputation:
            columns["observed"] = view(self._c, v.observed, n, "|u1").view(bool)
        if v.is_samples:
            columns["sample"] = view(self._c, v.sample, n, "<i4")
        numbers = view(self._c, v.number, (n, int(v.n_numbers)), "<f8")
        labels = ["value"] if v.is_samples else ["mean", *map(quantile_name, self.quantiles)]
        for i, label in enumerate(labels):
            columns[label] = numbers[:, i]
        return columns

    @property
    def entities(self) -> list[str]:
        """Their names: the first axis of `samples`."""
        return names(self._view.entities, self._view.n_entities)

    @property
    def variables(self) -> list[str]:
        """Their names: the last axis of `samples`."""
        return names(self._view.variables, self._view.n_variables)

    @property
    def quantiles(self) -> list[float]:
        """Their probabilities, ascending; a column each."""
        return [self._view.quantiles[i] for i in range(self._view.n_quantiles)]

    @property
    def samples(self) -> np.ndarray:
        """[entity, sample, time, variable]: joint paths, of a backtest [forecast, ...]; NaN where a forecast is shorter.

        The library's own memory where all forecasts are about equally many times, and then read-only.
        """
        if self._drawn is None:
            source = self if self._view.is_samples or self._again is None else self._again()
            self._drawn = source._array()[..., 0]
        return self._drawn

    def _array(self) -> np.ndarray:
        v = self._view
        shape = tuple(int(x) for x in (v.n_forecasts, v.n_samples, v.n_times, v.n_variables, v.n_numbers))
        if v.dense:
            return view(self._c, v.number, shape, "<f8")
        out = np.empty(shape)
        lib.llap_answer_array(self._c, ffi.cast("double *", out.ctypes.data), ffi.NULL, out.size)
        return out

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the CSV that the program writes."""
        check(lib.llap_answer_write(self._c, os.fsencode(path)))

    def to_json(self) -> Any:
        """What the program writes with --json."""
        out = ffi.new("char **")
        check(lib.llap_answer_json(self._c, out))
        return json.loads(take_text(out))

    def plot(self, **options: Any) -> Any:
        """Draws it beside what was measured; a matplotlib figure. Options: `entities`, `variables`, `history` (how much of
        the past, in spans of the forecast), `most` (panels), `figsize`."""
        from ._plot import plot

        return plot(self, **options)

    def _title(self) -> str:
        return (f"{type(self).__name__}: {len(self.entities)} entities, {', '.join(self.variables)}; "
                f"{self.n_rows} rows")


class Forecast(Answer):
    """What `Model.forecast` gives: mean and quantiles of every value, and joint sample paths."""


class Imputation(Answer):
    """What `Model.impute` gives: mean and quantiles of missing cells (`observed` is false there)."""

    def filled(self) -> Table:
        """The panel's rows with its gaps filled by the mean: entity, time, the variables."""
        panel = self._panel
        values = np.array(panel.values, np.float64)
        ticks, first = panel._ticks(), panel.first
        place = {name: i for i, name in enumerate(panel.variables)}
        columns = [place[name] for name in self.variables]
        entity = self._columns["entity"].codes
        time = self._columns["time"].ticks
        variable = self._columns["variable"].codes
        mean = self["mean"] if "mean" in self else self["value"]
        for e in range(len(panel.entities)):
            mine = np.flatnonzero(entity == e)
            rows = first[e] + np.searchsorted(ticks[first[e]:first[e + 1]], time[mine])
            there = (rows < first[e + 1])
            there[there] = ticks[rows[there]] == time[mine][there]
            cells = (rows[there], np.asarray(columns)[variable[mine][there]])
            values[cells] = np.where(np.isnan(values[cells]), mean[mine][there], values[cells])
        table = panel.table()
        return Table({**{n: table._columns[n] for n in ("entity", "time")},
                      **{name: values[:, i] for i, name in enumerate(panel.variables)}})

    def to_numpy(self) -> np.ndarray:
        """[entities, times, variables] of the filled panel; needs equally many rows in every entity."""
        rows = np.diff(self._panel.first)
        if len(set(rows.tolist())) != 1:
            raise ValueError("entities have different numbers of rows: use filled()")
        filled = self.filled()
        return np.stack([filled[name] for name in self._panel.variables], 1).reshape(len(rows), int(rows[0]), -1)
