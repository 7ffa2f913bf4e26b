"""Every example in a docstring runs and says what it says."""
import doctest
import importlib
import pathlib
import pkgutil
import subprocess
import sys

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


def test_everything_public_is_documented():
    for name in llapdiff.__all__:
        assert getattr(llapdiff, name).__doc__, name


def test_the_reference_is_that_of_the_docstrings():
    tool = pathlib.Path(__file__).resolve().parents[1] / "reference.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
