"""What the adapters of frameworks share: training on series that may be short, asking about given times."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._arrow import Column
from ._lib import InvalidError
from ._model import Model, train
from ._panel import Panel, _from_stream


def panel_of(columns: list[Column]) -> Panel:
    """A panel of the columns entity, time and values; numbers are what they are."""
    from ._arrow import stream

    options = {"entity": "entity", "time": "time", "form": "wide", "codes": "keep"}
    when = next(c for c in columns if c.name == "time")
    if not when.format.startswith("t"):
        options["time_format"] = "number"
    return _from_stream(stream(columns), options)


def fit(data: Panel, horizon: int, context: Any, options: Mapping[str, Any]) -> Model:
    """Trains on windows of that horizon, or of half of it and so on where the series are too short for them."""
    given = {"size": "anchor", "progress": False, **options}
    longest = int(np.diff(data.first).max(initial=0))
    refused: InvalidError | None = None
    while horizon >= 1:
        back = context if context is not None else max(2, min(max(3 * horizon, 24), longest // 3))
        try:
            return train(data, context=back, horizon=horizon, **given)
        except InvalidError as short:
            refused = refused or short
        horizon //= 2
    try:
        return train(data, context=2, horizon=1, **given)
    except InvalidError:
        raise refused or InvalidError("the series are too short") from None

