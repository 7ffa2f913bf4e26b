"""Panels: what was measured, as the library holds it."""
from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrow
from ._data import columns_of, columns_of_array, is_pandas, is_path
from ._lib import UnsupportedError, check, error, ffi, lib, names, sink, take_text
from ._memory import view
from ._options import Options
from ._table import Axis, Table, Times, Words


class Panel:
    """What was measured: entities, each with its own rows at its own times, a value or hole for each variable.

    Made by `panel`, `read` or `demo`; every function that takes data takes one. Immutable.
    """

    __slots__ = ("_c", "_view", "__weakref__")

    def __init__(self, pointer: Any):
        self._c = ffi.gc(pointer, lib.llap_panel_destroy)
        self._view: Any = None

    @property
    def _columns(self) -> Any:
        """What lies in memory. All rows of a packed panel are looked at before: once, when somebody asks."""
        if self._view is None:
            shown = lib.llap_panel_view(self._c)
            if shown == ffi.NULL:
                raise error(lib.LLAP_EFORMAT)
            self._view = shown
        return self._view

    @classmethod
    def from_numpy(cls, values: Any, times: Any = None, *, variables: Sequence[str] | None = None,
                   entities: Sequence[Any] | None = None, mask: Any = None, **options: Any) -> Panel:
        """An array `[times]`, `[times, variables]` or `[entities, times, variables]`.

        NaN is missing, and what `mask` marks. `times` are `datetime64` or numbers, one list for all or one for each
        entity; 0, 1, ... where none are given.

        >>> import numpy as np, llapdiff
        >>> llapdiff.Panel.from_numpy(np.ones((2, 5, 1)), variables=["load"])
        Panel: 2 entities, 1 variables, 10 rows, 100 % observed
        """
        columns = columns_of_array(values, times, variables, entities, mask)
        options.setdefault("codes", "keep")
        options.setdefault("form", "wide")
        options.setdefault("time", "time")
        options.setdefault("entity", "entity" if columns[0].name == "entity" else "")
        when = next(column for column in columns if column.name == "time")
        if when.dictionary is None and not when.format.startswith("t"):
            options.setdefault("time_format", "number")
        return _from_stream(_arrow.stream(columns), options)

    @property
    def entities(self) -> list[str]:
        """Their names, sorted."""
        return names(self._columns.entities, self._columns.n_entities)

    @property
    def variables(self) -> list[str]:
        """Their names, in the order of `values`."""
        return names(self._columns.variables, self._columns.n_variables)

    @property
    def n_rows(self) -> int:
        """How many rows all entities have together."""
        return int(self._columns.n_rows)

    @property
    def axis(self) -> Axis:
        """What its times mean: whether they are calendar times, their zone, the unit of numbers in nanoseconds."""
        return Axis.of(self._columns.axis)

    @property
    def values(self) -> np.ndarray:
        """[rows, variables] float32, NaN where missing; the library's own memory, read-only."""
        return view(self, self._columns.value, (self.n_rows, int(self._columns.n_variables)), "<f4")

    @property
    def times(self) -> np.ndarray:
        """[rows] datetime64[ns] in UTC, or numbers."""
        return self.axis.decode(self._ticks())

    @property
    def first(self) -> np.ndarray:
        """[entities + 1] rows of entity e: first[e] .. first[e + 1] - 1."""
        return view(self, self._columns.first, int(self._columns.n_entities) + 1, "<i8")

    def _ticks(self) -> np.ndarray:
        return view(self, self._columns.time, self.n_rows, "<i8")

    def table(self) -> Table:
        """The rows as a table: entity, time, the variables."""
        codes = np.repeat(np.arange(len(self.entities), dtype=np.int32), np.diff(self.first))
        columns: dict[str, Any] = {"entity": Words(codes, self.entities), "time": Times(self._ticks(), self.axis)}
        for i, name in enumerate(self.variables):
            columns[name] = self.values[:, i]
        return Table(columns)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame: entity, time, the variables."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """A polars.DataFrame."""
        return self.table().to_polars()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table().__arrow_c_stream__(requested_schema)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes CSV; `read` gives the panel back."""
        check(lib.llap_panel_write(self._c, os.fsencode(path)))

    def inspect(self) -> Inspection:
        """What it is like: span, gaps, coverage, suggestions."""
        return Inspection(self)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        cells = self.values
        observed = 100 * np.count_nonzero(~np.isnan(cells)) / cells.size if cells.size else 0
        return (f"Panel: {self._columns.n_entities} entities, {self._columns.n_variables} variables, "
                f"{self.n_rows} rows, {observed:.0f} % observed")

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>" + self.table()._repr_html_()

    def __reduce__(self) -> Any:
        c = self._columns
        axis = (int(c.axis.kind), *(ffi.string(t).decode() for t in (c.axis.zone, c.axis.format, c.axis.unit)),
                int(c.axis.unit_ns))
        who = np.repeat(np.arange(int(c.n_entities)), np.diff(self.first))
        return _from_arrays, (self.entities, self.variables, who, np.array(self._ticks()), np.array(self.values), axis)

    def __copy__(self) -> Panel:
        return self

    def __deepcopy__(self, memo: Any) -> Panel:
        return self


