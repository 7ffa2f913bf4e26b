#!/usr/bin/env python3
"""Are sums and differences over entities calibrated? Reads what `forecast --every SPAN --keep-samples` wrote
and the data, and scores sums over all entities (and, with --spread, differences of the first two) beside the
same margins drawn independently: each entity's paths in an order of its own.

    llapdiff forecast m.safetensors data.csv --every 24h --keep-samples -n 200 -o paths.csv
    bench/joint.py data.csv paths.csv VARIABLE
    bench/joint.py --assets 9 > assets.csv        the bed of docs/spec/anchor.md 11

Windows should not overlap (--every at least the horizon). Chi-square of the PIT of sums in ten bins: one value
a window, at its middle time, because those of one window are not independent."""
import csv, datetime, gzip, sys
import numpy as np

def assets(seed, n=1500):
    r = np.random.default_rng(seed)
    c = np.array([[1, .8, .5], [.8, 1, .3], [.5, .3, 1]])
    y = 100 * np.exp(np.cumsum(.015 * (r.standard_normal((n, 3)) @ np.linalg.cholesky(c).T), 0))
    print("entity,time,price")
    for j in range(3):
        for i in range(n):
            print(f"a{j},{datetime.date(2018, 1, 1) + datetime.timedelta(days=i)},{y[i, j]:.5f}")

def key(t):
    return datetime.datetime.fromisoformat(t.replace("Z", "")).replace(tzinfo=None)

def read_truth(path, var):
    f = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    return {(r["entity"], key(r["time"])): float(r[var]) for r in csv.DictReader(f) if r[var] != ""}

def read_paths(path, var):
    """{(origin, time): {entity: [values by sample]}}"""
    out = {}
    for r in csv.DictReader(open(path)):
        if r["variable"] == var:
            out.setdefault((r["origin"], key(r["time"])), {}).setdefault(r["entity"], []).append(float(r["value"]))
    return out

def crps(x, y):
    x, n = np.sort(x), len(x)
    return np.abs(x - y).mean() - (x * (2 * np.arange(n) + 1 - n)).sum() / (n * (n - 1))

def energy(x, y, rng):
    p = rng.permutation(len(x))
    return np.linalg.norm(x - y, axis=1).mean() - .5 * np.linalg.norm(x - x[p], axis=1).mean()

def score(name, draws):
    """draws: [(x [n], truth)]"""
    held = [np.mean([np.quantile(x, .5 - h / 2) <= y <= np.quantile(x, .5 + h / 2) for x, y in draws]) for h in (.5, .8, .95)]
    print(f"{name:28s} {len(draws):6d} values  hold {100*held[0]:.1f}/{100*held[1]:.1f}/{100*held[2]:.1f} %"
          f"  CRPS {np.mean([crps(x, y) for x, y in draws]):.4f}")

def chi_square(values, bins=10):
    h = np.histogram(values, bins, (0, 1))[0]
    return ((h - len(values) / bins) ** 2).sum() / (len(values) / bins), h

def main(data, paths, var):
    truth, all_paths = read_truth(data, var), read_paths(paths, var)
    entities = sorted({e for d in all_paths.values() for e in d})
    rng = np.random.default_rng(1)
    sums, alone, spread, spread_alone, e_joint, e_alone = [], [], [], [], [], []
    by_origin = {}
    for (origin, t), d in sorted(all_paths.items(), key=lambda v: (v[0][0], v[0][1])):
        if len(d) < len(entities) or any((e, t) not in truth for e in entities): continue
        x = np.array([d[e] for e in entities]).T
        y = np.array([truth[e, t] for e in entities])
        z = np.array([rng.permutation(c) for c in x.T]).T
        sums.append((x.sum(1), y.sum())); alone.append((z.sum(1), y.sum()))
        spread.append((x[:, 0] - x[:, 1], y[0] - y[1])); spread_alone.append((z[:, 0] - z[:, 1], y[0] - y[1]))
        e_joint.append(energy(x, y, rng)); e_alone.append(energy(z, y, rng))
        by_origin.setdefault(origin, []).append(((x.sum(1) < y.sum()).mean() * .995 + .0025, (z.sum(1) < y.sum()).mean() * .995 + .0025))
    score(f"sum of {len(entities)}, joint", sums); score("  independent", alone)
    score("first less second, joint", spread); score("  independent", spread_alone)
    d = np.array(e_alone) - np.array(e_joint)
    print(f"energy score over entities: joint {np.mean(e_joint):.4f}, independent {np.mean(e_alone):.4f}, "
          f"difference {d.mean():.4f} +- {d.std()/np.sqrt(len(by_origin)):.4f}")
    for k, name in ((0, "joint"), (1, "independent")):
        c, h = chi_square([v[len(v) // 2][k] for v in by_origin.values()])
        print(f"PIT of sums, {name}: chi-square {c:.1f} of 9 degrees (1 %: 21.7), {len(by_origin)} windows: {h.tolist()}")

if __name__ == "__main__":
    if sys.argv[1] == "--assets": assets(int(sys.argv[2]))
    else: main(*sys.argv[1:4])
