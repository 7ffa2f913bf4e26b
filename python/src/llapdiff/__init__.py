"""Probabilistic forecasts and gap filling for irregular, incomplete, multivariate time series.

    import llapdiff
    model = llapdiff.train(df, target="PM2.5", context="14d", horizon="48h")
    fc = model.forecast(df, quantiles=[.1, .5, .9])
    fc.plot()
"""
from ._lib import (
    Error, FormatError, InvalidError, IOError, LimitError, NotFoundError, NumericError, OptionError,
    OutOfMemoryError, UnsupportedError, UsageError, Warning, features, version,
)

__version__ = version()
