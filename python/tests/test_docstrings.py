"""Every example in a docstring runs and says what it says."""
import doctest
import importlib
import pathlib
import pkgutil
import subprocess
import sys

import examples
import numpy as np
import pytest

import llapdiff

MODULES = [m.name for m in pkgutil.iter_modules(llapdiff.__path__)
           if (m.name.startswith("_") or m.name == "pypots") and m.name != "_cffi"]  # the others: tools/test-frameworks


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"llapdiff.{name}")
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_examples():
    count = sum(len(t.examples) for name in MODULES
                for t in doctest.DocTestFinder().find(importlib.import_module(f"llapdiff.{name}")))
    assert count > 10


@pytest.fixture
def names(monkeypatch, tmp_path):
    """What the examples speak of."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    for name in ("train", "Trainer"):
        monkeypatch.setattr(llapdiff, name, examples.quick(getattr(llapdiff, name)))
    monkeypatch.setattr("llapdiff._series.train", llapdiff.train)
    frame = llapdiff.demo(kind="weather", entities=2, rows=1600).to_pandas().rename(columns={"pressure (hPa)": "PM2.5"})
    samples = np.sin(np.arange(48) / 4 + np.arange(30)[:, None])[:, :, None]
    return {"llapdiff": llapdiff, "df": frame, "train": samples[:24], "test": samples[24:]}


@pytest.mark.parametrize("module", ["__init__", *MODULES])
def test_examples_that_are_no_sessions(module, names):
    assert examples.run(module, names) == {"__init__": 1, "_model": 1, "pypots": 1}.get(module, 0)


def test_everything_public_is_documented():
    for name in llapdiff.__all__:
        assert getattr(llapdiff, name).__doc__, name


def test_the_reference_is_that_of_the_docstrings():
    tool = pathlib.Path(__file__).resolve().parents[1] / "reference.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
