"""The C library: how it is called, how it fails, how it speaks."""
from __future__ import annotations

import itertools
import logging
from typing import Any, NamedTuple

from ._cffi import ffi as ffi, lib as lib

log = logging.getLogger("llapdiff")


class Error(Exception):
    """Whatever the library refuses. The text is one line: what is wrong, where, what was expected."""

    status = "LLAP_EINVAL"


class InvalidError(Error, ValueError):
    """Does not fit the data or the model."""


class FormatError(Error, ValueError):
    """Malformed input: a file, or the rows of a frame."""

    status = "LLAP_EFORMAT"


class NotFoundError(Error, FileNotFoundError):
    """No such file."""

    status = "LLAP_ENOTFOUND"


class UnsupportedError(Error, NotImplementedError):
    """Not supported here."""

    status = "LLAP_EUNSUPPORTED"


class LimitError(Error, OverflowError):
    """Over a limit."""

    status = "LLAP_ELIMIT"


class IOError(Error, OSError):  # noqa: A001, the name that Python has for it
    """Reading or writing failed."""

    status = "LLAP_EIO"


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""

    status = "LLAP_ENOMEM"


class NumericError(Error, ArithmeticError):
    """Numbers that should be finite are not."""

    status = "LLAP_ENUMERIC"


class UsageError(Error, TypeError):
    """Not how the library is to be called."""

    status = "LLAP_EUSAGE"


class OptionError(Error, ValueError):
    """An option has a value that cannot be."""

    status = "LLAP_EOPTION"


class UnavailableError(Error, ConnectionError):
    """Cannot be answered now, by a database that is gone or full; may be later."""

    status = "LLAP_EUNAVAILABLE"


_BY_STATUS: dict[str, type[Error]] = {
    kind.status: kind
    for kind in (InvalidError, FormatError, NotFoundError, UnsupportedError, LimitError, IOError,
                 OutOfMemoryError, NumericError, UsageError, OptionError, UnavailableError)
}
for _kind in (Error, *_BY_STATUS.values()):
    _kind.__module__ = "llapdiff"


def error(status: int) -> BaseException:
    """The exception of a status, with the detail of this thread's last failure."""
    name = ffi.string(lib.llap_status_name(status)).decode()
    if name == "LLAP_ECANCELLED":
        return KeyboardInterrupt()
    detail = text(lib.llap_error_detail())
    if detail.endswith("llapdiff-cuda.so is not there"):
        detail += ": pip install 'llapdiff[cuda]'"
    return _BY_STATUS.get(name, Error)(detail)


def check(status: int) -> None:
    if status:
        raise error(status)


def text(chars: Any) -> str:
    """Borrowed characters as text; "" of NULL."""
    return ffi.string(chars).decode("utf-8", "replace") if chars else ""


def take_text(out: Any) -> str:
    """Text that the library made for us, in a char *[1]."""
    try:
        return text(out[0])
    finally:
        lib.llap_text_free(out[0])


def names(array: Any, n: int) -> list[str]:
    return [text(array[i]) for i in range(n)]


_LEVELS = [logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG]


def python_log(handle: Any, level: int, message: Any) -> None:
    log.log(_LEVELS[level], "%s", text(message))


ffi.def_extern()(python_log)


_sink = ffi.new("llap_log *")
_sink.sink = lib.python_log


def sink() -> Any:
    """Where messages go: the logger "llapdiff", as far as it listens."""
    effective = log.getEffectiveLevel()
    _sink.level = (lib.LLAP_LOG_DEBUG if effective <= logging.DEBUG else
                   lib.LLAP_LOG_INFO if effective <= logging.INFO else lib.LLAP_LOG_WARNING)
    return _sink


def version() -> str:
    """Of the library, "0.2.0"."""
    return text(lib.llap_version())


def features() -> dict[str, str]:
    """What was built in or found: {"simd": "kernels chosen at run time", ...}; "" where it is not."""
    out = ffi.new("llap_feature **")
    n = lib.llap_features(out)
    return {text(out[0][i].name): text(out[0][i].detail) if out[0][i].enabled else "" for i in range(n)}


class Device(NamedTuple):
    """Where networks may compute: by its `name` as `device=` takes it; where it is not `usable`, `detail` says why."""

    name: str
    usable: bool
    detail: str


def devices() -> list[Device]:
    """The processor, with the instructions that are used of it, and every GPU; without one, what is missing for it.

    >>> import llapdiff
    >>> llapdiff.devices()[0].name
    'cpu'
    """
    found = [Device("cpu", True, text(lib.llap_cpu()))]
    for name in map("cuda:{}".format, itertools.count()):
        status = lib.llap_device_check(name.encode())
        if not status or len(found) == 1:
            found.append(Device(name, not status, str(error(status)) if status else ""))
        if status:
            break
    return found
