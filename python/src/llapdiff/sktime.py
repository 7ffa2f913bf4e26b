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
    """The index of a frame as entity and time, and back."""

    def __init__(self, index: pd.Index):
        many = index.nlevels > 1
        self.names = index.names
        self.when = index.get_level_values(-1)
        self.who = list(index.droplevel(-1)) if many else [None] * len(index)
        self.labels = {key: str(i).zfill(8) for i, key in enumerate(dict.fromkeys(self.who))}

    @staticmethod
    def times(when: pd.Index) -> np.ndarray:
        """datetime64, or numbers."""
        if isinstance(when, pd.PeriodIndex):
            when = when.to_timestamp()
        return np.asarray(when.tz_convert("UTC").tz_localize(None) if getattr(when, "tz", None) is not None else when)

    def columns(self) -> list[_arrow.Column]:
        texts = list(self.labels.values())
        places = {text: i for i, text in enumerate(texts)}
        codes = np.array([places[self.labels[key]] for key in self.who], np.int32)
        return [_arrow.words("entity", codes, texts), _numpy_column("time", self.times(self.when))]


def _panel(y: pd.DataFrame, index: _Index) -> Any:
    values = [_arrow.numbers(f"v{i}", y.iloc[:, i].to_numpy(np.float64)) for i in range(y.shape[1])]
    return _series.panel_of(index.columns() + values)


class LlapForecaster(BaseForecaster):  # type: ignore[misc]
    """Stable-pole anchors and networks (size "tiny", "small", "stack") as an sktime forecaster.

    Parameters
    ----------
    context : how far to look back, steps or a duration; None: three horizons, at least 24 steps
    size : "anchor" (seconds), "tiny", "small", "stack"
    samples : paths that predict_proba and networks draw
    random_state : seed of everything random
    options : further options of llapdiff.train, a dict

    Panel and hierarchical data are learned together, by one model.

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
        "capability:exogenous": False,
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
        self._index_ = _Index(y.index)
        self._columns_ = list(y.columns)
        self._panel_ = _panel(y, self._index_)
        ahead = int(np.max(np.asarray(fh.to_relative(self.cutoff).to_pandas(), dtype="int64"))) if len(fh) else 1
        options = {"size": self.size, **(self.options or {})}
        if self.random_state is not None:
            options["seed"] = int(self.random_state) % 2**31
        self.model_ = _series.fit(self._panel_, max(1, ahead), self.context, options)
        return self

    def _update(self, y: pd.DataFrame, X: Any = None, update_params: bool = True) -> LlapForecaster:
        """Without new parameters the model looks at the new data; with them it is trained anew."""
        if update_params:
            return self._fit(self._y, None, self.fh)
        self._index_ = _Index(self._y.index)
        self._panel_ = _panel(self._y, self._index_)
        return self

    def _ask(self, fh: Any, **how: Any) -> tuple[Any, pd.Index]:
        """The forecast of the times of fh, and the index that it has."""
        absolute = fh.to_absolute_index(self.cutoff)
        when = _Index.times(pd.Index(absolute))
        texts = [str(t) for t in (when.astype("datetime64[ns]") if when.dtype.kind == "M" else when)]
        rows = {"entity": [], "time": []}  # type: dict[str, list[str]]
        for label in self._index_.labels.values():
            rows["entity"] += [label] * len(texts)
            rows["time"] += texts
        answer = self.model_.forecast(self._panel_, times=pd.DataFrame(rows), progress=False, **how)
        keys = list(self._index_.labels)
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
        answer, index = self._ask(fh)
        return pd.DataFrame(self._table(answer, "mean"), index=index, columns=self._columns_)

    def _predict_quantiles(self, fh: Any, X: Any, alpha: list[float]) -> pd.DataFrame:
        distinct = sorted({float(a) for a in alpha})
        answer, index = self._ask(fh, quantiles=distinct)
        names = self._get_varnames()
        columns = pd.MultiIndex.from_product([names, alpha])
        out = pd.DataFrame(index=index, columns=columns, dtype=float)
        for a in alpha:
            table = self._table(answer, quantile_name(float(a)))
            for i, name in enumerate(names):
                out[(name, a)] = table[:, i]
        return out

    def sample_paths(self, fh: Any = None, samples: int | None = None) -> np.ndarray:
        """Joint paths [entity, sample, time, variable]."""
        fh = self._check_fh(fh) if fh is not None else self.fh
        answer, _ = self._ask(fh, samples=samples or self.samples)
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
        self.model_ = _series.fit(_panel(X, _Index(X.index)), 1, self.context, self.options or {})
        return self

    def _transform(self, X: pd.DataFrame, y: Any = None) -> pd.DataFrame:
        panel = _panel(X, _Index(X.index))
        filled = self.model_.impute(panel, causal=self.causal, progress=False).filled()
        order = np.lexsort((_Index.times(_Index(X.index).when), [_Index(X.index).labels[w] for w in _Index(X.index).who]))
        values = np.stack([filled[f"v{i}"] for i in range(X.shape[1])], 1)
        out = np.empty_like(values)
        out[order] = values
        known = X.to_numpy(np.float64)
        return pd.DataFrame(np.where(np.isnan(known), out, known), index=X.index, columns=X.columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        return [{"options": {"training": {"anchor": {"steps": 5}}}}, {"causal": True, "context": 4,
                                                                     "options": {"training": {"anchor": {"steps": 5}}}}]
