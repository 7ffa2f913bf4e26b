"""Whatever holds rows becomes the panel that the same CSV becomes."""
import datetime
import decimal
import gc
import pickle
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import llapdiff
from llapdiff import _arrow

try:
    import polars as pl
except ImportError:  # no wheels for Python without the GIL
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        raise
    pl = None

ROWS = {
    "id": ["a", "a", "b", "b"],
    "time": ["2024-01-01T00:00:00", "2024-01-01T01:00:00", "2024-01-01T00:30:00", "2024-01-01T01:30:00"],
    "x": [1.5, None, 3.0, 4.0],
    "n": [1, 2, None, 4],
}


def naive():
    return pd.DataFrame({**ROWS, "time": pd.to_datetime(ROWS["time"])})


@pytest.fixture
def expected(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id,time,x,n\n" + "".join(
        f"{i},{t},{'' if x is None else x},{'' if n is None else n}\n" for i, t, x, n in zip(*ROWS.values())))
    return llapdiff.read(path)


def same(a, b):
    assert a.entities == b.entities and a.variables == b.variables
    assert np.array_equal(a.times, b.times) and a.axis == b.axis
    assert np.array_equal(a.values, b.values, equal_nan=True)


FRAMES = {
    "pandas": naive,
    "pandas, index": lambda: naive().set_index("time"),
    "pandas, two levels": lambda: naive().set_index(["id", "time"]),
    "pandas, categories": lambda: naive().astype({"id": "category"}),
    "pandas, nullable": lambda: naive().astype({"n": "Int64", "x": "Float32"}),
    "pandas, seconds": lambda: naive().astype({"time": "datetime64[s]"}),
    "pandas, arrow": lambda: pa.table(naive()).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, periods": lambda: naive().assign(time=lambda f: f["time"].dt.to_period("min")),
    "pandas, objects": lambda: naive().astype(object),
    "polars": lambda: pl.DataFrame(naive()),
    "polars, categories": lambda: pl.DataFrame(naive()).with_columns(pl.col("id").cast(pl.Categorical)),
    "polars, chunks": lambda: pl.concat([pl.DataFrame(naive())[:1], pl.DataFrame(naive())[1:]], rechunk=False),
    "pyarrow": lambda: pa.table(naive()),
    "pyarrow, large text": lambda: pa.table(naive()).set_column(0, "id", pa.array(ROWS["id"], pa.large_string())),
    "pyarrow, views": lambda: pa.table(naive()).set_column(0, "id", pa.array(ROWS["id"], pa.string_view())),
    "pyarrow, batches": lambda: pa.table(naive()).to_reader(max_chunksize=1),
    "dict": lambda: ROWS,
    "dict of arrays": lambda: {**ROWS, "time": np.array(ROWS["time"], "datetime64[ms]"),
                               "x": np.ma.masked_array([1.5, 0, 3, 4], [0, 1, 0, 0])},
    "dict of datetimes": lambda: {**ROWS, "time": [datetime.datetime.fromisoformat(t) for t in ROWS["time"]]},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_become_the_panel_of_their_csv(kind, expected):
    if kind.startswith("polars") and pl is None:
        pytest.skip("no polars")
    same(llapdiff.panel(FRAMES[kind]()), expected)


def test_duckdb(expected):
    duckdb = pytest.importorskip("duckdb")
    rows = naive()  # noqa: F841, found by its name
    same(llapdiff.panel(duckdb.sql("select * from rows")), expected)


def test_xarray():
    xarray = pytest.importorskip("xarray")
    ds = xarray.Dataset({"x": (("station", "time"), np.arange(6.0).reshape(2, 3))},
                        {"station": ["a", "b"], "time": pd.date_range("2024-01-01", periods=3, freq="h")})
    made = llapdiff.panel(ds)
    assert made.entities == ["a", "b"] and made.variables == ["x"] and made.n_rows == 6


def test_xarray_by_the_cf_conventions():
    """Undecoded times and fill values, names of stations in a variable of their own, coordinates, bounds."""
    xarray = pytest.importorskip("xarray")
    hours = np.arange(4)
    values = np.array([[20.0, 21, -9.5, 23], [10, 11, 12, 13]])
    ds = xarray.Dataset(
        {"t2m": (("station", "time"), values, {"_FillValue": -9.5, "units": "degC", "coordinates": "lat lon"}),
         "height": (("station",), [100.0, 200.0]), "time_bnds": (("time", "nv"), np.stack([hours, hours + 1], 1)),
         "station_name": (("station",), ["Roma", "Oslo"], {"cf_role": "timeseries_id"})},
        {"time": ("time", hours, {"units": "hours since 2024-01-01", "standard_name": "time"}),
         "lat": (("station",), [41.9, 59.9]), "lon": (("station",), [12.5, 10.7])}, {"featureType": "timeSeries"})
    made = llapdiff.panel(ds)
    assert made.entities == ["Oslo", "Roma"] and made.variables == ["t2m"]
    assert np.isnan(made.values[6, 0]) and made.values[4, 0] == 20
    assert made.times[1] == np.datetime64("2024-01-01T01")
    one = llapdiff.panel(ds["t2m"].isel(station=0, drop=True))
    assert one.n_rows == 4 and one.variables == ["t2m"]
    with pytest.raises(llapdiff.FormatError, match="expected variables over the time, found height"):
        llapdiff.panel(xarray.decode_cf(ds)[["height", "time"]])


def test_long_frames(expected):
    long = naive().melt(["id", "time"]).rename(columns={"id": "entity"})
    made = llapdiff.panel(long)
    assert made.variables == ["n", "x"]  # sorted, as of long files
    assert np.array_equal(made.values[:, ::-1], expected.values, equal_nan=True)


def test_nixtla_names():
    made = llapdiff.panel(pd.DataFrame({"unique_id": ["s1", "s1", "s2"], "ds": [1, 2, 1], "y": [1.0, 2.0, 3.0]}))
    assert made.entities == ["s1", "s2"] and made.variables == ["y"]
    assert made.times.tolist() == [1, 2, 1]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Rome", "+05:30"])
def test_zones_stay(zone):
    stamps = pd.date_range("2024-03-30 22:00", periods=6, freq="h", tz="UTC").tz_convert(zone)
    frame = pd.DataFrame({"time": stamps, "x": range(6)})
    for data in (frame, pa.table(frame)):
        made = llapdiff.panel(data)
        assert made.axis.zone == zone
        assert (made.to_pandas()["time"] == stamps).all()
        assert pl is None or made.to_polars()["time"].dtype == pl.Datetime("ns", "UTC" if zone[0] == "+" else zone)
        assert pa.table(made).schema.field("time").type.tz == zone


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "25s"])
def test_times_of_every_unit(unit):
    times = np.array(["1990-01-01", "2031-01-01"], f"datetime64[{unit}]")
    made = llapdiff.panel({"time": times, "x": [1.0, 2.0]})
    assert (made.times == times.astype("datetime64[ns]")).all()


