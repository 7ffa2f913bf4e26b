"""Whatever holds rows, to columns that the library reads."""
from __future__ import annotations

import datetime
import decimal
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrow
from ._arrow import Column
from ._lib import FormatError


def is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, (pandas.DataFrame, pandas.Series))


def is_xarray(data: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(data, (xarray.Dataset, xarray.DataArray))


def is_path(data: Any) -> bool:
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(x, (str, os.PathLike)) for x in data)


def columns_of(data: Any) -> list[Column]:
    """The columns of a frame of pandas, an xarray, a dict or a structured array."""
    if is_xarray(data):
        data = _from_xarray(data)
    if is_pandas(data):
        return _from_pandas(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        data = {name: data[name] for name in data.dtype.names}
    if isinstance(data, Mapping):
        return _from_mapping(data)
    raise TypeError(f"expected a data frame, a dict of columns, an array or the path of a file, "
                    f"found {type(data).__name__}")


def _from_xarray(data: Any) -> Any:
    """The variables over time as a frame, by the CF conventions: "hours since ..." and _FillValue are decoded, the variable
    of the role timeseries_id names the series, other coordinates and variables without a time stay out."""
    import xarray

    if isinstance(data, xarray.DataArray):
        data = data.to_dataset(name=data.name or "value")
    data = xarray.decode_cf(data)
    clocks = [name for name, values in data.variables.items() if values.dtype.kind == "M" or name in data.dims and (
        values.attrs.get("standard_name") == "time" or values.attrs.get("axis") == "T" or str(name).lower() == "time")]
    dims = {dim for name in clocks for dim in data[name].dims}
    named = next((name for name, values in data.variables.items() if values.attrs.get("cf_role") == "timeseries_id"), None)
    if not dims:
        return data.to_dataframe().reset_index()
    kept = [name for name in data.data_vars if name != named and dims & set(data[name].dims)
            and not str(name).endswith(("_bnds", "_bounds")) and data[name].dtype.kind in "biufM"]
    if not kept:
        raise FormatError(f"dataset: expected variables over the time, found {', '.join(map(str, data.data_vars)) or 'none'}")
    frame = data[kept].reset_coords([c for c in data.coords if c not in data.dims and c not in clocks], drop=True)
    frame = frame.to_dataframe().reset_index()
    if named is not None and named not in frame:
        texts = [t.decode() if isinstance(t, bytes) else str(t) for t in data[named].values.ravel()]
        (dim,) = data[named].dims
        labels = list(data[dim].values) if dim in data.coords else list(range(data.sizes[dim]))
        frame.insert(0, "entity", frame.pop(dim).map(dict(zip(labels, texts))))
    return frame


def _from_mapping(data: Mapping[Any, Any]) -> list[Column]:
    columns = [column(str(name), values) for name, values in data.items()]
    if not columns:
        raise FormatError("frame: expected columns, found none")
    for c in columns:
        if c.length != columns[0].length:
            raise FormatError(f"frame: column '{c.name}': expected {columns[0].length} rows as in "
                              f"'{columns[0].name}', found {c.length}")
    return columns


# ---- one column ----

def column(name: str, values: Any) -> Column:
    """A sequence, a NumPy array (also masked) or anything with DLPack."""
    if isinstance(values, np.ma.MaskedArray):
        valid = ~np.ma.getmaskarray(values)
        made = column(name, values.data)
        if made.dictionary is None and values.dtype.kind in "biuf":
            return _arrow.numbers(name, values.data, valid)
        raise FormatError(f"frame: column '{name}': a mask is for numbers, found {values.dtype}")
    if is_pandas(values):
        return _pandas_column(name, values)
    if not isinstance(values, np.ndarray):
        if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            values = np.from_dlpack(values)
        elif isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise FormatError(f"frame: column '{name}': expected a column of values, found {type(values).__name__}")
        else:
            values = _array(name, values)
    if values.ndim != 1:
        raise FormatError(f"frame: column '{name}': expected one dimension, found shape {list(values.shape)}")
    return _numpy_column(name, values)


def _array(name: str, values: Any) -> np.ndarray:
    array = values.__array__() if hasattr(values, "__array__") else None
    if array is None:
        if any(not isinstance(x, (bool, int, float)) for x in values):
            array = np.empty(len(values), object)
            array[:] = list(values)
        else:
            array = np.asarray(values)
    return np.asarray(array)


def _numpy_column(name: str, values: np.ndarray) -> Column:
    kind = values.dtype.kind
    if kind in "biuf":
        return _arrow.numbers(name, values)
    if kind in "mM":
        return _arrow.times(name, values)
    if kind == "U":
        texts, codes = np.unique(values, return_inverse=True)
        return _arrow.words(name, codes.reshape(-1).astype(np.int32), [str(text) for text in texts])
    if kind == "O":
        return _object_column(name, values)
    raise FormatError(f"frame: column '{name}': expected numbers, text or times, found {values.dtype}")


def _is_missing(x: Any) -> bool:
    return x is None or (isinstance(x, (float, np.floating)) and x != x) or x.__class__.__name__ in ("NAType", "NaTType")


_NUMBERS = (bool, int, float, np.number, np.bool_)


def _object_column(name: str, values: np.ndarray) -> Column:
    """Python objects, all of one kind; None is missing."""
    first = next((x for x in values if not _is_missing(x)), None)
    if first is None:
        return _arrow.numbers(name, np.full(len(values), np.nan))
    if isinstance(first, str):
        return _text_column(name, values)
    if isinstance(first, _NUMBERS):
        return _arrow.numbers(name, np.array([np.nan if _is_missing(x) else _float(name, i, x)
                                              for i, x in enumerate(values)], np.float64))
    if isinstance(first, (datetime.datetime, datetime.date, np.datetime64)):
        return _datetime_column(name, values)
    what = "decimals: convert them to float" if isinstance(first, decimal.Decimal) else type(first).__name__
    raise FormatError(f"frame: column '{name}': expected numbers, text or times, found {what}")


def _float(name: str, row: int, x: Any) -> float:
    if isinstance(x, _NUMBERS):
        return float(x)
    raise FormatError(f"frame:{row + 1}: column '{name}': expected a number, found {type(x).__name__} {str(x)[:40]!r}")


def _text_column(name: str, values: np.ndarray) -> Column:
    places: dict[Any, int] = {}
    codes = np.empty(len(values), np.int32)
    for i, x in enumerate(values):
        if isinstance(x, str):
            codes[i] = places.setdefault(x, len(places))
        elif _is_missing(x):
            codes[i] = -1
        else:
            raise FormatError(f"frame:{i + 1}: column '{name}': expected text, found {type(x).__name__} {str(x)[:40]!r}")
    return _arrow.words(name, codes, list(places))


def _datetime_column(name: str, values: np.ndarray) -> Column:
    out = np.empty(len(values), "datetime64[us]")
    zones = set()
    for i, x in enumerate(values):
        if isinstance(x, datetime.datetime):
            offset = x.utcoffset()
            zones.add(None if offset is None else str(x.tzinfo))
            out[i] = np.datetime64(x.replace(tzinfo=None) - (offset or datetime.timedelta()), "us")
        elif isinstance(x, (datetime.date, np.datetime64)):
            zones.add(None)
            out[i] = x
        elif _is_missing(x):
            out[i] = np.datetime64("NaT")
        else:
            raise FormatError(f"frame:{i + 1}: column '{name}': expected a time, found {type(x).__name__} {str(x)[:40]!r}")
    if len(zones) > 1 and None in zones:
        raise FormatError(f"frame: column '{name}': some times have a zone, others have none")
    zone = zones.pop() if len(zones) == 1 else "UTC"
    return _arrow.times(name, out, zone or "")


# ---- pandas ----

def _from_pandas(data: Any) -> list[Column]:
    import pandas

    if isinstance(data, pandas.Series):
        data = data.to_frame("value" if data.name is None else data.name)
    if not isinstance(data.index, pandas.RangeIndex) or data.index.name is not None:
        data = _with_index(data)
    if len(data.columns) == 0:
        raise FormatError("frame: expected columns, found none")
    return [_pandas_column(_name(name), data.iloc[:, i]) for i, name in enumerate(data.columns)
            if not (_name(name).startswith("Unnamed: ") and data.iloc[:, i].isna().all())]  # separators at line ends


def _name(name: Any) -> str:
    return "_".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)


