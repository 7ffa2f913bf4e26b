"""Memory of the library seen as NumPy arrays, without a copy."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._lib import ffi


class _Borrowed:
    """Holds the owner of the memory as long as an array sees it."""

    def __init__(self, owner: Any, pointer: Any, shape: tuple[int, ...], kind: str):
        self.owner = owner
        self.__array_interface__ = {"data": (int(ffi.cast("intptr_t", pointer)), True), "shape": shape,
                                    "typestr": kind, "version": 3}


def view(owner: Any, pointer: Any, shape: Any, kind: str) -> np.ndarray:
    """A read-only array; empty where there is nothing."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    if not pointer or 0 in shape:
        return np.empty(shape, kind)
    return np.asarray(_Borrowed(owner, pointer, shape, kind))
