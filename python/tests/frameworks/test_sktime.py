"""The forecaster and the imputer as sktime's own checks see them."""
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sktime")
from sktime.utils.estimator_checks import check_estimator  # noqa: E402

from llapdiff.sktime import LlapForecaster, LlapImputer  # noqa: E402

QUICK = {"training": {"anchor": {"steps": 20}}}


def test_the_forecaster_passes_the_checks_of_sktime():
    results = check_estimator(LlapForecaster, raise_exceptions=False, verbose=False)
    failed = {name: str(result)[:200] for name, result in results.items() if str(result) != "PASSED" and "Skip" not in repr(result)}
    assert len(results) > 50 and failed == {}


def test_the_imputer_passes_the_checks_of_sktime():
    results = check_estimator(LlapImputer, raise_exceptions=False, verbose=False)
    failed = {name: str(result)[:200] for name, result in results.items() if str(result) != "PASSED" and "Skip" not in repr(result)}
    assert len(results) > 30 and failed == {}


def test_examples():
    import doctest

    import llapdiff.sktime

    assert doctest.testmod(llapdiff.sktime).failed == 0


def series(n=200):
    rng = np.random.default_rng(1)
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.Series(10 + np.sin(np.arange(n) * 2 * np.pi / 24) + rng.normal(0, 0.1, n), index=index, name="load")


def test_intervals_hold_what_they_promise():
    y = series()
    forecaster = LlapForecaster(options=QUICK).fit(y[:-12], fh=np.arange(1, 13))
    interval = forecaster.predict_interval(coverage=0.95)
    inside = (interval[("load", 0.95, "lower")] < y[-12:]) & (y[-12:] < interval[("load", 0.95, "upper")])
    assert inside.mean() > 0.7
    assert forecaster.sample_paths().shape == (1, 200, 12, 1)


def test_panels_are_learned_by_one_model():
    y = pd.concat({"a": series(), "b": series() + 5}, names=["who", "when"]).to_frame()
    predicted = LlapForecaster(options=QUICK).fit(y, fh=[1, 2, 3]).predict()
    assert list(predicted.index.get_level_values(0)) == ["a"] * 3 + ["b"] * 3
    assert (predicted.loc["b"].to_numpy() - predicted.loc["a"].to_numpy() > 3).all()


def test_holes_are_filled():
    y = series().copy()
    truth = y.iloc[50:54].copy()
    y.iloc[50:54] = np.nan
    filled = LlapImputer(options=QUICK).fit_transform(y)
    assert abs(np.asarray(filled)[50:54].ravel() - truth.to_numpy()).max() < 1
    assert np.array_equal(np.asarray(filled).ravel()[:50], y.to_numpy()[:50])