def _with_index(data: Any) -> Any:
    """The index as columns, unless it only numbers the rows."""
    import pandas

    index = data.index
    names = list(index.names)
    if names == [None]:
        if not isinstance(index, (pandas.DatetimeIndex, pandas.PeriodIndex, pandas.TimedeltaIndex)):
            return data
        names = ["time"]
    names = ["time" if name is None and isinstance(level, (pandas.DatetimeIndex, pandas.PeriodIndex))
             else f"level_{i}" if name is None else name
             for i, (name, level) in enumerate(zip(names, _levels(index)))]
    data = data.copy(deep=False)
    for i, (name, level) in enumerate(zip(names, _levels(index))):
        if name not in data.columns:
            data.insert(i, name, index.get_level_values(i) if index.nlevels > 1 else index)
    return data


def _levels(index: Any) -> list[Any]:
    return [index.levels[i] for i in range(index.nlevels)] if index.nlevels > 1 else [index]


def _pandas_column(name: str, values: Any) -> Column:
    import pandas

    dtype = values.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return _categorical(name, values)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        utc = values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return _arrow.times(name, utc, _zone(dtype.tz))
    if isinstance(dtype, pandas.PeriodDtype):
        return _arrow.times(name, values.dt.to_timestamp().to_numpy())
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return _numpy_column(name, values.to_numpy())
    if isinstance(dtype, pandas.StringDtype) or (dtype == object and _all_text(values)):
        codes, texts = pandas.factorize(values)
        return _arrow.words(name, codes, [str(text) for text in texts])
    if isinstance(dtype, np.dtype):
        return _object_column(name, values.to_numpy())
    return _extension(name, values)


