#!/usr/bin/env python3
"""Writes the seeds of streams beside this file: tables as pyarrow writes them."""
import datetime
import decimal
import pathlib

import pyarrow as pa

FOLDER = pathlib.Path(__file__).parent / "corpus" / "arrow_ipc"
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
HOURS = [START, START + datetime.timedelta(hours=1), START]
TIME = pa.array(HOURS, pa.timestamp("us", "UTC"))
IDS, X = pa.array(["a", "a", "b"]), pa.array([1.5, None, -3.0])
NOON = pa.array([START], pa.timestamp("s", "UTC"))


def stream(table, rows=None, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, rows)
    return sink.getvalue().to_pybytes()


def coded(words, index, number):
    ids = pa.DictionaryArray.from_arrays(pa.array(index, pa.int8()), pa.array(words))
    return pa.record_batch({"id": ids, "time": NOON, "x": pa.array([number])})


def batches(*parts, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, parts[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for part in parts:
            writer.write_batch(part)
    return sink.getvalue().to_pybytes()


WIDE = pa.table({"id": IDS, "time": TIME, "x": X})
DAYS = pa.array([datetime.date(2024, 1, d) for d in (1, 2, 3)])
SEEDS = {
    "wide": stream(WIDE),
    "batches": stream(WIDE, 1),
    "coded": stream(pa.table({"id": IDS.dictionary_encode(), "time": TIME, "x": X})),
    "replaced": batches(coded(["a"], [0], 1.0), coded(["b", "a"], [0], 2.0)),
    "views": stream(pa.table({"id": pa.array(["a", "a", "a name of many bytes"]).cast(pa.string_view()), "time": TIME, "x": X})),
    "large": stream(pa.table({"id": IDS.cast(pa.large_string()), "time": TIME, "x": X})),
    "numbers": stream(pa.table({
        "time": DAYS, "b": pa.array([True, False, True]), "i8": pa.array([-1, None, 3], pa.int8()),
        "u16": pa.array([65535, 2, 3], pa.uint16()), "f16": pa.array([1.0, -2.0, 0.5]).cast(pa.float16()),
        "f32": pa.array([0.1, None, 2.0], pa.float32()), "u64": pa.array([5, 6, 7], pa.uint64())})),
    "other": stream(pa.table({"time": TIME, "none": pa.nulls(3), "clock": pa.array([datetime.time(1, 2)] * 3),
                              "took": pa.array([datetime.timedelta(seconds=5)] * 3), "x": X})),
    "served": stream(pa.table({"who": IDS.dictionary_encode(), "when": TIME, "v0": X})),
    "empty": stream(WIDE.slice(0, 0)),
    "lz4": stream(WIDE, compression="lz4"),
    "decimals": stream(pa.table({"time": TIME, "x": pa.array([decimal.Decimal("1.5")] * 3)})),
    "lists": stream(pa.table({"time": TIME, "x": pa.array([[1.0], [2.0], []])})),
    "delta": batches(coded(["a"], [0], 1.0), coded(["a", "b"], [1], 2.0), emit_dictionary_deltas=True),
}

FOLDER.mkdir(parents=True, exist_ok=True)
for name, content in SEEDS.items():
    (FOLDER / f"{name}.seed").write_bytes(content)