def test_zones_that_are_none():
    import dateutil.tz

    stamps = pd.DatetimeIndex(["2024-07-01 12:00"])
    for zone, name in (("Europe/Nowhere", "Europe/Nowhere"), (7, "7")):
        with pytest.raises(llapdiff.Error, match=name):
            llapdiff.panel({"time": np.array(stamps), "x": [1.0]}, zone=zone)
    theirs = stamps.tz_localize(dateutil.tz.gettz("Europe/Rome"))
    assert llapdiff.panel(pd.DataFrame({"x": [1.0]}, theirs)).times[0] == np.datetime64("2024-07-01T10:00")


def test_zone_of_clocks_without_one():
    frame = pd.DataFrame({"time": pd.to_datetime(["2024-07-01 12:00"]), "x": [1]})
    assert llapdiff.panel(frame, zone="Europe/Rome").times[0] == np.datetime64("2024-07-01T10:00")
    spring = pd.DataFrame({"time": pd.to_datetime(["2024-03-31 02:30"]), "x": [1]})
    with pytest.raises(llapdiff.FormatError, match="frame:1: column 1 'time'"):
        llapdiff.panel(spring, zone="Europe/Rome")


def test_arrays():
    values = np.arange(24, dtype=float).reshape(2, 4, 3)
    values[0, 1, 2] = np.nan
    mask = np.zeros((2, 4, 3), bool)
    mask[1, 0, 0] = True
    made = llapdiff.panel(values, mask=mask, variables=["a", "b", "c"])
    assert made.entities == ["0", "1"] and made.n_rows == 8
    cells = made.values.reshape(2, 4, 3)
    assert np.isnan(cells[0, 1, 2]) and np.isnan(cells[1, 0, 0]) and cells[1, 3, 2] == 23
    one = llapdiff.panel(np.arange(5.0), times=np.arange("2024-01-01", "2024-01-06", dtype="datetime64[D]"))
    assert one.entities == ["series"] and one.variables == ["x0"] and one.n_rows == 5
    texts = llapdiff.panel(np.arange(2.0), times=["2024-01-01", "2024-01-02"])
    assert texts.times.tolist() == one.times[:2].tolist()
    assert llapdiff.panel(np.arange(3.0), times=np.array([3, 5, 9], np.int16)).times.tolist() == [3, 5, 9]
    # -9999 in an array is a number
    assert np.nanmin(llapdiff.panel(np.array([1.0, -9999, -9999, -9999, 2])).values) == -9999


