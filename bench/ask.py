#!/usr/bin/env python3
"""Processor seconds of the program where data is long or series are many.

    python3 bench/ask.py build/bin/llapdiff minutes [ROWS]      anchor of a year of minutes, context a day
    python3 bench/ask.py build/bin/llapdiff series [N] [SIZE]   trains SIZE (tiny) on N daily series; a week of each

Others may use the machine: processor time does not count waiting for them.
"""
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta


def minutes(n):
    """Day, week and year, weather of a day and of ten minutes, noise."""
    dice, slow, fast, start = random.Random(3), 0.0, 0.0, datetime(2023, 1, 1)
    yield "time,load"
    for i in range(n):
        slow, fast, h = 0.9995 * slow + dice.gauss(0, 0.01), 0.9 * fast + dice.gauss(0, 0.05), i / 60
        y = 20 + 3 * slow + fast + dice.gauss(0, 0.1)
        for size, period in ((3, 24), (1, 168), (5, 8766)):
            y += size * math.sin(2 * math.pi * h / period)
        yield f"{start + timedelta(minutes=i):%Y-%m-%dT%H:%M:%SZ},{y:.3f}"


def series(n, days=200):
    """A week and weather around a level, of each its own."""
    dice, start = random.Random(4), datetime(2024, 1, 1)
    yield "entity,time,load"
    for e in range(n):
        level, week, phase, w = dice.gauss(20, 5), dice.gauss(2, 1), 7 * dice.random(), 0.0
        for i in range(days):
            w = 0.8 * w + dice.gauss(0, 1)
            y = level + week * math.sin(2 * math.pi * (i + phase) / 7) + w
            yield f"s{e:04d},{start + timedelta(days=i):%Y-%m-%d},{y:.3f}"


def run(what, *command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what}   {spent:.1f} s of the processor", flush=True)


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("minutes", "series"):
        sys.exit(__doc__)
    program, n = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with tempfile.TemporaryDirectory() as folder:
        data, model = os.path.join(folder, "data.csv"), os.path.join(folder, "model")
        long = sys.argv[2] == "minutes"
        with open(data, "w", encoding="ascii") as f:
            f.writelines(line + "\n" for line in (minutes(n or 525600) if long else series(n or 2000)))
        size = "anchor" if long else sys.argv[4] if len(sys.argv) > 4 else "tiny"
        spans = ["-c", "1d", "--horizon", "6h"] if long else ["-c", "28d", "--horizon", "7d"]
        run("train", program, "train", data, "--size", size, *spans, "-o", model)
        run("forecast", program, "forecast", model, data, "-o", os.path.join(folder, "answer.csv"))


main()
