"""Probabilistic forecasts and gap filling for irregular, incomplete, multivariate time series.

    import llapdiff
    model = llapdiff.train(df, target="PM2.5", context="14d", horizon="48h")
    fc = model.forecast(df, quantiles=[.1, .5, .9])
    fc.plot()

`df` is a frame of pandas, polars, pyarrow or DuckDB, a dict of columns, a NumPy array, an xarray, or the path of a CSV
file. Messages go to the logger "llapdiff".
"""
from ._answer import Answer, Forecast, Imputation
from ._lib import (
    Error, FormatError, InvalidError, IOError, LimitError, NotFoundError, NumericError, OptionError,
    OutOfMemoryError, UnsupportedError, UsageError, features, version,
)
from ._model import Model, Sampler, Trainer, from_bytes, load, train
from ._panel import Inspection, Panel, demo, inspect, panel, read
from ._progress import Event
from ._scores import Poles, Scores
from ._table import Table

__version__ = version()

__all__ = [
    "Answer", "Error", "Event", "Forecast", "FormatError", "IOError", "Imputation", "Inspection", "InvalidError",
    "LimitError", "Model", "NotFoundError", "NumericError", "OptionError", "OutOfMemoryError", "Panel", "Poles",
    "Sampler", "Scores", "Table", "Trainer", "UnsupportedError", "UsageError", "demo", "features", "from_bytes",
    "inspect", "load", "panel", "read", "train", "version",
]
