import os
import pathlib
import signal

import pytest

import llapdiff

# A few steps of fitting are enough where the result itself is not the question.
QUICK = {"size": "anchor", "training": {"anchor": {"steps": 30}}}


@pytest.fixture(autouse=True, scope="session")
def interrupts():
    """As at a terminal: the background jobs of a shell begin with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data():
    return llapdiff.demo(kind="weather", entities=3, rows=300)


@pytest.fixture(scope="session")
def frame(data):
    return data.to_pandas()


@pytest.fixture(scope="session")
def model(data):
    return llapdiff.train(data, context="2d", horizon="12h", **QUICK)


@pytest.fixture(scope="session")
def program():
    path = os.environ.get("LLAP_PROGRAM")
    if not path or not pathlib.Path(path).exists():
        pytest.skip("LLAP_PROGRAM does not name the program")
    return path
