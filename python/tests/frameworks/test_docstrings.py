"""The examples in the docstrings of the adapters: what tests/test_docstrings.py is for the package itself."""
import doctest
import importlib
import types

import examples
import numpy as np
import pandas as pd
import pytest

import llapdiff

HOURS = pd.date_range("2024-01-01", periods=400, freq="h")
LOAD = 10 + np.sin(np.arange(400) * 2 * np.pi / 24)


def of_nixtla():
    return {"df": pd.DataFrame({"unique_id": "a", "ds": HOURS, "y": LOAD})}


def of_sktime():
    return {"y": pd.Series(LOAD, HOURS, name="load")}


def of_sklearn():
    from sklearn.model_selection import TimeSeriesSplit, cross_val_score

    return {"X": np.cos(np.arange(400.0))[:, None], "y": LOAD, "TimeSeriesSplit": TimeSeriesSplit,
            "cross_val_score": cross_val_score}


def of_gluonts():
    from gluonts.dataset.common import ListDataset
    from gluonts.evaluation import make_evaluation_predictions

    train, test = (ListDataset([{"start": pd.Period("2024-01-01", "h"), "target": LOAD[:n]}], freq="h") for n in (376, 400))
    return {"dataset": types.SimpleNamespace(train=train, test=test),
            "make_evaluation_predictions": lambda *given: map(list, make_evaluation_predictions(*given))}


def of_distributed():
    days = pd.date_range("2024-01-01", periods=400, freq="D")
    frame = pd.concat(pd.DataFrame({"shop": shop, "time": days, "sold": LOAD + i}) for i, shop in enumerate("ab"))
    return {"distributed": importlib.import_module("llapdiff.distributed"), "frame": frame}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for module in ("_series", "_work"):
        monkeypatch.setattr(f"llapdiff.{module}.train", examples.quick(llapdiff.train))


@pytest.mark.parametrize("names", [of_nixtla, of_sktime, of_sklearn, of_gluonts], ids=lambda f: f.__name__[3:])
def test_examples(names):
    module = names.__name__[3:]
    pytest.importorskip(module if module != "nixtla" else "pandas")
    assert doctest.testmod(importlib.import_module(f"llapdiff.{module}"), optionflags=doctest.ELLIPSIS).failed == 0
    assert examples.run(module, names()) == 1


def test_the_example_of_training_one_model_for_each_group():
    code = dict(examples.reference.examples("distributed"))["train_each"]  # the other one: test_distributed.py
    names = of_distributed()
    exec(code, names)
    assert set(names["coming"]["entity"]) == {"a", "b"} and "q0.9" in names["coming"]
