"""Random frames are read or refused, and never bring the process down."""
import os

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import llapdiff

EXAMPLES = int(os.environ.get("LLAP_FRAMES", "300"))

NAMES = st.sampled_from(["time", "ds", "id", "unique_id", "y", "x", "value", "variable", "Date", "Time", "", "a b", "ü"])
TYPES = st.sampled_from([
    pa.int8(), pa.uint8(), pa.int32(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(),
    pa.string(), pa.large_string(), pa.string_view(), pa.null(), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Rome"), pa.timestamp("ns"),
    pa.duration("ms"), pa.decimal128(9, 2), pa.binary(), pa.list_(pa.int8()), pa.struct({"a": pa.int8()}),
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.float64()), pa.dictionary(pa.int16(), pa.timestamp("s")),
])
TEXTS = st.one_of(st.sampled_from(["a", "b", "1", "2.5", "-9999", "2024-01-01", "2024-01-01T00:00:00Z", "", "NA", "10/03/2004"]),
                  st.text(max_size=6))


def numbers(draw, kind, n):
    """n values of a type, as Arrow makes them of raw bits, with nulls."""
    if pa.types.is_dictionary(kind):
        size = draw(st.integers(1, 4))
        values = numbers(draw, kind.value_type, size)
        index = draw(st.lists(st.one_of(st.none(), st.integers(0, size - 1)), min_size=n, max_size=n))
        return pa.DictionaryArray.from_arrays(pa.array(index, kind.index_type), values)
    none = st.none()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return pa.array(draw(st.lists(st.one_of(none, TEXTS), min_size=n, max_size=n)), kind)
    if pa.types.is_null(kind):
        return pa.nulls(n)
    if pa.types.is_list(kind) or pa.types.is_struct(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        return pa.nulls(n, kind)
    if pa.types.is_boolean(kind):
        return pa.array(draw(st.lists(st.one_of(none, st.booleans()), min_size=n, max_size=n)), kind)
    if pa.types.is_floating(kind):
        floats = st.one_of(none, st.floats(width=16), st.sampled_from([-9999.0, 0.0, 1.0, 1e4]))
        values = draw(st.lists(floats, min_size=n, max_size=n))
        return pa.array(np.array([np.nan if v is None else v for v in values], kind.to_pandas_dtype()), kind)
    bits = kind.bit_width
    unsigned = kind in (pa.uint8(), pa.uint64())
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if kind == pa.time32("s"):
        low, high = 0, 86399
    near = st.integers(max(low, -5), min(high, 10**6))
    values = draw(st.lists(st.one_of(none, near, st.integers(low, high)), min_size=n, max_size=n))
    storage = pa.array(values, getattr(pa, ("u" if unsigned else "") + f"int{bits}")())
    return pa.Array.from_buffers(kind, n, storage.buffers(), storage.null_count)


@st.composite
def tables(draw):
    n = draw(st.integers(0, 12))
    names = draw(st.lists(NAMES, min_size=1, max_size=5))
    columns = [numbers(draw, draw(TYPES), n) for _ in names]
    table = pa.Table.from_arrays(columns, names)
    if n > 1 and draw(st.booleans()):
        cut = draw(st.integers(1, n - 1))
        table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    return table


OPTIONS = st.fixed_dictionaries({}, optional={
    "form": st.sampled_from(["wide", "long"]), "words": st.sampled_from(["ignore", "code", "error"]),
    "duplicates": st.sampled_from(["last", "error"]), "zone": st.sampled_from(["Europe/Rome", "+05:30"]),
    "entity": st.sampled_from(["", "id", "x"]), "time": st.sampled_from(["time", "ds", "Date+Time"]),
    "grid": st.sampled_from(["auto", "1h"]), "circular": st.just("x"), "coded": st.just("x"), "bad": st.just("missing"),
    "missing": st.just("a,1"), "time_format": st.sampled_from(["number", "epoch", "%Y"]),
})


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tables(), OPTIONS)
@example(pa.table({"time": pa.array(["\n", None])}), {"time_format": "number"})
def test_random_frames_are_read_or_refused(table, options):
    try:
        made = llapdiff.panel(table, **options)
    except llapdiff.Error as refused:
        assert str(refused) and "\n" not in str(refused)
        return
    assert made.values.shape == (made.n_rows, len(made.variables))
    for e in range(len(made.entities)):
        assert (np.diff(made._ticks()[made.first[e]:made.first[e + 1]]) > 0).all()
    made.inspect()


CELLS = st.one_of(st.none(), st.integers(-5, 5), st.floats(allow_nan=True), TEXTS, st.booleans(), st.datetimes(), st.binary(max_size=3),
                  st.lists(st.integers(), max_size=1))


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(NAMES, st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4))
def test_random_dicts_are_read_or_refused(columns):
    try:
        llapdiff.panel(columns)
    except (llapdiff.Error, TypeError, OverflowError) as refused:
        assert str(refused) and "\n" not in str(refused)
