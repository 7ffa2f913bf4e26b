"""sktime: a forecaster and a transformer that fills gaps.

    from llapdiff.sktime import LlapForecaster
    forecaster = LlapForecaster().fit(y, fh=[1, 2, 3])
    forecaster.predict_interval(coverage=0.9)
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sktime.forecasting.base import BaseForecaster
from sktime.transformations.base import BaseTransformer

from . import _arrow, _series
from ._data import _numpy_column
from ._table import quantile_name


class _Index:
    """The index of a frame as entity and time, and back. Series that `known` has keep their labels, by which a model
    knows them again, in whatever order they come."""

    def __init__(self, index: pd.Index, known: _Index | None = None):
        many = index.nlevels > 1
        self.names = index.names
        self.when = index.get_level_values(-1)
        self.who = list(index.droplevel(-1)) if many else [None] * len(index)
        self.all = {} if known is None else dict(known.all)
        for key in self.who:
            self.all.setdefault(key, str(len(self.all)).zfill(8))
        self.labels = {key: self.all[key] for key in dict.fromkeys(self.who)}

    @staticmethod
    def times(when: pd.Index) -> np.ndarray:
        """datetime64, or numbers."""
        if isinstance(when, pd.PeriodIndex):
            when = when.to_timestamp()
        return np.asarray(when.tz_convert("UTC").tz_localize(None) if getattr(when, "tz", None) is not None else when)

    def columns(self) -> list[_arrow.Column]:
        texts = sorted(self.labels.values())
        places = {text: i for i, text in enumerate(texts)}
        codes = np.array([places[self.labels[key]] for key in self.who], np.int32)
        return [_arrow.words("entity", codes, texts), _numpy_column("time", self.times(self.when))]


def _panel(y: pd.DataFrame, index: _Index) -> Any:
    values = [_arrow.numbers(f"v{i}", y.iloc[:, i].to_numpy(np.float64)) for i in range(y.shape[1])]
    return _series.panel_of(index.columns() + values)


def _with_inputs(y: pd.DataFrame, X: pd.DataFrame | None) -> tuple[pd.DataFrame, list[str]]:
    """Targets v0, v1, .. and known inputs k0, k1, .. at the times of both; which are inputs."""
    targets = y.set_axis([f"v{i}" for i in range(y.shape[1])], axis=1)
    if X is None or X.shape[1] == 0:
        return targets, []
    inputs = X.set_axis([f"k{i}" for i in range(X.shape[1])], axis=1)
    return targets.join(inputs, how="outer").sort_index(), list(inputs.columns)


def _joined(old: pd.DataFrame | None, new: pd.DataFrame | None) -> pd.DataFrame | None:
    """Rows of both; new ones where both have them."""
    if old is None or new is None:
        return old if new is None else new
    return pd.concat([old[~old.index.isin(new.index)], new]).sort_index()


def _panel_of(table: pd.DataFrame, index: _Index) -> Any:
    return _series.panel_of(index.columns() + [_arrow.numbers(name, table[name].to_numpy(np.float64)) for name in table])


class LlapForecaster(BaseForecaster):  # type: ignore[misc]
    """Stable-pole anchors and networks (size "tiny", "small", "stack") as an sktime forecaster.

    Parameters
    ----------
    context : how far to look back, steps or a duration; None: three horizons, at least 24 steps
    size : "anchor" (seconds), "tiny", "small", "stack"
    samples : paths that predict_proba and networks draw
    random_state : seed of everything random
    options : further options of llapdiff.train, a dict

    Panel and hierarchical data are learned together, by one model. X are known inputs: their values at the times of fh are
    taken from the X of predict; a calendar or a forecast of the weather, numbers or 0 and 1.

    Examples
    --------
    >>> from sktime.datasets import load_airline
    >>> from llapdiff.sktime import LlapForecaster
    >>> forecaster = LlapForecaster().fit(load_airline(), fh=[1, 2, 3])
    >>> forecaster.predict_interval(coverage=0.9).shape
    (3, 2)
    """

    _tags = {
        "authors": "llapdiff",
        "maintainers": "llapdiff",
        "scitype:y": "both",
        "y_inner_mtype": ["pd.DataFrame", "pd-multiindex", "pd_multiindex_hier"],
        "X_inner_mtype": ["pd.DataFrame", "pd-multiindex", "pd_multiindex_hier"],
        "capability:exogenous": True,
        "requires-fh-in-fit": True,
        "capability:missing_values": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:insample": False,
        "capability:random_state": True,
        "enforce_index_type": None,
        "python_dependencies": None,
    }

    def __init__(self, context: Any = None, size: str = "anchor", samples: int = 200, random_state: int | None = None,
                 options: dict[str, Any] | None = None):
        self.context, self.size, self.samples, self.random_state = context, size, samples, random_state
        self.options = options
        super().__init__()

    def _fit(self, y: pd.DataFrame, X: Any = None, fh: Any = None) -> LlapForecaster:
        self._columns_ = list(y.columns)
        self._seen_ = (y, X)
        table, self._inputs_ = _with_inputs(y, X)
        self._index_ = _Index(table.index, getattr(self, "_index_", None))
        self._table_ = table
        ahead = int(np.max(np.asarray(fh.to_relative(self.cutoff).to_pandas(), dtype="int64"))) if len(fh) else 1
        options = {"size": self.size, **(self.options or {})}
        if self._inputs_:
            options = {"target": list(table.columns[:y.shape[1]]), "known": self._inputs_, **options}
        if self.random_state is not None:
            options["seed"] = int(self.random_state) % 2**31
        self.model_ = _series.fit(_panel_of(table, self._index_), max(1, ahead), self.context, options)
        return self

    def _update(self, y: pd.DataFrame, X: Any = None, update_params: bool = True) -> LlapForecaster:
        """Without new parameters the model looks at the new data; with them it is trained anew."""
        y, X = (_joined(old, new) for old, new in zip(self._seen_, (y, X)))
        if update_params:
            return self._fit(y, X, self.fh)
        self._seen_ = (y, X)
        self._table_, _ = _with_inputs(y, X if self._inputs_ else None)
        self._index_ = _Index(self._table_.index, self._index_)
        return self

    def _ahead(self, X: Any) -> tuple[Any, _Index]:
        """What the model looks at: what was measured, and the inputs of the time to come."""
        table = self._table_
        if self._inputs_ and X is not None:
            inputs = X.set_axis(self._inputs_, axis=1)
            new = inputs[~inputs.index.isin(table.index)]
            table = pd.concat([table, new]).sort_index()
        index = _Index(table.index, self._index_)
        return _panel_of(table, index), index

    def _ask(self, fh: Any, X: Any = None, **how: Any) -> tuple[Any, pd.Index]:
        """The forecast of the times of fh, and the index that it has."""
        panel, seen = self._ahead(X)
        absolute = fh.to_absolute_index(self.cutoff)
        when = _Index.times(pd.Index(absolute))
        texts = [str(t) for t in (when.astype("datetime64[ns]") if when.dtype.kind == "M" else when)]
        rows = {"entity": [], "time": []}  # type: dict[str, list[str]]
        for label in sorted(seen.labels.values()):
            rows["entity"] += [label] * len(texts)
            rows["time"] += texts
        answer = self.model_.forecast(panel, times=pd.DataFrame(rows), progress=False, **how)
        keys = sorted(seen.labels, key=seen.labels.__getitem__)
        if keys == [None]:
            return answer, pd.Index(absolute, name=self._index_.names[-1])
        tuples = [(*(key if isinstance(key, tuple) else (key,)), t) for key in keys for t in absolute]
        return answer, pd.MultiIndex.from_tuples(tuples, names=self._index_.names)

    def _table(self, answer: Any, name: str) -> np.ndarray:
        """A column of the answer as [rows of the index, variables]."""
        order = np.lexsort((answer._columns["variable"].codes, answer._columns["time"].ticks,
                            answer._columns["entity"].codes))
        return np.asarray(answer[name][order]).reshape(-1, len(self._columns_))

    def _predict(self, fh: Any, X: Any = None) -> pd.DataFrame:
        answer, index = self._ask(fh, X)
        return pd.DataFrame(self._table(answer, "mean"), index=index, columns=self._columns_)

    def _predict_quantiles(self, fh: Any, X: Any, alpha: list[float]) -> pd.DataFrame:
        distinct = sorted({float(a) for a in alpha})
        answer, index = self._ask(fh, X, quantiles=distinct)
        names = self._get_varnames()
        columns = pd.MultiIndex.from_product([names, alpha])
        out = pd.DataFrame(index=index, columns=columns, dtype=float)
        for a in alpha:
            table = self._table(answer, quantile_name(float(a)))
            for i, name in enumerate(names):
                out[(name, a)] = table[:, i]
        return out

    def _predict_proba(self, fh: Any, X: Any, marginal: bool = True) -> Any:
        """The sample paths as a distribution of skpro; not marginal: its samples are whole paths."""
        from skpro.distributions import Empirical

        answer, index = self._ask(fh, X, samples=self.samples)
        paths = np.moveaxis(answer.samples, 1, 0)  # [sample, entity, time, variable]
        drawn = {i: pd.DataFrame(path.reshape(len(index), -1), index, self._columns_) for i, path in enumerate(paths)}
        return Empirical(pd.concat(drawn), time_indep=marginal, index=index, columns=self._columns_)

    def sample_paths(self, fh: Any = None, samples: int | None = None, X: Any = None) -> np.ndarray:
        """Joint paths [entity, sample, time, variable]."""
        fh = self._check_fh(fh) if fh is not None else self.fh
        answer, _ = self._ask(fh, X, samples=samples or self.samples)
        return np.asarray(answer.samples)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        quick = {"training": {"anchor": {"steps": 5}}}
        return [{"options": quick}, {"context": 4, "samples": 20, "random_state": 3, "options": quick}]


class LlapImputer(BaseTransformer):  # type: ignore[misc]
    """Fills the holes of series by the mean of what a model of them knows, from both sides or from the past alone.

    Parameters
    ----------
    context : how far to look back, steps or a duration; None: at least 24 steps
    causal : from the past alone
    options : further options of llapdiff.train, a dict

    Examples
    --------
    >>> from sktime.datasets import load_airline
    >>> from llapdiff.sktime import LlapImputer
    >>> y = load_airline()
    >>> y.iloc[50:53] = float("nan")
    >>> int(LlapImputer().fit_transform(y).isna().sum())
    0
    """

    _tags = {
        "authors": "llapdiff",
        "maintainers": "llapdiff",
        "scitype:transform-input": "Series",
        "scitype:transform-output": "Series",
        "scitype:instancewise": True,
        "X_inner_mtype": ["pd.DataFrame", "pd-multiindex", "pd_multiindex_hier"],
        "y_inner_mtype": "None",
        "fit_is_empty": False,
        "capability:missing_values": True,
        "capability:missing_values:removes": True,
        "capability:multivariate": True,
        "python_dependencies": None,
    }

    def __init__(self, context: Any = None, causal: bool = False, options: dict[str, Any] | None = None):
        self.context, self.causal, self.options = context, causal, options
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: Any = None) -> LlapImputer:
        self._index_ = _Index(X.index)
        self.model_ = _series.fit(_panel(X, self._index_), 1, self.context, self.options or {})
        return self

    def _transform(self, X: pd.DataFrame, y: Any = None) -> pd.DataFrame:
        index = _Index(X.index, self._index_)
        filled = self.model_.impute(_panel(X, index), causal=self.causal, progress=False).filled()
        order = np.lexsort((_Index.times(index.when), [index.labels[who] for who in index.who]))
        values = np.stack([filled[f"v{i}"] for i in range(X.shape[1])], 1)
        out = np.empty_like(values)
        out[order] = values
        known = X.to_numpy(np.float64)
        return pd.DataFrame(np.where(np.isnan(known), out, known), index=X.index, columns=X.columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        return [{"options": {"training": {"anchor": {"steps": 5}}}}, {"causal": True, "context": 4,
                                                                     "options": {"training": {"anchor": {"steps": 5}}}}]
