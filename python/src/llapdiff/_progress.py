"""Progress of long calls: a bar, a function of the caller's, or nothing; and Ctrl-C."""
from __future__ import annotations

import sys
import time
from typing import Any, Callable, NamedTuple, Optional, Union

from ._lib import error, ffi, lib, text


class Event(NamedTuple):
    """What a long call reports: done of total, in a unit ("steps"), during a stage; total 0 when unknown."""

    stage: str
    done: int
    total: int
    unit: str
    note: str


Progress = Union[bool, None, Callable[[Event], object]]

INTERVAL_NS = 50_000_000


class _Bar:
    """One line on the terminal, or in a notebook, once work has taken half a second."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.drawn = 0

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if now - self.begun < 0.5:
            return
        parts = [event.stage]
        if event.total > 0:
            filled = min(20, 20 * event.done // event.total)
            parts += [f"{100 * event.done // event.total:3d}%", "|" + "#" * filled + " " * (20 - filled) + "|",
                      f"{event.done}/{event.total} {event.unit}".rstrip()]
        elif event.done:
            parts.append(f"{event.done} {event.unit}".rstrip())
        if event.note:
            parts.append(event.note)
        line = " ".join([*parts, f"[{now - self.begun:.0f}s]"])
        sys.stderr.write("\r" + line + " " * max(0, self.drawn - len(line)))
        sys.stderr.flush()
        self.drawn = len(line)

    def close(self) -> None:
        if self.drawn:
            sys.stderr.write("\r" + " " * self.drawn + "\r")
            sys.stderr.flush()


def _wanted(progress: Progress) -> bool:
    if progress is not None:
        return bool(progress)
    return bool(getattr(sys.stderr, "isatty", lambda: False)()) or "ipykernel" in sys.modules


class Watch:
    """Told by a long call while it runs, through the option `progress`. What it raises, Ctrl-C too, ends the call and is
    raised again by `check`, which takes the status of the call."""

    def __init__(self, progress: Progress = None):
        self.raised: Optional[BaseException] = None
        self.bar = _Bar() if not callable(progress) and _wanted(progress) else None
        self.tell: Optional[Callable[[Event], object]] = progress if callable(progress) else self.bar
        self.handle = ffi.new_handle(self)
        self.state = ffi.new("llap_py_progress *", {"handle": self.handle,
                                                    "interval": 0 if callable(progress) else INTERVAL_NS})
        self.progress = ffi.new("llap_progress *", {"report": lib.llap_py_report, "user": self.state})[0]

    def __enter__(self) -> Watch:
        lib.llap_py_progress_start(self.state)
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def check(self, status: int) -> None:
        if self.raised is not None:
            raise self.raised
        if status:
            raise error(status)


def python_report(handle: Any, event: Any) -> int:
    watch = ffi.from_handle(handle)
    try:
        if watch.tell is not None:
            watch.tell(Event(text(event.stage), event.done, event.total, text(event.unit), text(event.note)))
    except BaseException as raised:
        watch.raised = raised
        return 1
    return 0


ffi.def_extern(onerror=lambda kind, value, trace: None, error=1)(python_report)
