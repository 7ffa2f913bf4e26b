"""What asking on an engine costs: bench_distributed.py dask|spark|ray [ENTITIES [WORKERS...]]

Forecasts ten steps of entities of 100 hourly readings and prints processor seconds: of the same question in one process, of
all processes of the engine together, and of its busiest worker, which is what would be waited for on as many idle cores.
Run it in the environments of tools/test-distributed, with their PYTHONPATH and OMP_NUM_THREADS=1.
"""
from __future__ import annotations

import logging
import os
import pathlib
import sys
import time

import numpy as np
import pandas as pd

import llapdiff
from llapdiff import distributed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tests" / "frameworks"))


def stays(entities: int) -> pd.DataFrame:
    """Autoregressive, each around a level of its own."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(entities, 100))
    for i in range(1, 100):
        x[:, i] += 0.8 * x[:, i - 1]
    x += rng.normal(size=(entities, 1))
    hours = pd.date_range("2024-01-01", periods=100, freq="h").to_numpy("datetime64[us]")
    return pd.DataFrame({"entity": np.repeat([f"e{i:07d}" for i in range(entities)], 100),
                         "time": pd.DatetimeIndex(np.tile(hours, entities), tz="UTC"), "load": x.ravel()})


def processes() -> dict[int, tuple[int, str, float]]:
    """Parent, command and processor seconds of every process, those of children that have ended included."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
        found[int(folder.name)] = (int(fields[1]), command, sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))
    return found


def spent(worker: str) -> tuple[float, dict[int, float]]:
    """Of all our descendants, and of each that is a worker with its own descendants."""
    of = processes()

    def below(pid: int) -> list[int]:
        return [pid] + [p for child, (parent, _, _) in of.items() if parent == pid for p in below(child)]

    mine = [pid for pid in below(os.getpid()) if pid != os.getpid()]
    workers = {pid: sum(of[p][2] for p in below(pid)) for pid in mine if worker in of[pid][1]}
    return sum(of[pid][2] for pid in mine), workers


def main() -> None:
    name, entities = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    logging.getLogger("llapdiff").setLevel(logging.ERROR)
    from engines import ENGINES

    rows = stays(entities)
    sample = rows[rows["entity"] < "e0000100"]
    model = llapdiff.train(sample, context="20h", horizon="10h", size="anchor", split="entity", progress=False)
    begin = time.process_time()
    model.forecast(rows, entity="entity", time="time", progress=False).to_pandas()
    print(f"one process, {len(rows):.3g} readings: {time.process_time() - begin:.1f} s")
    worker = {"dask": "spawn_main", "spark": "CoarseGrainedExecutorBackend", "ray": "ray::"}[name]
    for n in map(int, sys.argv[3:] or ["1", "2"]):
        engine = ENGINES[name][0](n)
        engine.rows(distributed.forecast(model, engine.frame(rows[rows["entity"] < "e0000010"], 2 * n), entity="entity"))
        frame = engine.frame(rows, 2 * n)
        all_before, each_before = spent(worker)
        begin = time.perf_counter()
        answer = engine.rows(distributed.forecast(model, frame, entity="entity"))
        wall = time.perf_counter() - begin
        assert len(answer) == 10 * entities
        all_after, each = spent(worker)
        busiest = max(seconds - each_before.get(pid, 0) for pid, seconds in each.items())
        print(f"{name}, {n} worker{'s' * (n > 1)}: {all_after - all_before:.1f} s in all, {busiest:.1f} s the busiest, "
              f"{wall:.1f} s by the clock")
        engine.close()


if __name__ == "__main__":
    main()
