"""GluonTS: an estimator and a predictor.

    from llapdiff.gluonts import LlapEstimator
    predictor = LlapEstimator(prediction_length=24).train(dataset.train)
    forecasts, series = make_evaluation_predictions(dataset.test, predictor)
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from gluonts.dataset.util import forecast_start
from gluonts.model.estimator import Estimator
from gluonts.model.forecast import SampleForecast
from gluonts.model.predictor import Predictor

from . import _arrow, _series
from ._data import _numpy_column
from ._model import Model, from_bytes

CHUNK = 64  # series that are asked about together


def _name(entry: dict[str, Any], position: int) -> str:
    """By which a model knows a series again: its item_id, else its place in the dataset."""
    return str(position).zfill(8) if entry.get("item_id") is None else str(entry["item_id"])


def _features(entry: dict[str, Any], name: str) -> np.ndarray:
    """[features,times] or [features]; none: of length 0."""
    found = entry.get(name)
    return np.empty((0, 0)) if found is None else np.asarray(found, np.float64)


def _roles(entry: dict[str, Any], n_targets: int) -> dict[str, Any]:
    """Options of training by what the entries have: dynamic features are known inputs."""
    known = [f"k{i}" for i in range(len(np.atleast_2d(_features(entry, "feat_dynamic_real"))))
             ] if "feat_dynamic_real" in entry else []
    static = [f"c{i}" for i in range(len(_features(entry, "feat_static_cat")))]
    static += [f"s{i}" for i in range(len(_features(entry, "feat_static_real")))]
    if not known and not static:
        return {}
    return {"target": [f"v{d}" for d in range(n_targets)], "known": known or None, "static": static or None}


def _static_columns(entries: list[dict[str, Any]], lengths: list[int]) -> list[_arrow.Column]:
    """Categories as words, real ones as numbers; the same at all times."""
    columns = []
    for i in range(len(_features(entries[0], "feat_static_cat"))):
        codes = [int(_features(entry, "feat_static_cat")[i]) for entry in entries]
        words = sorted({f"k{code}" for code in codes})
        columns.append(_arrow.words(f"c{i}", np.repeat(np.array([words.index(f"k{c}") for c in codes], np.int32), lengths),
                                    words))
    for i in range(len(_features(entries[0], "feat_static_real"))):
        values = np.array([_features(entry, "feat_static_real")[i] for entry in entries])
        columns.append(_arrow.numbers(f"s{i}", np.repeat(values, lengths)))
    return columns


def _panel(entries: list[dict[str, Any]], names: list[str]) -> Any:
    """One entity for each entry, one variable for each dimension, and the entries' features."""
    targets = [np.atleast_2d(np.asarray(entry["target"], np.float64)) for entry in entries]
    inputs = [np.atleast_2d(_features(entry, "feat_dynamic_real")) for entry in entries]
    if "feat_dynamic_real" in entries[0]:  # longer than the target where they reach into the time to come
        longest = [max(t.shape[1], x.shape[1]) for t, x in zip(targets, inputs)]
        targets, inputs = ([np.pad(a, ((0, 0), (0, n - a.shape[1])), constant_values=np.nan)
                            for a, n in zip(arrays, longest)] for arrays in (targets, inputs))
    lengths = [t.shape[1] for t in targets]
    when = np.concatenate([_times(entry["start"], n) for entry, n in zip(entries, lengths)])
    codes = np.repeat(np.arange(len(entries), dtype=np.int32), lengths)
    columns = [_arrow.words("entity", codes, names), _numpy_column("time", when)]
    columns += [_arrow.numbers(f"v{d}", np.concatenate([t[d] for t in targets])) for d in range(targets[0].shape[0])]
    if "feat_dynamic_real" in entries[0]:
        columns += [_arrow.numbers(f"k{i}", np.concatenate([x[i] for x in inputs])) for i in range(inputs[0].shape[0])]
    return _series.panel_of(columns + _static_columns(entries, lengths))


def _times(start: pd.Period, n: int) -> np.ndarray:
    return pd.period_range(start, periods=n, freq=start.freq).to_timestamp().to_numpy()


class LlapPredictor(Predictor):  # type: ignore[misc]
    """Asks a model about the steps that follow each series."""

    def __init__(self, model: Model, prediction_length: int, lead_time: int = 0, num_samples: int = 200):
        super().__init__(prediction_length=prediction_length, lead_time=lead_time)
        self.model, self.num_samples = model, num_samples

    def predict(self, dataset: Iterable[dict[str, Any]], num_samples: int | None = None,
                **ignored: Any) -> Iterator[SampleForecast]:
        chunk: dict[str, dict[str, Any]] = {}
        for position, entry in enumerate(dataset):
            name = _name(entry, position)
            if name in chunk or len(chunk) == CHUNK:  # windows of one series are asked about one after the other
                yield from self._predict(chunk, num_samples or self.num_samples)
                chunk = {}
            chunk[name] = entry
        if chunk:
            yield from self._predict(chunk, num_samples or self.num_samples)

    def _predict(self, chunk: dict[str, dict[str, Any]], num_samples: int) -> Iterator[SampleForecast]:
        entries, names = list(chunk.values()), list(chunk)
        h = self.prediction_length
        starts = [forecast_start(entry) + self.lead_time for entry in entries]
        times = pd.DataFrame({
            "entity": [name for name in names for _ in range(h)],
            "time": [str(t) for start in starts for t in _times(start, h).astype("datetime64[ns]")],
        })
        panel = _panel(entries, names)
        paths = self.model.forecast(panel, times=times, samples=num_samples, keep_samples=True,
                                    progress=False).samples
        place = {name: i for i, name in enumerate(panel.entities)}
        for name, entry, start in zip(names, entries, starts):
            path = paths[place[name]]
            flat = path[..., 0] if np.ndim(entry["target"]) == 1 else path
            yield SampleForecast(np.array(flat), start_date=start, item_id=entry.get("item_id"), info=entry.get("info"))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "model": bytes(self.model)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "model": from_bytes(state["model"])}


class LlapEstimator(Estimator):  # type: ignore[misc]
    """Trains one model on all series of a dataset. feat_dynamic_real are known inputs, feat_static_cat and
    feat_static_real static ones."""

    def __init__(self, prediction_length: int, context: Any = None, size: str = "anchor", lead_time: int = 0,
                 num_samples: int = 200, options: dict[str, Any] | None = None):
        super().__init__(lead_time=lead_time)
        self.prediction_length, self.context, self.size = prediction_length, context, size
        self.num_samples, self.options = num_samples, options

    def train(self, training_data: Iterable[dict[str, Any]], validation_data: Any = None) -> LlapPredictor:
        entries = list(training_data)
        names = [_name(entry, i) for i, entry in enumerate(entries)]
        if len(set(names)) < len(names):  # several windows of a series: each is one
            names = [str(i).zfill(8) for i in range(len(entries))]
        panel = _panel(entries, names)
        model = _series.fit(panel, self.prediction_length + self.lead_time, self.context,
                            {"size": self.size, **_roles(entries[0], np.atleast_2d(entries[0]["target"]).shape[0]),
                             **(self.options or {})})
        return LlapPredictor(model, self.prediction_length, self.lead_time, self.num_samples)
