"""Dask, Spark and Ray, as far as we need them: what a frame is like, and work on partitions whose keys are whole."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._table import Table
from ._work import Work

ROWS = 50_000  # of Spark's sorted partitions are asked about at a time, and what completes the last entity


# ---- answers as frames ----

def pandas_of(tables: list[Table], like: Any) -> Any:
    """One pandas frame with the columns and types of another, which is empty."""
    import pandas

    frames = [table.to_pandas() for table in tables]
    made = (pandas.concat(frames, ignore_index=True) if frames else like).reindex(columns=like.columns)
    for name, kind in like.dtypes.items():
        if kind.kind == "M":  # text without a zone is in UTC
            there = getattr(made[name].dtype, "tz", None)
            if there is None and getattr(kind, "tz", None) is not None:
                made[name] = made[name].astype("datetime64[ns]").dt.tz_localize("UTC")
            elif there is not None and getattr(kind, "tz", None) is None:
                made[name] = made[name].dt.tz_convert("UTC").dt.tz_localize(None)
        if kind.kind != "O":
            made[name] = made[name].astype(kind)
    return made


def arrow_of(tables: list[Table], schema: Any) -> Any:
    """One Arrow table of these columns; what a table lacks is null. Times lose what the unit has no room for."""
    import pyarrow as pa

    made = []
    for table in tables:
        lists = {name: table[name] for name, column in table._columns.items()
                 if not isinstance(column, tuple) and column.dtype.kind == "O"}
        rest = Table({name: c for name, c in table._columns.items() if name not in lists})
        given: Any = pa.table(rest) if len(rest) > 0 else None
        columns = []
        for name, kind in zip(schema.names, schema.types):
            columns.append(pa.nulls(table.n_rows, kind) if name not in table else
                           pa.array(lists[name], kind) if name in lists else
                           given.column(name).cast(kind, safe=not pa.types.is_timestamp(kind)))
        made.append(pa.table(columns, schema=schema))
    return pa.concat_tables(made) if made else schema.empty_table()


def schema_of(like: Any, unit: str) -> Any:
    """The Arrow schema of an empty pandas frame, times in a unit."""
    import pyarrow as pa

    fields = []
    for name, dtype in like.dtypes.items():
        zone = getattr(dtype, "tz", None)
        kind = (pa.timestamp(unit, None if zone is None else str(zone)) if dtype.kind == "M" else
                pa.float64() if dtype.kind == "f" else pa.int64() if dtype.kind in "iu" else
                pa.bool_() if dtype.kind == "b" else pa.binary() if name == "model" else pa.string())
        fields.append(pa.field(name, kind))
    return pa.schema(fields)


# ---- engines ----

class Engine:
    name = ""

    def __init__(self, frame: Any):
        self.frame = frame

    def columns(self) -> list[str] | None:
        """Their names; None where the engine would have to compute for it."""
        return list(self.frame.columns)

    def empty(self) -> Any:
        """A pandas frame of no rows with the frame's columns; None likewise."""
        raise NotImplementedError

    def run(self, work: Work, content: bytes | None, key: str, time: str, whole: bool, like: Any) -> Any:
        """A lazy frame of what work says; all rows of a value of key are in one call. like: an empty pandas frame."""
        raise NotImplementedError


def _of_part(part: Any, content: bytes | None, work: Work, like: Any) -> Any:
    return pandas_of([] if part.empty else work(part, content), like)


class Dask(Engine):
    name = "dask"

    def empty(self) -> Any:
        return self.frame._meta

    def run(self, work: Work, content: bytes | None, key: str, time: str, whole: bool, like: Any) -> Any:
        from dask import delayed

        frame = self.frame if whole else self.frame.shuffle(on=key)
        # a task of its own: its result goes to each worker once, not into every partition's task
        return frame.map_partitions(_of_part, delayed(content), work, like, meta=like)


