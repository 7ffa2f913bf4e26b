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


def test_distributions_are_the_sample_paths():
    pytest.importorskip("skpro")
    y = pd.concat({"a": series(), "b": series() + 5}, names=["who", "when"]).to_frame()
    for data in (y, series()):
        forecaster = LlapForecaster(samples=50, options=QUICK).fit(data, fh=[1, 2, 3])
        law, paths = forecaster.predict_proba(), forecaster.sample_paths()
        assert law.mean().index.equals(forecaster.predict().index)
        assert np.allclose(law.mean().to_numpy().reshape(-1, 3), paths[..., 0].mean(1))
        drawn = forecaster.predict_proba(marginal=False).sample().to_numpy().reshape(-1, 3)
        assert (paths[0, :, :, 0] == drawn[0]).all(1).any()  # one of them, whole


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


def test_series_are_known_by_their_names_in_any_order():
    """A model of two series far apart fills each by its own level, also alone and in another order."""
    low, high = series(), series() + 50
    imputer = LlapImputer(options=QUICK).fit(pd.concat({"a": low, "b": high}, names=["who", "when"]).to_frame())
    alone = high.copy()
    alone.iloc[-5:] = np.nan  # at an end, where the level of training tells most
    alone.iloc[:5] = np.nan
    for frame in (pd.concat({"b": alone, "a": low}, names=["who", "when"]), pd.concat({"b": alone}, names=["who", "when"])):
        filled = imputer.transform(frame.to_frame())
        assert (abs(filled.loc["b"].to_numpy().ravel() - high.to_numpy()) < 2).all()


def test_labels_stay_with_their_series():
    from llapdiff.sktime import _Index

    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 1)])
    first = _Index(index)
    again = _Index(pd.MultiIndex.from_tuples([("c", 1), ("b", 1), ("a", 2)]), first)
    assert {k: again.labels[k] for k in first.labels} == first.labels
    assert len(set(again.labels.values())) == 3


def test_known_inputs_are_used():
    rng = np.random.default_rng(2)
    n = 400
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    X = pd.DataFrame({"temperature": rng.normal(size=n).round(2)}, index=index)
    y = pd.Series(10 + 3 * X["temperature"].to_numpy() + rng.normal(0, 0.1, n), index=index, name="load")
    forecaster = LlapForecaster(options=QUICK).fit(y[:-24], X=X[:-24], fh=np.arange(1, 13))
    error = abs(forecaster.predict(X=X[-24:-12]).to_numpy().ravel() - y[-24:-12].to_numpy()).mean()
    assert error < 0.7  # without them 2.4
    forecaster.update(y[-24:-12], X=X[-24:-12], update_params=False)
    interval = forecaster.predict_interval(X=X[-12:], coverage=0.8)
    assert (interval.index == index[-12:]).all()


def test_hierarchies_are_learned_by_one_model():
    parts = {("east", "a"): series(), ("east", "b"): series() + 5, ("west", "c"): series() + 9}
    y = pd.concat(parts, names=["region", "shop", "when"]).to_frame()
    predicted = LlapForecaster(options=QUICK).fit(y, fh=[1, 2]).predict()
    assert predicted.index.nlevels == 3 and len(predicted) == 6
    assert predicted.loc[("west", "c")].to_numpy().mean() > predicted.loc[("east", "a")].to_numpy().mean() + 7