def _from_arrays(entities: list[str], variables: list[str], who: np.ndarray, ticks: np.ndarray, values: np.ndarray,
                 axis: tuple[int, str, str, str, int]) -> Panel:
    texts = [ffi.new("char[]", name.encode()) for name in entities]
    labels = [ffi.new("char[]", name.encode()) for name in variables]
    said = [ffi.new("char[]", t.encode()) for t in axis[1:4]]
    meaning = ffi.new("llap_time_axis *", {"kind": axis[0], "zone": said[0], "format": said[1], "unit": said[2],
                                           "unit_ns": axis[4]})
    rows = ffi.new("llap_arrays *")
    values = np.ascontiguousarray(values, np.float32)
    ticks = np.ascontiguousarray(ticks, np.int64)
    pointers = ffi.new("char *[]", [texts[i] for i in who] or [ffi.NULL])
    var = ffi.new("char *[]", labels)
    rows.n_rows, rows.n_vars, rows.var, rows.entity = len(ticks), len(labels), var, pointers
    rows.time = ffi.cast("int64_t *", ticks.ctypes.data)
    rows.value = ffi.cast("float *", values.ctypes.data)
    rows.axis = meaning
    out = ffi.new("llap_panel **")
    check(lib.llap_panel_from_arrays(rows, out))
    return Panel(out[0])


class Inspection(dict[str, Any]):
    """What a panel is like, as a dict; printed, as the program says it."""

    def __init__(self, panel: Panel):
        out = ffi.new("char **")
        check(lib.llap_panel_inspect(panel._c, 1, out))
        super().__init__(json.loads(take_text(out)))
        check(lib.llap_panel_inspect(panel._c, 0, out))
        self._text = take_text(out)

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self._text)}</pre>"


def _from_stream(stream: Any, options: Mapping[str, Any], levels: Any = None) -> Panel:
    out = ffi.new("llap_panel **")
    try:
        how = Options("read", options)
    except BaseException:
        if stream.release:
            stream.release(stream)
        raise
    with how:
        how.struct.log = sink()
        how.struct.levels = levels or ffi.NULL
        check(lib.llap_panel_from_arrow(stream, how.struct, out))
    return Panel(out[0])


def read(paths: Any, **options: Any) -> Panel:
    """Reads CSV files, plain or gzip, or a database by its address (`sqlite:FILE?table=NAME`); options are those of the
    program (`entity`, `time`, `grid`, ...).

    >>> import llapdiff, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "small.csv")
    >>> _ = open(path, "w").write("id,time,x\\na,2024-01-01,1\\na,2024-01-02,2\\n")
    >>> llapdiff.read(path)
    Panel: 1 entities, 1 variables, 2 rows, 100 % observed
    """
    return _read(paths, options)


def _read(paths: Any, options: Mapping[str, Any], levels: Any = None) -> Panel:
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    texts = [ffi.new("char[]", os.fsencode(path)) for path in listed]
    out = ffi.new("llap_panel **")
    with Options("read", options) as how:
        how.struct.log = sink()
        how.struct.levels = levels or ffi.NULL
        check(lib.llap_panel_read(ffi.new("char *[]", texts), len(texts), how.struct, out))
    return Panel(out[0])


def panel(data: Any, **options: Any) -> Panel:
    """Makes a panel of data: a frame (pandas, polars, pyarrow, DuckDB, anything with `__arrow_c_stream__`), a dict of
    columns, a NumPy array, an xarray, the path of a CSV file, or a panel itself.

    What the columns are is found out by names and content, as of CSV files; options tell: `entity`, `time`, `zone`,
    `columns`, `drop`, `grid`, ... A frame may be wide (a row per time) or long (a row per value).

    >>> import llapdiff
    >>> llapdiff.panel({"unique_id": ["a", "a", "b"], "ds": ["2024-01-01", "2024-01-02", "2024-01-01"], "y": [1, 2, None]})
    Panel: 2 entities, 1 variables, 3 rows, 67 % observed
    """
    return make(data, options)