def test_dlpack():
    class Tensor:  # what torch, jax and cupy offer
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **how):
            return self.a.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    assert llapdiff.panel(Tensor(np.ones((4, 2)))).n_rows == 4
    assert llapdiff.panel({"time": [1, 2], "x": Tensor(np.ones(2))}).n_rows == 2


def test_a_panel_is_its_own_panel(data):
    assert llapdiff.panel(data) is data
    with pytest.raises(TypeError, match="grid"):
        llapdiff.panel(data, grid="1h")


def test_panels_travel(data):
    again = pickle.loads(pickle.dumps(data))
    same(again, data)
    same(llapdiff.panel(data.to_pandas()), data)
    if pl:
        same(llapdiff.panel(data.to_polars()), data)
    same(llapdiff.panel(pa.table(data)), data)


def test_options_of_files_hold_for_frames():
    frame = naive().assign(wind=[0.0, 90, 180, 270], note=list("uvwu"))
    made = llapdiff.panel(frame, circular="wind", coded=["note"], drop="n", columns=None)
    assert made.variables == ["x", "wind_sin", "wind_cos", "note"]
    gridded = llapdiff.panel(naive(), grid="1h", bin="floor")
    assert set(np.diff(gridded.times[:2])) == {np.timedelta64(1, "h")}


BAD = {
    "no time": (lambda: pd.DataFrame({"x": [1.0]}), ValueError, "no time column"),
    "decimals": (lambda: pa.table({"time": [1, 2], "x": pa.array([1, 2], pa.decimal128(5, 1))}), ValueError, "decimal"),
    "decimal objects": (lambda: {"time": [1, 2], "x": [decimal.Decimal(1), decimal.Decimal(2)]}, ValueError, "decimal"),
    "lists": (lambda: pd.DataFrame({"time": [1, 2], "x": [[1], [2]]}), ValueError, "column 'x'.*list"),
    "nested": (lambda: pa.table({"time": [1, 2], "x": [[1], [2]]}), ValueError, "column 2 'x'.*list"),
    "mixed": (lambda: pd.DataFrame({"time": [1, 2], "x": [1, "warm"]}), ValueError, "frame:2: column 'x'"),
    "bytes": (lambda: {"time": [1, 2], "x": np.array([b"a", b"b"])}, ValueError, "column 'x'"),
    "lengths": (lambda: {"time": [1, 2], "x": [1]}, ValueError, "column 'x': expected 2 rows"),
    "empty dict": (lambda: {}, ValueError, "no|none"),
    "empty frame": (lambda: pd.DataFrame({"time": pd.to_datetime([]), "x": []}), ValueError, "frame"),
    "null time": (lambda: pd.DataFrame({"time": pd.to_datetime(["2024-01-01", None]), "x": [1, 2]}), ValueError,
                  "frame:2: column 1 'time': expected a time"),
    "null entity": (lambda: {"id": ["a", None], "time": [1, 2], "x": [1, 2]}, ValueError, "frame:2: column 1 'id'"),
    "no such file": (lambda: "nowhere.csv", FileNotFoundError, "nowhere.csv"),
    "a number": (lambda: 7, TypeError, "int"),
    "a scalar column": (lambda: {"time": 3, "x": 4}, ValueError, "column 'time'"),
    "four dimensions": (lambda: np.zeros((1, 1, 1, 1)), ValueError, "shape"),
    "words in an array": (lambda: np.array(["a"]), ValueError, "numbers"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_data_is_one_line(kind):
    make, error, match = BAD[kind]
    with pytest.raises(error, match=match) as caught:
        llapdiff.panel(make())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["pandas", "reader", "parquet", "folder", "dataset", "csv", "panel"])
def test_packed_panels_are_those_of_the_program(kind, program, tmp_path):
    rows = llapdiff.demo(entities=4, rows=120).to_pandas().sample(frac=1, random_state=1)
    rows.to_csv(tmp_path / "rows.csv", index=False, date_format="%Y-%m-%dT%H:%M:%S.%fZ")
    rows = pd.read_csv(tmp_path / "rows.csv", parse_dates=["time"])
    subprocess.run([program, "pack", tmp_path / "rows.csv", "-o", tmp_path / "expected.panel", "-q"], check=True)
    table = pa.Table.from_pandas(rows, preserve_index=False)
    (tmp_path / "set").mkdir()
    for i in range(3):
        pq.write_table(table.slice(i * 200, 200), tmp_path / "set" / f"{i}.parquet")
    data = {"pandas": rows, "csv": tmp_path / "rows.csv", "folder": tmp_path / "set",
            "parquet": [tmp_path / "set" / f"{i}.parquet" for i in range(3)],
            "dataset": pa.dataset.dataset(tmp_path / "set"), "panel": llapdiff.panel(rows),
            "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=50))}[kind]
    packed = llapdiff.pack(data, tmp_path / "made.panel", memory=16)
    assert packed.n_rows == len(rows) and packed.entities == sorted(set(rows["entity"]))
    expected = llapdiff.read(tmp_path / "expected.panel")
    assert np.array_equal(packed.values, expected.values, equal_nan=True) and (packed.times == expected.times).all()
    if kind == "csv":
        assert (tmp_path / "made.panel").read_bytes() == (tmp_path / "expected.panel").read_bytes()


def test_what_was_changed_in_a_packed_panel_is_not_shown(tmp_path):
    path = tmp_path / "made.panel"
    good = llapdiff.pack(llapdiff.demo(entities=2, rows=50).to_pandas(), path)
    assert good.values.shape[0] == good.n_rows > 0
    with open(path, "r+b") as f:
        f.seek(65536)  # the first time
        f.write(b"\x01")
    bad = llapdiff.read(path)
    for show in ("values", "times", "n_rows"):
        with pytest.raises(llapdiff.FormatError, match="made.panel"):
            getattr(bad, show)


def test_what_cannot_be_packed_leaves_nothing(tmp_path):
    with pytest.raises(llapdiff.Error, match="grid"):
        llapdiff.pack(ROWS, tmp_path / "made.panel", grid="1h")
    with pytest.raises(llapdiff.FormatError, match="column 3 'x'"):
        llapdiff.pack({**ROWS, "x": ["1", "2", "warm", "4"]}, tmp_path / "made.panel")
    with pytest.raises(TypeError, match="unexpected keyword argument 'gird'"):
        llapdiff.pack(ROWS, tmp_path / "made.panel", gird="1h")
    assert list(tmp_path.iterdir()) == []
    shards = llapdiff.pack(ROWS, tmp_path / "made", shard_rows=1 << 19)
    assert (tmp_path / "made" / "index").exists() and shards.n_rows == 4


def test_duplicate_times():
    frame = pd.DataFrame({"time": [1, 1], "x": [1.0, 2.0]})
    assert llapdiff.panel(frame).values.tolist() == [[2]]
    with pytest.raises(llapdiff.FormatError, match="frame:2.*twice"):
        llapdiff.panel(frame, duplicates="error")


def test_a_producer_that_raises_in_the_middle():
    def batches():
        yield pa.record_batch({"time": pa.array(range(2000)), "x": pa.array(np.ones(2000))})
        raise RuntimeError("the well ran dry")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"time": pa.int64(), "x": pa.float64()}), batches())
    with pytest.raises(llapdiff.IOError, match="the well ran dry") as caught:
        llapdiff.panel(reader)
    assert "\n" not in str(caught.value)


