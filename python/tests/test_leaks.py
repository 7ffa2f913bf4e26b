"""Nothing is left behind by calls, also by those that fail: references where the interpreter counts them (a debug build,
tools/test-extension), else blocks of memory."""
import copy
import gc
import logging
import pickle
import sys

import numpy as np
import pytest
from conftest import QUICK

import llapdiff
from llapdiff import _arrow

REFERENCES = hasattr(sys, "gettotalrefcount")
count = getattr(sys, "gettotalrefcount", sys.getallocatedblocks)
CALLS = 40


def growth(call, tries=15):
    """How many references, or blocks, a call leaves behind, on average; the least of some tries: caches fill up."""
    for _ in range(3):
        call()
    least = float("inf")
    for _ in range(tries):
        gc.collect()
        before = count()
        for _ in range(CALLS):
            call()
        gc.collect()
        least = min(least, (count() - before) / CALLS)
        if least < 0.5:
            break
    return least


@pytest.fixture(autouse=True)
def silent():
    """pytest keeps every message."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def small():
    return llapdiff.demo(entities=2, variables=1, rows=200)


@pytest.fixture(scope="module")
def forecaster(small):
    return llapdiff.train(small, context="1d", horizon="3h", progress=False, **QUICK)


def refused(call, kind=llapdiff.Error):
    with pytest.raises(kind):
        call()


FRAME = {"id": ["a", "a", "b"], "time": ["2024-01-01", "2024-01-02", "2024-01-01"], "x": [1.0, 2.0, None]}
KEPT = []


def raising(event):
    raise RuntimeError("enough")


CALLS_OF_DATA = {
    "dicts": lambda: llapdiff.panel(FRAME),
    "arrays": lambda: llapdiff.Panel.from_numpy(np.ones((2, 5, 1))),
    "masked arrays": lambda: llapdiff.panel({"time": np.arange(3), "x": np.ma.masked_equal([1.0, 2.0, 3.0], 2)}),
    "bad cells": lambda: refused(lambda: llapdiff.panel({**FRAME, "x": [1.0, "warm", 2.0]})),
    "no columns": lambda: refused(lambda: llapdiff.panel({})),
    "wrong options": lambda: refused(lambda: llapdiff.panel(FRAME, grid="soon")),
    "unknown options": lambda: refused(lambda: llapdiff.panel(FRAME, gird="1h"), TypeError),
    "no file": lambda: refused(lambda: llapdiff.read("nowhere.csv")),
    "streams nobody takes": lambda: llapdiff.demo(rows=5).__arrow_c_stream__(),
    "streams": lambda: llapdiff.panel(llapdiff.panel(FRAME).table()),
    "pickles": lambda: pickle.loads(pickle.dumps(llapdiff.panel(FRAME))),
    "inspections": lambda: llapdiff.inspect(FRAME),
}

CALLS_OF_MODELS = {
    "forecasts": lambda m, d: m.forecast(d, quantiles=[0.1, 0.9]),
    "forecasts of frames": lambda m, d: refused(lambda: m.forecast(FRAME)),
    "samples": lambda m, d: m.forecast(d, samples=5).samples,
    "views that live longer": lambda m, d: m.forecast(d)["mean"].sum(),
    "tables": lambda m, d: dict(m.forecast(d)),
    "gaps": lambda m, d: m.impute(d).filled(),
    "scores": lambda m, d: m.evaluate(d, samples=5, progress=False),
    "poles": lambda m, d: m.poles(),
    "descriptions": lambda m, d: (m.info, m.describe(), repr(m)),
    "bytes": lambda m, d: llapdiff.from_bytes(bytes(m)),
    "pickles": lambda m, d: pickle.loads(pickle.dumps(m)),
    "copies": lambda m, d: copy.deepcopy(m),
    "samplers": lambda m, d: m.sampler().forecast(d),
    "bars that raise": lambda m, d: refused(lambda: m.evaluate(d, samples=5, progress=raising), RuntimeError),
    "reports": lambda m, d: m.evaluate(d, samples=5, progress=lambda event: None),
    "wrong horizons": lambda m, d: refused(lambda: m.forecast(d, horizon="-1h")),
    "wrong devices": lambda m, d: refused(lambda: m.sampler("cuda:99")),
}


@pytest.mark.parametrize("name", CALLS_OF_DATA)
def test_data(name):
    assert growth(CALLS_OF_DATA[name]) < 0.5
    assert not _arrow._exports


@pytest.mark.parametrize("name", CALLS_OF_MODELS)
def test_models(name, forecaster, small):
    assert growth(lambda: CALLS_OF_MODELS[name](forecaster, small)) < 0.5


def test_what_stays_is_seen():
    assert growth(lambda: KEPT.append(object()), 3) >= 1
