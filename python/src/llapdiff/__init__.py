"""Probabilistic forecasts and gap filling for irregular, incomplete, multivariate time series.

    import llapdiff
    model = llapdiff.train(df, target="PM2.5", context="14d", horizon="48h")
    fc = model.forecast(df, quantiles=[.1, .5, .9])
    fc.plot()

`df` is a frame of pandas, polars, pyarrow or DuckDB, a dict of columns, a NumPy array, an xarray, or the path of a CSV
file. Messages go to the logger "llapdiff".
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._answer import Answer as Answer, Forecast as Forecast, Imputation as Imputation
    from ._detection import Detection as Detection
    from ._lib import (
        Device as Device, Error as Error, FormatError as FormatError, InvalidError as InvalidError, IOError as IOError,
        LimitError as LimitError, NotFoundError as NotFoundError, NumericError as NumericError,
        OptionError as OptionError, OutOfMemoryError as OutOfMemoryError, UnavailableError as UnavailableError,
        UnsupportedError as UnsupportedError, UsageError as UsageError, devices as devices,
        features as features, version as version,
    )
    from ._model import Model as Model, Sampler as Sampler, Trainer as Trainer, from_bytes as from_bytes
    from ._model import load as load, train as train
    from ._panel import Inspection as Inspection, Panel as Panel, demo as demo, inspect as inspect
    from ._panel import pack as pack, panel as panel, read as read
    from ._progress import Event as Event
    from ._scores import Poles as Poles, Scores as Scores
    from ._table import Table as Table

    __version__: str

# Where each name lives: loaded when it is asked for, so that importing the package costs nothing.
_HOMES = {
    "_answer": ["Answer", "Forecast", "Imputation"],
    "_detection": ["Detection"],
    "_lib": ["Device", "Error", "FormatError", "IOError", "InvalidError", "LimitError", "NotFoundError", "NumericError",
             "OptionError", "OutOfMemoryError", "UnavailableError", "UnsupportedError", "UsageError", "devices",
             "features", "version"],
    "_model": ["Model", "Sampler", "Trainer", "from_bytes", "load", "train"],
    "_panel": ["Inspection", "Panel", "demo", "inspect", "pack", "panel", "read"],
    "_progress": ["Event"],
    "_scores": ["Poles", "Scores"],
    "_table": ["Table"],
}
_HOME = {name: home for home, listed in _HOMES.items() for name in listed}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._lib import version

        return version()
    if name not in _HOME:
        raise AttributeError(f"module 'llapdiff' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
