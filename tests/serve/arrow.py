#!/usr/bin/env python3
"""arrow.py PORT CSV: pyarrow's streams to a running server and back hold what the CSV answers hold; histories too."""
import io
import sys
import urllib.request

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc

ARROW = "application/vnd.apache.arrow.stream"
PATHS = ["forecast?horizon=3h", "impute", "forecast?samples=3&keep_samples=true&horizon=2h", "forecast?every=12h&horizon=2h"]


def post(port, path, body, takes, gives):
    headers = {"Content-Type": takes, "Accept": gives, "Authorization": "Bearer admin-0123456789ab"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/models/air/{path}", body, headers)
    return urllib.request.urlopen(request, timeout=300).read()


def history(port, gives):
    headers = {"Accept": gives, "Authorization": "Bearer admin-0123456789ab"}
    url = f"http://127.0.0.1:{port}/v1/streams/ward/history?limit=1000000"
    return urllib.request.urlopen(urllib.request.Request(url, None, headers), timeout=300).read()


def main(port, path):
    data = open(path, "rb").read()
    wanted = pa.csv.read_csv(io.BytesIO(history(port, "text/csv")))
    found = pa.ipc.open_stream(history(port, ARROW)).read_all()
    found.validate(full=True)
    assert found.num_rows == wanted.num_rows > 0, (found.num_rows, wanted.num_rows)
    assert found.column_names == wanted.column_names
    assert found["value"].cast(pa.float32()) == wanted["value"].cast(pa.float32())
    for name in ("entity", "variable"):
        assert found[name].to_pylist() == wanted[name].to_pylist()
    assert found["time"].cast(pa.int64()) == wanted["time"].cast(pa.timestamp("ns", "UTC")).cast(pa.int64())
    table = pa.csv.read_csv(io.BytesIO(data))
    for ids in (table["entity"], table["entity"].dictionary_encode()):
        sink = io.BytesIO()
        table = table.set_column(table.column_names.index("entity"), "entity", ids)
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, 100)
        for question in PATHS:
            wanted = pa.csv.read_csv(io.BytesIO(post(port, question, data, "text/csv", "text/csv")))
            found = pa.ipc.open_stream(post(port, question, sink.getvalue(), ARROW, ARROW)).read_all()
            found.validate(full=True)
            outside = found["outside"].to_pylist()
            if "outside" in wanted.column_names:  # a column of CSV where anything is
                assert [a and int(a) for a in outside] == wanted["outside"].to_pylist()
                wanted = wanted.drop_columns("outside")
            else:
                assert not any(outside)
            found = found.drop_columns("outside")
            assert found.column_names == wanted.column_names, (found.column_names, wanted.column_names)
            assert found.num_rows == wanted.num_rows > 0
            for name in found.column_names:
                ours, theirs = found[name], wanted[name]
                if pa.types.is_floating(ours.type):  # the CSV has seven digits
                    assert all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(ours.to_pylist(), theirs.to_pylist())), name
                elif pa.types.is_timestamp(ours.type):
                    assert ours.cast(pa.int64()) == theirs.cast(pa.timestamp("ns", "UTC")).cast(pa.int64()), name
                elif pa.types.is_boolean(ours.type):
                    assert [int(a) for a in ours.to_pylist()] == theirs.to_pylist(), name
                else:
                    assert ours.to_pylist() == theirs.to_pylist(), name
    print(f"arrow: {2 * len(PATHS)} questions by pyarrow {pa.__version__} answered as by CSV")


main(sys.argv[1], sys.argv[2])