def whole_groups(batches: Iterator[Any], key: str, rows: int) -> Iterator[Any]:
    """Arrow tables of whole groups, about so many rows each, of batches that are sorted by the key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept: list[Any] = []
    n, enough = 0, rows
    for batch in batches:
        if batch.num_rows == 0:
            continue
        kept.append(batch)
        n += batch.num_rows
        if n < enough:
            continue
        table = pa.Table.from_batches(kept)
        column = table.column(key)
        cut = pc.index(column, column[n - 1]).as_py() if column[n - 1].is_valid else 0
        if cut > 0:
            yield table.slice(0, cut)
            kept, n, enough = table.slice(cut).to_batches(), n - cut, rows
        else:
            enough = 2 * n  # one long entity: look again when there is twice as much of it
    if n > 0:
        yield pa.Table.from_batches(kept)


class Spark(Engine):
    name = "spark"

    def empty(self) -> Any:
        import pandas

        session = self.frame.sparkSession
        zone = session.conf.get("spark.sql.session.timeZone")
        kinds = {"timestamp": f"datetime64[us, {zone}]", "timestamp_ntz": "datetime64[us]", "date": "datetime64[s]",
                 "string": "object", "double": "float64", "float": "float32", "bigint": "int64", "int": "int32",
                 "smallint": "int16", "tinyint": "int8", "boolean": "bool"}
        return pandas.DataFrame({f.name: pandas.Series([], dtype=kinds.get(f.dataType.simpleString(), "object"))
                                 for f in self.frame.schema.fields})

    def run(self, work: Work, content: bytes | None, key: str, time: str, whole: bool, like: Any) -> Any:
        session = self.frame.sparkSession
        schema = schema_of(like, "us")
        try:
            sent = session.sparkContext.broadcast(content)
        except Exception:  # Spark Connect has no context: the bytes go with the task
            sent = _Value(content)

        names = list(self.frame.columns)
        short = [f"c{i}" for i in range(len(names))]  # Spark takes the dot of "PM2.5" for one between names
        by, then = short[names.index(key)], short[names.index(time)]

        def ask(batches: Iterator[Any]) -> Iterator[Any]:
            for table in whole_groups(batches, by, ROWS):
                yield from arrow_of(work(table.rename_columns(names), sent.value), schema).to_batches()

        frame = self.frame.toDF(*short)
        frame = frame if whole else frame.repartition(by)
        return frame.sortWithinPartitions(by, then).mapInArrow(ask, _spark_schema(schema))


class _Value:
    def __init__(self, value: Any):
        self.value = value


def _spark_schema(schema: Any) -> Any:
    import pyarrow as pa
    from pyspark.sql import types as of

    def kind(t: Any) -> Any:
        if pa.types.is_timestamp(t):
            return of.TimestampType() if t.tz is not None else of.TimestampNTZType()
        return {pa.float64(): of.DoubleType(), pa.int64(): of.LongType(), pa.bool_(): of.BooleanType(),
                pa.binary(): of.BinaryType()}.get(t, of.StringType())

    return of.StructType([of.StructField(f.name, kind(f.type)) for f in schema])


class Ray(Engine):
    name = "ray"

    def columns(self) -> list[str] | None:
        known = self.frame.schema(fetch_if_missing=False)
        return None if known is None else list(known.names)

    def empty(self) -> Any:
        import pandas

        known = self.frame.schema(fetch_if_missing=False)
        known = None if known is None else known.base_schema
        if known is None:  # of a dataset that is itself computed: Ray looks at its first rows
            known = self.frame.schema().base_schema
        if hasattr(known, "empty_table"):
            return known.empty_table().to_pandas()
        return pandas.DataFrame({name: pandas.Series([], dtype=t) for name, t in zip(known.names, known.types)})

    def run(self, work: Work, content: bytes | None, key: str, time: str, whole: bool, like: Any) -> Any:
        import ray

        schema = schema_of(like, "ns")
        sent = ray.put(content)

        def ask(table: Any) -> Any:
            return arrow_of([] if table.num_rows == 0 else work(table, ray.get(sent)), schema)

        if whole:
            return self.frame.map_batches(ask, batch_size=None, batch_format="pyarrow")
        return self.frame.groupby(key).map_groups(ask, batch_format="pyarrow")


class Plain(Engine):
    """A frame in memory: pandas as it is, others through Arrow."""

    name = "plain"

    def columns(self) -> list[str] | None:
        return list(self.frame.column_names if hasattr(self.frame, "column_names") else self.frame.columns)

    def empty(self) -> Any:
        return self.frame.iloc[:0] if hasattr(self.frame, "iloc") else self._arrow().schema.empty_table().to_pandas()

    def _arrow(self) -> Any:
        import pyarrow as pa

        table = pa.table(self.frame)
        # polars has views of strings, which Arrow can neither sort nor take rows of
        return table.cast(pa.schema([field.with_type(pa.large_string()) if field.type == pa.string_view() else field
                                     for field in table.schema]))

    def run(self, work: Work, content: bytes | None, key: str, time: str, whole: bool, like: Any) -> Any:
        if hasattr(self.frame, "iloc"):
            return _of_part(self.frame, content, work, like)
        made = arrow_of(work(self._arrow(), content), schema_of(like, "ns"))
        if type(self.frame).__module__.startswith("polars"):
            import polars

            return polars.from_arrow(made)
        return made


def engine_of(frame: Any, plain: bool = False) -> Engine:
    home = type(frame).__module__
    for module, engine in (("dask", Dask), ("pyspark.sql", Spark), ("ray.data", Ray)):
        if home.startswith(module) and (engine is not Dask or hasattr(frame, "map_partitions")):
            return engine(frame)
    if plain and (hasattr(frame, "iloc") or hasattr(frame, "__arrow_c_stream__")):
        return Plain(frame)
    wanted = "a dask.dataframe, a pyspark.sql.DataFrame or a ray.data.Dataset" + (", or a frame" if plain else "")
    raise TypeError(f"frame: expected {wanted}, found {type(frame).__name__}")