def test_databases(tmp_path, expected):
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE rows(id TEXT, time TEXT, x REAL, n INTEGER)")
        db.executemany("INSERT INTO rows VALUES(?, ?, ?, ?)", zip(*ROWS.values()))
    db.close()
    same(llapdiff.read(f"sqlite:{path}?table=rows"), expected)
    same(llapdiff.panel(f"sqlite:{path}?query=SELECT * FROM rows ORDER BY x"), expected)
    with pytest.raises(llapdiff.Error, match="no such table: none"):
        llapdiff.inspect(f"sqlite:{path}?table=none")


def test_options_that_cannot_be():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colums' .did you mean 'columns'"):
        llapdiff.panel(ROWS, colums="x")
    with pytest.raises(llapdiff.OptionError, match="separator"):
        llapdiff.panel(ROWS, separator=",")
    with pytest.raises(llapdiff.OptionError, match="form: expected one of"):
        llapdiff.panel(ROWS, form="round")


def test_nothing_is_kept_of_what_was_handed_over(data, frame):
    llapdiff.panel(frame)
    for _ in range(3):
        with pytest.raises(TypeError):
            llapdiff.panel(frame, colums="x")
    if pl:
        pl.DataFrame(data)
    pa.table(data)
    data.__arrow_c_stream__()
    gc.collect()
    assert _arrow._exports == {}
    held = pa.table(data)
    assert len(_arrow._exports) == 1
    column = held.column(2)
    del held
    gc.collect()
    assert len(_arrow._exports) == 1 and column[0].is_valid  # a part that was taken out keeps its memory
    del column
    gc.collect()
    assert _arrow._exports == {}


def test_views_keep_their_owner():
    values = llapdiff.demo(rows=50).values
    gc.collect()
    assert np.nansum(values) != 0 and not values.flags.writeable


def test_inspect(data):
    seen = llapdiff.inspect(data)
    assert seen["entities"] == 3
    assert "entities" in repr(seen) and "<pre>" in seen._repr_html_()