def make(data: Any, options: Mapping[str, Any], levels: Any = None) -> Panel:
    """As `panel`; words get the codes that training gave them, where the levels of a model are there."""
    if isinstance(data, Panel):
        if options:
            raise TypeError(f"a Panel is read already: {', '.join(options)} cannot be given")
        return data
    if is_path(data):
        return _read(data, options, levels)
    if hasattr(data, "__arrow_c_stream__") and not is_pandas(data):
        taken = data.__arrow_c_stream__()  # the capsule owns the stream until the call is over
        return _from_stream(_arrow.stream_of(taken), options, levels)
    if not isinstance(data, np.ndarray) and hasattr(data, "__dlpack__") and not hasattr(data, "columns"):
        data = np.from_dlpack(data)
    if isinstance(data, np.ndarray) and not data.dtype.names:
        return Panel.from_numpy(data, **options)
    return _from_stream(_arrow.stream(columns_of(data)), options, levels)


def pack(data: Any, to: str | os.PathLike[str], *, memory: int | None = None, shard_rows: int | None = None,
         **options: Any) -> Panel:
    """Sorts data of any size into a packed panel, the file `to` (with `shard_rows` a new folder), and opens it: its rows
    are mapped, not read, so that they may be larger than memory.

    `data` are paths of CSV or Parquet files (or a folder of Parquet), a `pyarrow.RecordBatchReader`, a
    `pyarrow.dataset`, a DuckDB relation, or whatever `panel` takes. Streams are read once, batch by batch; what exceeds
    `memory` (megabytes, 1000) is sorted on disk. Further options are those of `read`.

    >>> import llapdiff, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "set.panel")
    >>> llapdiff.pack({"id": ["b", "a", "a"], "time": [1, 2, 1], "x": [1.0, None, 3.0]}, path)
    Panel: 2 entities, 1 variables, 3 rows, 67 % observed
    """
    where = os.fsencode(to)
    if isinstance(data, np.ndarray) and not data.dtype.names:
        data, options = Panel.from_numpy(data, **options), {}
    with Options("pack", {"memory": memory, "shard_rows": shard_rows}) as how:
        paths = _paths(data)
        if paths and not all(map(_is_parquet, paths)):
            texts = [ffi.new("char[]", os.fsencode(path)) for path in paths]
            with Options("read", options) as reading:
                reading.struct.log = sink()
                check(lib.llap_panel_pack(ffi.new("char *[]", texts), len(texts), reading.struct, how.struct, where,
                                          ffi.NULL))
        else:
            stream, kept = _stream(data)
            try:
                reading = Options("read", options)
            except BaseException:
                if stream.release:
                    stream.release(stream)
                raise
            with reading:
                reading.struct.log = sink()
                check(lib.llap_panel_pack_arrow(stream, reading.struct, how.struct, where, ffi.NULL))
            del kept
    return read(to)


def _paths(data: Any) -> list[str]:
    """Of files and folders; [] of what is none."""
    return [os.fspath(path) for path in ([data] if isinstance(data, (str, os.PathLike)) else data)] if is_path(data) else []


def _is_parquet(path: str) -> bool:
    if os.path.isdir(path):
        return any(name.endswith(".parquet") for name in os.listdir(path))
    return path.endswith(".parquet")


def _stream(data: Any) -> tuple[Any, Any]:
    """A struct ArrowArrayStream of the rows, and what owns it until it is released."""
    if paths := _paths(data):
        try:
            import pyarrow.dataset
        except ImportError:
            raise UnsupportedError("Parquet files are read by pyarrow: pip install pyarrow") from None
        data = pyarrow.dataset.dataset(paths[0] if len(paths) == 1 else paths, format="parquet")
    if hasattr(data, "scanner"):  # a dataset of pyarrow: its batches as they are read
        data = data.scanner().to_reader()
    if hasattr(data, "__arrow_c_stream__") and not is_pandas(data):
        taken = data.__arrow_c_stream__()
        return _arrow.stream_of(taken), taken
    return _arrow.stream(columns_of(data)), None


def inspect(data: Any, **options: Any) -> Inspection:
    """What data is like: entities, span, gaps, coverage, what training might use.

    >>> import llapdiff
    >>> llapdiff.inspect(llapdiff.demo(rows=50))["entities"]
    6
    """
    return panel(data, **options).inspect()


def demo(**options: Any) -> Panel:
    """A made-up network of sensors to try things on: `kind` ("weather", "oscillators"), `entities`, `rows`, `seed`.

    >>> import llapdiff
    >>> llapdiff.demo(kind="weather", entities=2, rows=100).variables
    ['temperature (degC)', 'pressure (hPa)']
    """
    out = ffi.new("llap_panel **")
    with Options("demo", options) as how:
        check(lib.llap_panel_synth(how.struct, out))
    return Panel(out[0])
