#!/usr/bin/env python3
"""Two evaluations of the same windows (llapdiff evaluate --windows A.csv, B.csv), one against the other:
the difference of their mean CRPS with the 95 % interval of a paired block bootstrap over the days of
the context ends, as `evaluate` draws it between a model and its opponents.

    compare_windows.py A.csv B.csv [--run DAYS] [--draws N] [--seed N] [--of NAME]

--run: consecutive days that are drawn together, as many as a forecast is long (default 1).
--of: whose scores, by the name in the header (default model)."""
import argparse
import csv
import random


def read(path, name):
    """(entity, origin, variable) -> values, CRPS, squared error"""
    with open(path, newline="") as f:
        rows = {(r["entity"], r["origin"], r["variable"]): (
            float(r["values"]), float(r[name + "_crps"]), float(r[name + "_mse"])) for r in csv.DictReader(f)}
    if not rows:
        raise SystemExit(f"{path}: no windows")
    return rows


def by_day(a, b):
    """Sums of values and of both scores for each day of a context end, in order of time."""
    days = {}
    for key in sorted(a.keys() & b.keys(), key=lambda k: k[1]):
        if a[key][0] != b[key][0]:
            raise SystemExit(f"{key}: {a[key][0]:.0f} values in one file, {b[key][0]:.0f} in the other")
        n = a[key][0]
        day = days.setdefault(key[1][:10], [0.0] * 5)
        for i, x in enumerate((1.0, a[key][1], b[key][1], a[key][2], b[key][2])):
            day[i] += n * x
    return list(days.values())


def difference(days, column):
    n = sum(d[0] for d in days)
    return (sum(d[column] for d in days) - sum(d[column + 1] for d in days)) / n


def draw(days, run, rng):
    """As many days again, in runs that go round from the last to the first."""
    out = []
    while len(out) < len(days):
        first = rng.randrange(len(days))
        out += [days[(first + i) % len(days)] for i in range(run)]
    return out[:len(days)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("a")
    p.add_argument("b")
    p.add_argument("--run", type=int, default=1)
    p.add_argument("--draws", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--of", default="model")
    o = p.parse_args()
    a, b = read(o.a, o.of), read(o.b, o.of)
    if a.keys() != b.keys():
        print(f"{len(a.keys() ^ b.keys())} windows are in one file only and left out")
    days = by_day(a, b)
    if not days:
        raise SystemExit("no window is in both files")
    run = max(1, min(o.run, len(days) // 3))
    n = sum(d[0] for d in days)
    rng = random.Random(o.seed)
    drawn = [draw(days, run, rng) for _ in range(o.draws)]
    print(f"{len(a.keys() & b.keys())} windows, {n:.0f} values, {len(days)} days in runs of {run}, {o.draws} draws")
    for column, name in ((1, "CRPS"), (3, "MSE")):
        d = sorted(difference(x, column) for x in drawn)
        low, high = d[int(0.025 * len(d))], d[min(len(d) - 1, int(0.975 * len(d)))]
        print(f"{name} {sum(x[column] for x in days) / n:.6f} and {sum(x[column + 1] for x in days) / n:.6f}: "
              f"difference {difference(days, column):.2e} [{low:.2e}, {high:.2e}]")


if __name__ == "__main__":
    main()
