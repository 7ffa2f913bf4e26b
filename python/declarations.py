"""Makes the source of the extension: declarations.py INCLUDE CC OUT.c

The declarations that cffi reads are the public headers as the preprocessor leaves them, so they cannot drift.
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS = ["llapdiff/llapdiff.h"]
SYSTEM = ["assert.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h"]

CALLBACKS = """
extern "Python" int python_report(void *handle, const llap_progress_event *event);
extern "Python" void python_release(void *handle);
extern "Python" void python_log(void *handle, llap_log_level level, const char *message);
"""


def preprocess(include: pathlib.Path, cc: str, *flags: str) -> str:
    """The headers without what they include from the system: cffi knows those types."""
    with tempfile.TemporaryDirectory() as empty:
        for name in SYSTEM:
            pathlib.Path(empty, name).touch()
        text = "".join(f"#include <{name}>\n" for name in HEADERS)
        command = [cc, "-E", "-P", "-nostdinc", "-D__attribute__(x)=", f"-I{empty}", f"-I{include}", *flags, "-x", "c", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def without_bodies(text: str) -> str:
    """Inline functions are for C compilers: they and their bodies go."""
    return re.sub(r"static inline [^{;]*\{[^}]*\}", "", text)


def constants(macros: str) -> str:
    """#define LLAP_X of a whole number; versions too."""
    found = re.findall(r"^#define (LLAP_[A-Z_]+) \(?(-?\d+)\)?$", macros, re.M)
    return "".join(f"#define {name} ...\n" for name, _ in sorted(found))


def of_glue(path: pathlib.Path) -> str:
    return re.search(r"/\* BINDING \*/(.*)/\* END \*/", path.read_text(), re.S).group(1)


def declarations(include: pathlib.Path, cc: str = "cc") -> str:
    """Everything that Python sees, as cffi reads it."""
    headers = without_bodies(preprocess(include, cc))
    return constants(preprocess(include, cc, "-dM")) + headers + of_glue(pathlib.Path(__file__).with_name("glue.h"))


def main() -> None:
    import cffi

    include, cc, out = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    ffi = cffi.FFI()
    ffi.cdef(declarations(include, cc) + CALLBACKS)
    ffi.set_source("llapdiff._cffi", '#include "glue.h"', py_limited_api=True)
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main()
