"""Through GluonTS's own evaluation."""
import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("gluonts")
from gluonts.dataset.common import ListDataset  # noqa: E402
from gluonts.evaluation import Evaluator, make_evaluation_predictions  # noqa: E402

from llapdiff.gluonts import LlapEstimator  # noqa: E402

QUICK = {"training": {"anchor": {"steps": 20}}}


def dataset(cut=0):
    rng = np.random.default_rng(0)
    n = 240
    return ListDataset([{"start": pd.Period("2024-01-01", "h"), "item_id": f"s{i}",
                         "target": (10 + i + np.sin(np.arange(n) * 2 * np.pi / 24) + rng.normal(0, 0.1, n))[: n - cut]}
                        for i in range(3)], freq="h")


def test_through_the_evaluator():
    predictor = LlapEstimator(12, options=QUICK).train(dataset(12))
    forecasts, series = make_evaluation_predictions(dataset(), predictor, num_samples=100)
    forecasts, series = list(forecasts), list(series)
    assert len(forecasts) == 3 and forecasts[0].samples.shape == (100, 12) and forecasts[1].item_id == "s1"
    assert forecasts[0].start_date == pd.Period("2024-01-10 12:00", "h")
    scores, items = Evaluator(num_workers=0)(series, forecasts)
    assert scores["mean_wQuantileLoss"] < 0.05 and len(items) == 3


def test_predictors_travel():
    predictor = LlapEstimator(6, options=QUICK).train(dataset(12))
    again = pickle.loads(pickle.dumps(predictor))
    a, b = (next(iter(p.predict(dataset(12)))) for p in (predictor, again))
    assert np.array_equal(a.samples, b.samples)


def test_features_are_inputs():
    rng = np.random.default_rng(1)
    n, h = 400, 12

    def entry(i):
        x = rng.normal(size=n).round(2)
        return {"start": pd.Period("2024-01-01", "h"), "item_id": f"s{i}", "feat_static_cat": [i % 2],
                "target": 10 * i + 3 * x + rng.normal(0, 0.1, n), "feat_dynamic_real": [x]}

    entries = [entry(i) for i in range(3)]
    past = ListDataset([{**e, "target": e["target"][:-h], "feat_dynamic_real": [e["feat_dynamic_real"][0][:-h]]}
                        for e in entries], freq="h")
    predictor = LlapEstimator(h, options=QUICK).train(past)
    ahead = ListDataset([{**e, "target": e["target"][:-h]} for e in entries], freq="h")
    for forecast, e in zip(predictor.predict(ahead), entries):
        assert forecast.start_date == pd.Period("2024-01-01", "h") + n - h
        assert abs(forecast.mean - e["target"][-h:]).mean() < 0.7  # without them 2.4


def test_several_dimensions():
    rng = np.random.default_rng(2)
    data = ListDataset([{"start": pd.Period("2024-01-01", "h"), "item_id": "s",
                         "target": np.cumsum(rng.normal(size=(2, 200)), 1)}], freq="h", one_dim_target=False)
    forecast = next(iter(LlapEstimator(6, options=QUICK).train(data).predict(data, num_samples=20)))
    assert forecast.samples.shape == (20, 6, 2)
