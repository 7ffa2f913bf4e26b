"""Frames to panels beside CSV files to panels, memory, and what a call costs: python bench.py [ROWS]"""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000


def frame(n):
    import pandas as pd

    rng = np.random.default_rng(1)
    per = n // 100
    return pd.DataFrame({
        "id": pd.Categorical.from_codes(np.repeat(np.arange(100, dtype=np.int8), per), [f"s{i:03d}" for i in range(100)]),
        "time": np.tile(np.arange(per, dtype="i8") * 60, 100).astype("datetime64[s]"),
        "x": np.round(rng.normal(size=100 * per), 3),
        "y": np.round(rng.normal(size=100 * per), 3),
    })


def best(call, n=3, clock=time.perf_counter):
    return min((lambda t: (call(), clock() - t)[1])(clock()) for _ in range(n))


def status(key):
    """VmRSS or VmHWM of this process, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))


def main():
    import llapdiff

    data = frame(ROWS)
    llapdiff.panel(frame(1000))
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    before = status("VmRSS")
    made = llapdiff.panel(data)
    grown = status("VmHWM") - before
    size = made.values.nbytes + made._ticks().nbytes + made.values.size // 8
    held = int(data.memory_usage(index=False).sum())
    print(f"{ROWS} rows: frame {held / 1e6:.0f} MB, panel {size / 1e6:.0f} MB, peak {grown / 1e6:.0f} MB above the frame: "
          f"{(held + grown) / (held + size):.2f} of frame + panel")
    t_frame = best(lambda: llapdiff.panel(data))
    t_polars = None
    try:
        import polars

        other = polars.DataFrame(data)
        t_polars = best(lambda: llapdiff.panel(other))
    except ImportError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        made.write(path)
        t_csv = best(lambda: llapdiff.read(path))
        t_csv_cpu = best(lambda: llapdiff.read(path), 3, time.process_time)
    t_frame_cpu = best(lambda: llapdiff.panel(data), 3, time.process_time)
    print(f"pandas {t_frame:.2f} s, polars {t_polars or float('nan'):.2f} s, CSV {t_csv:.2f} s: "
          f"{t_csv / t_frame:.1f} times, {t_csv / (t_polars or float('nan')):.1f} times as fast; "
          f"processor time of pandas {t_csv_cpu / t_frame_cpu:.1f} times less")

    from llapdiff._lib import ffi, lib

    small = llapdiff.demo(entities=1, variables=1, rows=300)
    model = llapdiff.train(small, context="1d", horizon="1h", size="anchor", training={"anchor": {"steps": 10}})
    how, out = ffi.new("llap_forecast_opts *"), ffi.new("llap_answer **")

    def bare():
        for _ in range(1000):
            lib.llap_forecast(model._c, small._c, how, out)
            lib.llap_answer_destroy(out[0])

    def calls():
        for _ in range(1000):
            model.forecast(small)

    a, b = (best(each, 5, time.process_time) for each in (bare, calls))
    print(f"1000 forecasts of one window: C {a * 1000:.0f} us each, Python {(b - a) * 1000:.0f} us more")
    code = "import time; t = time.perf_counter(); import numpy; u = time.perf_counter(); import llapdiff; print(u - t, time.perf_counter() - u)"
    runs = [tuple(map(float, subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()))
            for _ in range(5)]
    print(f"import: NumPy {1000 * min(r[0] for r in runs):.0f} ms, then llapdiff {1000 * min(r[1] for r in runs):.0f} ms")


if __name__ == "__main__":
    main()
