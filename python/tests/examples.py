"""Examples in docstrings that are no sessions (">>>"): they run as they stand, but that trainings are short."""
import functools
import pathlib
import sys

from conftest import QUICK

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import reference  # noqa: E402


def run(module, names):
    """Those of a module, each with these names; how many there are."""
    examples = reference.examples(module)
    for name, code in examples:
        exec(compile(code, f"example of {module}: {name}", "exec"), dict(names))
    return len(examples)


def quick(call):
    return functools.wraps(call)(lambda *given, **options: call(*given, **{**QUICK, **options}))