def _all_text(values: Any) -> bool:
    from pandas.api.types import infer_dtype

    return bool(infer_dtype(values, skipna=True) == "string")


def _categorical(name: str, values: Any) -> Column:
    categories = values.cat.categories
    codes = values.array.codes  # .cat.codes would be a copy
    return _arrow.words(name, codes, [str(text) for text in categories])


def _zone(tz: Any) -> str:
    name = getattr(tz, "key", None) or getattr(tz, "zone", None) or str(tz)
    return "UTC" if name in ("tzutc()", "UTC") else str(name)


def _extension(name: str, values: Any) -> Column:
    """Nullable numbers, and what Arrow holds for pandas."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if hasattr(values.dtype, "pyarrow_dtype"):
        kind = str(values.dtype.pyarrow_dtype)
        if kind.startswith("timestamp") or kind.startswith("date") or kind.startswith("duration"):
            if "tz=" in kind:
                return _pandas_column(name, values.astype(f"datetime64[ns, {values.dtype.pyarrow_dtype.tz}]"))
            return _numpy_column(name, values.astype("datetime64[ns]").to_numpy())
        if "string" in kind or kind.startswith("dictionary"):
            return _pandas_column(name, values.astype("str"))
        if kind.startswith("decimal"):
            raise FormatError(f"frame: column '{name}': expected numbers, text or times, found decimal: convert it")
    if is_bool_dtype(values.dtype) or is_numeric_dtype(values.dtype):
        return _arrow.numbers(name, values.to_numpy(np.float64, na_value=np.nan))
    raise FormatError(f"frame: column '{name}': expected numbers, text or times, found {values.dtype}")


# ---- arrays ----

def columns_of_array(values: Any, times: Any = None, variables: Sequence[str] | None = None,
                     entities: Sequence[Any] | None = None, mask: Any = None) -> list[Column]:
    """[times], [times,variables] or [entities,times,variables]; where mask is true a value is left out."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values) if mask is None else mask | np.ma.getmaskarray(values)
        values = values.data
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise FormatError(f"array: expected numbers, found {values.dtype}")
    if values.ndim < 1 or values.ndim > 3:
        raise FormatError(f"array: expected [times], [times,variables] or [entities,times,variables], "
                          f"found shape {list(values.shape)}")
    if mask is not None:
        mask = np.asarray(mask, bool)
        if mask.shape != values.shape:
            raise FormatError(f"mask: expected the shape of the array {list(values.shape)}, found {list(mask.shape)}")
        values = np.where(mask, np.nan, values)
    values = values[None, :, None] if values.ndim == 1 else values[None] if values.ndim == 2 else values
    n_entities, n_times, n_variables = values.shape
    names = [f"x{i}" for i in range(n_variables)] if variables is None else [str(name) for name in variables]
    if len(names) != n_variables:
        raise FormatError(f"variables: expected {n_variables} names, found {len(names)}")
    wide = len(str(max(n_entities - 1, 0)))  # panels keep entities in the order of their names
    who = [str(i).zfill(wide) for i in range(n_entities)] if entities is None else [str(name) for name in entities]
    if len(who) != n_entities:
        raise FormatError(f"entities: expected {n_entities} names, found {len(who)}")
    when = np.arange(n_times) if times is None else np.asarray(times)
    if when.shape not in ((n_times,), (n_entities, n_times)):
        raise FormatError(f"times: expected [{n_times}] or [{n_entities},{n_times}], found {list(when.shape)}")
    made = [_numpy_column("time", np.broadcast_to(when, (n_entities, n_times)).reshape(-1))]
    if entities is not None or n_entities > 1:
        made.insert(0, _arrow.words("entity", np.repeat(np.arange(n_entities, dtype=np.int32), n_times), who))
    flat = values.reshape(n_entities * n_times, n_variables)
    return made + [_arrow.numbers(name, flat[:, i]) for i, name in enumerate(names)]


# ---- small frames as files, for options that take one ----

def write_csv(data: Any, file: Any) -> None:
    import csv

    if hasattr(data, "to_csv"):
        file.write(data.to_csv(index=False))
        return
    if hasattr(data, "write_csv"):
        file.write(data.write_csv())
        return
    if not isinstance(data, Mapping):
        import pyarrow

        data = pyarrow.table(data).to_pydict()
    writer = csv.writer(file)
    writer.writerow(data.keys())
    writer.writerows(zip(*data.values()))
