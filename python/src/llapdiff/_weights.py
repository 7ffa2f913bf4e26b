"""The arrays of a model, as its file has them."""
from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
          "BOOL": "?"}


def arrays_of(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a safetensors file, over one copy of its bytes, and its configuration."""
    n: int = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + n])
    about = header.pop("__metadata__", {})
    memory = np.frombuffer(bytearray(data[8 + n:]), np.uint8)
    arrays = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        arrays[name] = memory[begin:end].view(_TYPES[tensor["dtype"]]).reshape(tensor["shape"])
    return arrays, json.loads(about.get("llapdiff.config", "{}"))
