"""Frames as Nixtla's packages make and score them."""
import numpy as np
import pandas as pd
import pytest

from llapdiff.nixtla import Llap

QUICK = {"training": {"anchor": {"steps": 20}}}


def frame(n=240):
    rng = np.random.default_rng(0)
    return pd.concat([pd.DataFrame({
        "unique_id": name, "ds": pd.date_range("2024-01-01", periods=n, freq="h"),
        "y": 5 * i + np.sin(np.arange(n) * 2 * np.pi / 24) + rng.normal(0, 0.1, n)}) for i, name in enumerate("ab")])


def test_columns_and_times_are_theirs():
    model = Llap("h", options=QUICK).fit(frame(), h=6)
    out = model.predict(6, level=[80, 95])
    assert list(out) == ["unique_id", "ds", "Llap", "Llap-lo-95", "Llap-lo-80", "Llap-hi-80", "Llap-hi-95"]
    assert out["ds"].tolist()[:6] == list(pd.date_range("2024-01-11", periods=6, freq="h"))
    assert (out["Llap-lo-95"] < out["Llap-lo-80"]).all() and (out["Llap-hi-80"] < out["Llap-hi-95"]).all()
    assert not out.isna().any().any()


def test_months_and_numbers():
    months = pd.DataFrame({"unique_id": "m", "ds": pd.date_range("2015-01-01", periods=96, freq="MS"),
                           "y": np.sin(np.arange(96) * 2 * np.pi / 12)})
    out = Llap("MS", options=QUICK).fit(months, h=3).predict(3)
    assert out["ds"].tolist() == list(pd.date_range("2023-01-01", periods=3, freq="MS"))
    numbers = months.assign(ds=np.arange(96), unique_id=7)
    out = Llap(1, options=QUICK).fit(numbers, h=3).predict(3, quantiles=[0.1, 0.9])
    assert out["ds"].tolist() == [96, 97, 98] and out["unique_id"].tolist() == [7] * 3
    assert list(out)[-2:] == ["Llap-q-10", "Llap-q-90"]


def test_cross_validation_is_scored_by_utilsforecast():
    pytest.importorskip("utilsforecast")
    from utilsforecast.evaluation import evaluate
    from utilsforecast.losses import mae, rmse

    out = Llap("h", options=QUICK).cross_validation(frame(), h=6, n_windows=2, step_size=12, level=[90])
    assert list(out) == ["unique_id", "ds", "cutoff", "y", "Llap", "Llap-lo-90", "Llap-hi-90"]
    assert len(out) == 2 * 2 * 6 and out["cutoff"].nunique() == 2 and (out["ds"] > out["cutoff"]).all()
    scores = evaluate(out.drop(columns=["cutoff", "Llap-lo-90", "Llap-hi-90"]), [mae, rmse])
    assert (scores.loc[scores["metric"] == "mae", "Llap"] < 0.5).all()


def test_scikit_learn_clones_it():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.base import clone

    del sklearn
    model = Llap("h", size="tiny", options=QUICK)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(size="anchor").size == "anchor"
    with pytest.raises(ValueError, match="no parameter 'sise'"):
        model.set_params(sise=1)


def test_a_frame_without_the_columns():
    with pytest.raises(ValueError, match="unique_id, ds, y"):
        Llap("h").fit(pd.DataFrame({"a": [1]}), h=1)


def with_temperature(n=400):
    rng = np.random.default_rng(3)
    parts = []
    for i, name in enumerate("ab"):
        x = rng.normal(size=n).round(2)
        parts.append(pd.DataFrame({"unique_id": name, "ds": pd.date_range("2024-01-01", periods=n, freq="h"),
                                   "y": 5 * i + 3 * x + rng.normal(0, 0.1, n), "temperature": x, "kind": "xy"[i]}))
    return pd.concat(parts, ignore_index=True)


def test_inputs_of_the_time_to_come():
    df = with_temperature()
    past, ahead = df.groupby("unique_id").head(394), df.groupby("unique_id").tail(6)
    model = Llap("h", options=QUICK).fit(past, h=6, static_features=["kind"])
    out = model.predict(6, X_df=ahead[["unique_id", "ds", "temperature"]])
    error = (out.merge(ahead, on=["unique_id", "ds"]).eval("abs(y - Llap)")).mean()
    assert len(out) == 12 and list(out["ds"][:6]) == list(ahead["ds"][:6]) and error < 0.7  # without them 2.4
    folds = model.cross_validation(df, h=6, n_windows=2, static_features=["kind"])
    assert folds.eval("abs(y - Llap)").mean() < 0.7
    with pytest.raises(ValueError, match="X_df: expected the columns unique_id, ds, temperature, missing temperature"):
        model.predict(6, X_df=ahead[["unique_id", "ds"]])
    with pytest.raises(ValueError, match="static_features: no column size"):
        model.fit(past, h=6, static_features=["size"])
