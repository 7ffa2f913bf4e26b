"""PyPOTS's way: dictionaries of arrays [samples, steps, features], NaN where missing. PyPOTS itself is not needed.

    from llapdiff.pypots import LlapImputer
    imputer = LlapImputer()
    imputer.fit({"X": train})
    imputer.predict({"X": test})["imputation"]      # [samples, steps, features]
"""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _series
from ._lib import InvalidError
from ._model import Model, load
from ._panel import Panel


def _samples(data: Any, prefix: str) -> tuple[np.ndarray, Panel]:
    if not isinstance(data, Mapping) or "X" not in data:
        raise InvalidError(f"expected a dictionary with 'X', found {type(data).__name__}")
    X = np.asarray(data["X"], np.float64)
    if X.ndim != 3:
        raise InvalidError(f"X: expected [samples,steps,features], found shape {list(X.shape)}")
    names = [f"{prefix}{i:08d}" for i in range(X.shape[0])]
    return X, Panel.from_numpy(X, variables=[f"x{i}" for i in range(X.shape[2])], entities=names)


class LlapImputer:
    """Fills the holes of samples, each by itself, by what a model of all of them knows.

    context : how many steps to look back; None: a third of a sample
    causal : from the past of a sample alone
    options : further options of llapdiff.train, a dict

    Samples that training has not seen are what it is for: with twenty and more, some are kept for validation.

    >>> import numpy as np
    >>> from llapdiff.pypots import LlapImputer
    >>> X = np.sin(np.arange(48) / 4 + np.arange(30)[:, None])[:, :, None] + np.zeros((30, 48, 2))
    >>> X[::2, 20:23, 1] = np.nan
    >>> imputer = LlapImputer(options={"training": {"anchor": {"steps": 5}}})
    >>> imputer.fit({"X": X[:24]})
    >>> imputer.predict({"X": X[24:]})["imputation"].shape
    (6, 48, 2)
    """

    def __init__(self, context: int | None = None, causal: bool = False, options: dict[str, Any] | None = None):
        self.context, self.causal, self.options = context, causal, options
        self.model: Model | None = None

    def fit(self, train_set: Mapping[str, Any], val_set: Any = None) -> None:
        """Trains; a validation set of one's own is not needed."""
        X, panel = _samples(train_set, "train")
        apart = {"split": "entity"} if len(X) >= 20 else {}
        self.model = _series.fit(panel, 1, self.context, {**apart, **(self.options or {})})

    def predict(self, test_set: Mapping[str, Any], samples: int = 0) -> dict[str, np.ndarray]:
        """{"imputation": [samples, steps, features]}; with `samples` also {"imputation_samples"}: joint draws
        [samples, draws, steps, features]."""
        if self.model is None:
            raise InvalidError("predict: fit comes first")
        X, panel = _samples(test_set, "test")
        answer = self.model.impute(panel, causal=self.causal, progress=False)
        out = {"imputation": np.where(np.isnan(X), answer.to_numpy().reshape(X.shape), X)}
        if samples:
            drawn = self.model.impute(panel, causal=self.causal, samples=samples, keep_samples=True, progress=False)
            out["imputation_samples"] = _draws(X, panel, drawn, samples)
        return out

    def impute(self, test_set: Mapping[str, Any]) -> np.ndarray:
        """The filled array."""
        return self.predict(test_set)["imputation"]

    def save(self, path: str | os.PathLike[str]) -> None:
        if self.model is None:
            raise InvalidError("save: fit comes first")
        self.model.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        self.model = load(path)


def _draws(X: np.ndarray, panel: Panel, drawn: Any, samples: int) -> np.ndarray:
    out = np.repeat(X[:, None], samples, 1)
    time = np.asarray(drawn["time"]).astype(np.int64)
    place = {name: i for i, name in enumerate(panel.variables)}
    feature = np.array([place[name] for name in drawn.variables])[drawn._columns["variable"].codes]
    out[drawn._columns["entity"].codes, np.asarray(drawn["sample"]), time, feature] = drawn["value"]
    return np.where(np.isnan(X)[:, None], out, X[:, None])
