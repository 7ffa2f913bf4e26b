"""Dictionaries as PyPOTS has them."""
import numpy as np
import pytest

import llapdiff
from llapdiff.pypots import LlapImputer

QUICK = {"training": {"anchor": {"steps": 10}}}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    level = rng.normal(0, 3, (40, 1, 1))
    X = level + np.sin(np.arange(48) / 4)[None, :, None] + rng.normal(0, 0.05, (40, 48, 2))
    truth = X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, truth


@pytest.fixture(scope="module")
def imputer(samples):
    made = LlapImputer(options=QUICK)
    made.fit({"X": samples[0][:30]})
    return made


def test_samples_that_training_has_not_seen(imputer, samples):
    X, truth = samples[0][30:], samples[1][30:]
    filled = imputer.predict({"X": X})["imputation"]
    assert filled.shape == X.shape and np.isfinite(filled).all()
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert abs(filled - truth)[np.isnan(X)].mean() < 0.5  # the level of a sample alone: about .6
    assert np.array_equal(imputer.impute({"X": X}), filled)


def test_draws(imputer, samples):
    X = samples[0][30:]
    found = imputer.predict({"X": X}, samples=5)["imputation_samples"]
    assert found.shape == (10, 5, 48, 2) and np.isfinite(found).all()
    assert np.array_equal(found[:, 0][~np.isnan(X)], X[~np.isnan(X)])
    assert found[np.broadcast_to(np.isnan(X)[:, None], found.shape)].reshape(-1).std() > 0


def test_models_are_kept(imputer, samples, tmp_path):
    imputer.save(tmp_path / "model")
    again = LlapImputer()
    again.load(tmp_path / "model")
    assert np.array_equal(again.impute({"X": samples[0][30:]}), imputer.impute({"X": samples[0][30:]}))


@pytest.mark.parametrize("wrong, words", [([1], "expected a dictionary with 'X'"), ({"x": 1}, "with 'X'"),
                                          ({"X": np.ones((3, 4))}, r"found shape \[3, 4\]")])
def test_what_is_refused(imputer, wrong, words):
    with pytest.raises(llapdiff.InvalidError, match=words):
        imputer.predict(wrong)


def test_fit_comes_first():
    with pytest.raises(llapdiff.InvalidError, match="fit comes first"):
        LlapImputer().predict({"X": np.ones((1, 2, 3))})
