"""Results as tables: columns of NumPy, handed over to pandas, polars, pyarrow and whoever reads Arrow."""
from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _arrow
from ._lib import lib, text


def quantile_name(q: float) -> str:
    """The column of a quantile, as the program writes it: q0.1."""
    return f"q{float(q)!r}"


class Words(NamedTuple):
    """Texts by their places in a list."""

    codes: np.ndarray
    names: list[str]


class Axis(NamedTuple):
    """What the times of a table mean."""

    calendar: bool
    zone: str
    unit_ns: int

    @classmethod
    def of(cls, axis: Any) -> Axis:
        return cls(axis.kind == lib.LLAP_TIME_CALENDAR, text(axis.zone), axis.unit_ns)

    def decode(self, ticks: np.ndarray) -> np.ndarray:
        """datetime64[ns] in UTC, or plain numbers."""
        if self.calendar:
            return ticks.view("datetime64[ns]")
        whole = ticks // self.unit_ns
        return whole if np.array_equal(whole * self.unit_ns, ticks) else ticks / self.unit_ns


class Times(NamedTuple):
    """Times as they are in a panel."""

    ticks: np.ndarray
    axis: Axis


class Table:
    """A result: columns of NumPy by name.

    `dict(table)` and `table["mean"]` are NumPy; `to_pandas()`, `to_polars()` and `to_arrow()` are frames. Times are
    `datetime64[ns]` in UTC here, and have their zone in frames.
    """

    _columns: dict[str, Any]

    def __init__(self, columns: Mapping[str, Any]):
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise KeyError(f"no column '{name}'; there are {', '.join(self._columns)}")
        column = self._columns[name]
        if isinstance(column, Words):
            return np.asarray(column.names, dtype=object)[column.codes] if column.names else np.empty(0, object)
        return column.axis.decode(column.ticks) if isinstance(column, Times) else column

    def keys(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def n_rows(self) -> int:
        """How many rows; `len` is the number of columns."""
        for column in self._columns.values():
            return len(column[0] if isinstance(column, tuple) else column)
        return 0

    def _arrow_columns(self) -> list[_arrow.Column]:
        out = []
        for name, column in self._columns.items():
            if isinstance(column, Words):
                out.append(_arrow.words(name, column.codes, column.names))
            elif isinstance(column, Times) and column.axis.calendar:
                out.append(_arrow.times(name, column.ticks.view("datetime64[ns]"), column.axis.zone))
            elif self[name].dtype.kind == "O":
                texts = sorted(set(self[name]))
                places = {text: i for i, text in enumerate(texts)}
                codes = np.fromiter((places[text] for text in self[name]), np.int32, self.n_rows)
                out.append(_arrow.words(name, codes, texts))
            else:
                out.append(_arrow.numbers(name, self[name]))
        return out

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _arrow.capsule(self._arrow_columns())

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        import pandas

        columns: dict[str, Any] = {}
        for name, column in self._columns.items():
            columns[name] = self[name]
            if isinstance(column, Times) and column.axis.calendar and column.axis.zone:
                columns[name] = pandas.DatetimeIndex(self[name]).tz_localize("UTC").tz_convert(column.axis.zone)
        return pandas.DataFrame(columns)

    def to_polars(self) -> Any:
        """A polars.DataFrame."""
        import polars

        columns = {name: Times(c.ticks, c.axis._replace(zone="UTC"))  # polars knows no +08:00
                   if isinstance(c, Times) and c.axis.zone[:1] in ("+", "-") else c for name, c in self._columns.items()}
        return polars.DataFrame(Table(columns))

    def to_arrow(self) -> Any:
        """A pyarrow.Table."""
        import pyarrow

        return pyarrow.table(self)

    def _cells(self, n: int) -> list[list[str]]:
        def show(x: Any) -> str:
            if isinstance(x, (float, np.floating)):
                return f"{x:.6g}"
            return str(x).replace(".000000000", "")

        shown = [[show(x) for x in self[name][:n]] for name in self._columns]
        return [list(row) for row in zip(*shown)]

    def __reduce__(self) -> Any:
        """The columns travel; what else a result can do belongs to the memory it was made in."""
        return Table, (dict(self._columns),)

    def _title(self) -> str:
        return f"{type(self).__name__}: {self.n_rows} rows"

    def __repr__(self) -> str:
        rows = [list(self._columns), *self._cells(8)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self._columns))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
        return "\n".join([self._title(), *lines, *(["..."] if self.n_rows > 8 else [])])

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self._cells(8))
        more = "<p>&hellip;</p>" if self.n_rows > 8 else ""
        return (f"<div><b>{html.escape(self._title())}</b><table><thead>{row(list(self._columns), 'th')}</thead>"
                f"<tbody>{body}</tbody></table>{more}</div>")
