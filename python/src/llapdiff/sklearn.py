"""scikit-learn: a forecaster and an imputer with its parameters, clones, pipelines and time-series splits.

    from llapdiff.sklearn import LlapForecaster, LlapImputer
    scores = cross_val_score(LlapForecaster(horizon=24), X, y, cv=TimeSeriesSplit(4, test_size=24))

Rows are consecutive times of one series; their order means something, unlike elsewhere in scikit-learn. The index of a
pandas frame is the time where it is one of dates or numbers; else rows are numbered.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _arrow, _series
from ._data import _numpy_column
from ._lib import InvalidError
from ._table import quantile_name


def _times(X: Any, after: np.ndarray | None = None) -> np.ndarray:
    """Of the rows; numbered rows go on after those of training."""
    index = getattr(X, "index", None)
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    if isinstance(index, pd.DatetimeIndex):
        return np.asarray(index.tz_convert("UTC").tz_localize(None) if index.tz is not None else index)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    begin = 0 if after is None else int(after[-1]) + 1
    return np.arange(begin, begin + n)


def _panel(times: np.ndarray, columns: dict[str, np.ndarray]) -> Any:
    entity = _arrow.words("entity", np.zeros(len(times), np.int32), ["series"])
    return _series.panel_of([entity, _numpy_column("time", times),
                             *(_arrow.numbers(name, values) for name, values in columns.items())])


class LlapForecaster(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Forecasts y in the rows that follow those of training; the columns of X are known inputs.

    Parameters
    ----------
    horizon : how many rows ahead `predict` may be asked about
    context : how many rows to look back; None: three horizons, at least 24
    size : "anchor" (seconds), "tiny", "small", "stack"
    random_state : seed of everything random
    options : further options of llapdiff.train, a dict
    """

    def __init__(self, horizon: int = 24, context: Any = None, size: str = "anchor", random_state: int | None = None,
                 options: dict[str, Any] | None = None):
        self.horizon, self.context, self.size = horizon, context, size
        self.random_state, self.options = random_state, options

    def fit(self, X: Any, y: Any) -> LlapForecaster:
        times = _times(X)
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", multi_output=True, y_numeric=True,
                             dtype=np.float64) if not _has_holes(y) else (
            validate_data(self, X, ensure_all_finite="allow-nan", dtype=np.float64), np.asarray(y, np.float64))
        self._flat = y.ndim == 1
        self._y = y.reshape(len(y), -1)
        self._X, self._times = X, times
        options = {"target": [f"v{i}" for i in range(self._y.shape[1])], "known": [f"k{i}" for i in range(X.shape[1])],
                   "size": self.size, **(self.options or {})}
        if self.random_state is not None:
            options["seed"] = int(self.random_state)
        self.model_ = _series.fit(_panel(times, self._columns(self._y, X)), int(self.horizon), self.context, options)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The means at the rows of X, which follow those of training."""
        return self._asked(X, None)["mean"]

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.1, 0.5, 0.9)) -> np.ndarray:
        """[quantiles, rows], or [quantiles, rows, targets]."""
        found = self._asked(X, sorted(quantiles))
        return np.stack([found[quantile_name(float(q))] for q in quantiles])

    @staticmethod
    def _columns(y: np.ndarray, X: np.ndarray) -> dict[str, np.ndarray]:
        return {**{f"v{i}": y[:, i] for i in range(y.shape[1])}, **{f"k{i}": X[:, i] for i in range(X.shape[1])}}

    def _asked(self, X: Any, quantiles: Sequence[float] | None) -> dict[str, np.ndarray]:
        check_is_fitted(self, "model_")
        times = _times(X, self._times)
        X = validate_data(self, X, ensure_all_finite="allow-nan", dtype=np.float64, reset=False)
        if times.dtype.kind != self._times.dtype.kind or times[0] <= self._times[-1]:
            raise InvalidError(f"expected rows after those of training, which end at {self._times[-1]}, "
                               f"found some from {times[0]} on")
        if len(times) > int(self.horizon):
            raise InvalidError(f"horizon: expected at most {int(self.horizon)} rows ahead, found {len(times)}")
        hole = np.full((len(times), self._y.shape[1]), np.nan)
        panel = _panel(np.concatenate([self._times, times]),
                       self._columns(np.concatenate([self._y, hole]), np.concatenate([self._X, X])))
        texts = [str(t) for t in (times.astype("datetime64[ns]") if times.dtype.kind == "M" else times)]
        asked = pd.DataFrame({"entity": ["series"] * len(texts), "time": texts})
        answer = self.model_.forecast(panel, times=asked, quantiles=quantiles, progress=False)
        order = np.lexsort((answer._columns["variable"].codes, answer._columns["time"].ticks))
        shape = (len(times),) if self._flat else (len(times), self._y.shape[1])
        return {name: np.asarray(answer[name])[order].reshape(shape)
                for name in answer if name not in ("entity", "time", "variable")}


def _has_holes(y: Any) -> bool:
    y = np.asarray(y)
    return y.dtype.kind == "f" and bool(np.isnan(y).any())


class LlapImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fills the holes of X, whose columns are series and whose rows are consecutive times.

    Parameters
    ----------
    context : how many rows to look back; None: at least 24
    causal : from the past alone
    options : further options of llapdiff.train, a dict
    """

    def __init__(self, context: Any = None, causal: bool = False, options: dict[str, Any] | None = None):
        self.context, self.causal, self.options = context, causal, options

    def fit(self, X: Any, y: Any = None) -> LlapImputer:
        times = _times(X)
        X = validate_data(self, X, ensure_all_finite="allow-nan", dtype=np.float64)
        self.model_ = _series.fit(self._panel(times, X), 1, self.context, self.options or {})
        return self

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "model_")
        times = _times(X)
        X = validate_data(self, X, ensure_all_finite="allow-nan", dtype=np.float64, reset=False)
        filled = self.model_.impute(self._panel(times, X), causal=self.causal, progress=False).filled()
        order = np.argsort(times, kind="stable")
        out = X.copy()
        out[order] = np.stack([filled[f"v{i}"] for i in range(X.shape[1])], 1)
        return np.where(np.isnan(X), out, X)

    @staticmethod
    def _panel(times: np.ndarray, X: np.ndarray) -> Any:
        return _panel(times, {f"v{i}": X[:, i] for i in range(X.shape[1])})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
