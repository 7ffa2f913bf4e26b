"""With scikit-learn's own tools: parameters, clones, splits, pipelines, searches."""
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import llapdiff  # noqa: E402
from llapdiff.sklearn import LlapForecaster, LlapImputer  # noqa: E402

QUICK = {"training": {"anchor": {"steps": 20}}}


def data(n=400):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"temperature": rng.normal(size=n).round(2), "wind": rng.normal(size=n).round(2)},
                     index=pd.date_range("2024-01-01", periods=n, freq="h"))
    return X, (10 + 3 * X["temperature"] + rng.normal(0, 0.1, n)).rename("load")


def test_parameters_and_clones():
    model = LlapForecaster(horizon=12, options=QUICK)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(context=48).context == 48
    assert "horizon=12" in repr(model)
    with pytest.raises(ValueError, match="Invalid parameter 'horison'"):
        model.set_params(horison=1)


def test_splits_pipelines_and_searches():
    X, y = data()
    model = make_pipeline(StandardScaler(), LlapForecaster(horizon=12, options=QUICK))
    cv = TimeSeriesSplit(2, test_size=12)
    assert cross_val_score(model, X.to_numpy(), y.to_numpy(), cv=cv).min() > 0.9  # R2
    search = GridSearchCV(LlapForecaster(horizon=12, options=QUICK), {"context": [24, 48]}, cv=cv).fit(X, y)
    assert search.best_score_ > 0.9


def test_rows_after_training_by_their_times():
    X, y = data()
    model = LlapForecaster(horizon=12, options=QUICK).fit(X[:-12], y[:-12])
    found = model.predict(X[-12:])
    assert found.shape == (12,) and abs(found - y[-12:]).mean() < 0.5
    low, high = model.predict_quantiles(X[-12:], [0.05, 0.95])
    assert (low < high).all() and ((low < y[-12:]) & (y[-12:] < high)).mean() > 0.6
    with pytest.raises(llapdiff.InvalidError, match="rows after those of training"):
        model.predict(X[:12])
    with pytest.raises(llapdiff.InvalidError, match="at most 12 rows ahead, found 13"):
        model.predict(pd.DataFrame(0.0, index=X.index[-1] + pd.timedelta_range("1h", periods=13, freq="h"),
                                   columns=X.columns))


def test_targets_with_holes_and_several_of_them():
    X, y = data()
    y = pd.concat([y, -y], axis=1)
    y.iloc[30:40, 0] = np.nan
    found = LlapForecaster(horizon=6, options=QUICK).fit(X[:-6], y[:-6]).predict(X[-6:])
    assert found.shape == (6, 2) and abs(found[:, 0] + found[:, 1]).max() < 1


def test_the_imputer():
    X, y = data()
    X["load"] = y
    truth = X.copy()
    X.iloc[100:103, 2] = np.nan
    imputer = clone(LlapImputer(options=QUICK)).set_output(transform="pandas")
    filled = imputer.fit_transform(X)
    assert list(filled) == list(X) and not filled.isna().any().any()
    pd.testing.assert_frame_equal(filled[X.notna()], X)
    assert abs(filled["load"] - truth["load"]).max() < 8
    assert list(imputer.get_feature_names_out()) == list(X)
    once = make_pipeline(LlapImputer(options=QUICK), StandardScaler()).fit_transform(X)
    assert np.isfinite(once).all()
