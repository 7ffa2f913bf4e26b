"""The package itself: declarations, exports, what it imports."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import llapdiff
from llapdiff import _cffi, _lib

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def symbols():
    """Names of the stable functions, from the list that the library's own tests hold."""
    unstable = set(re.findall(r"#include <llapdiff/(.*)>", (SOURCE / "include/llapdiff/unstable.h").read_text()))
    lines = (SOURCE / "tests/build/symbols.txt").read_text().split("\n")
    return {name for name, header in (line.split() for line in lines if line) if header not in unstable}


def test_every_stable_function_is_declared():
    declared = {name for name in dir(_lib.lib) if name.startswith("llap_") and callable(getattr(_lib.lib, name))}
    assert symbols() - declared == set()
    assert {name for name in declared - symbols() if not name.startswith("llap_py_")} == set()


def test_declarations_follow_the_headers():
    sys.path.insert(0, str(SOURCE / "python"))
    try:
        import declarations
    finally:
        sys.path.pop(0)
    text = declarations.declarations(SOURCE / "include")
    for header in ["panel.h", "model.h", "answer.h"]:
        for struct in re.findall(r"^\} (llap_\w+);", (SOURCE / "include/llapdiff" / header).read_text(), re.M):
            assert re.search(rf"\}} {struct};", text), struct
            assert _lib.ffi.typeof(struct).kind in ("struct", "enum")


def test_the_extension_exports_its_entry_point_alone():
    out = subprocess.run(["nm", "-D", "--defined-only", _cffi.__file__], capture_output=True, text=True)
    if out.returncode != 0:
        pytest.skip("no nm")
    assert [line.split()[-1] for line in out.stdout.splitlines()] == ["PyInit__cffi"]


def test_version_is_that_of_the_headers():
    numbers = re.findall(r"#define LLAP_VERSION_\w+ (\d+)", (SOURCE / "include/llapdiff/version.h").read_text())
    assert llapdiff.__version__ == ".".join(numbers)


def test_importing_brings_nothing_that_is_not_needed():
    code = ("import sys; import llapdiff; assert 'numpy' not in sys.modules; llapdiff.train; "
            "print(sorted({m.partition('.')[0] for m in sys.modules} & "
            "{'pandas', 'polars', 'pyarrow', 'matplotlib', 'sklearn', 'sktime', 'xarray', 'ctypes'}) )")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() in ("[]", "['ctypes']"), out.stdout  # NumPy itself may need ctypes


def test_every_status_has_its_exception():
    for status in range(1, 12):
        name = _lib.text(_lib.lib.llap_status_name(status))
        python = _lib.text(_lib.lib.llap_status_python(status))
        raised = _lib.error(status)
        assert isinstance(raised, getattr(__import__("builtins"), python)), name
        assert python == "KeyboardInterrupt" or isinstance(raised, llapdiff.Error)


def test_the_object_for_gpus_is_found_beside_the_package(tmp_path):
    """Without it the way to get it is said; any object in its place is opened and looked at."""
    package = pathlib.Path(llapdiff.__file__).parent
    for part in package.parent.glob("llapdiff*"):  # of an installed wheel also what it carries
        if part.name in ("llapdiff", "llapdiff.libs"):
            shutil.copytree(part, tmp_path / part.name)
    code = "import llapdiff; cpu, gpu = llapdiff.devices(); print(cpu.usable, gpu.usable, gpu.detail)"

    def said():
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(tmp_path)}).stdout.strip()

    assert said() == ("True False cuda: no GPU support here: the object llapdiff-cuda.so is not there: "
                      "pip install 'llapdiff[cuda]'")
    (tmp_path / "llapdiff_cuda").mkdir()
    shutil.copy(_cffi.__file__, tmp_path / "llapdiff_cuda" / "llapdiff-cuda.so")
    assert said() == "True False cuda: the object llapdiff-cuda.so belongs to another version"


def test_devices_that_cannot_be_used_are_refused_by_the_same_line(model, data):
    for device in llapdiff.devices()[1:]:
        if not device.usable:
            with pytest.raises(llapdiff.UnsupportedError) as refused:
                model.forecast(data, device=device.name)
            assert str(refused.value) == device.detail
