"""LightGBM on readings of the same time, for gaps: for each target a model of the median of what the straight line
leaves and one of the logarithm of how far off that is, then the empirical quantiles of the rest out of fold.

It learns as the program does: values of training and validation are hidden, half of the copies at random, half by
outages of variables and rows. Columns: both readings on each side with their distances, the straight line, the readings
a day away, hour, entity; of every other variable of the row, and of the same variable of other entities, the reading
and how far it has come since both neighbours of the gap and from its own straight line between them."""
import sys

import lightgbm as lgb
import numpy as np
import pandas as pd

LEVELS = [.025, .1, .25, .5, .75, .9, .975]
COPIES, CELLS, MOST = 4, 30000, 800
SHAPES = [(15, .08), (31, .08), (63, .08)]
FIXED = {"min_data_in_leaf": 40, "feature_fraction": .5, "bagging_fraction": .7, "bagging_freq": 1, "lambda_l2": 5,
         "verbose": -1, "seed": 1, "deterministic": True, "force_row_wise": True}


def neighbours(r, read):
    """Rows of the reading before and after each row; -1: none."""
    n = len(read)
    i = np.where(read, np.arange(n), -1)
    before = np.concatenate([[-1], np.maximum.accumulate(i)[:-1]])
    before = np.where(before >= r.first[r.entity], before, -1)
    i = np.where(read, np.arange(n), n)
    after = np.concatenate([np.minimum.accumulate(i[::-1])[::-1][1:], [n]])
    after = np.where(after < r.first[r.entity + 1], after, -1)
    return before, after


def pick(x, rows):
    return np.where(rows >= 0, x[np.maximum(rows, 0)], np.nan)


def line(t, before, after, at, x):
    a, b = pick(x, before), pick(x, after)
    ta, tb = pick(t, before), pick(t, after)
    w = np.where(tb > ta, (at - ta) / (tb - ta), .5)
    out = a + w * (b - a)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, out))


class View:
    """What is left of the readings where some are hidden, with every column also as its straight lines have it."""

    def __init__(self, r, x):
        self.r, self.x = r, x
        self.full = np.empty_like(x)
        self.around = []
        for v in range(x.shape[1]):
            b, a = neighbours(r, ~np.isnan(x[:, v]))
            self.around.append((b, a))
            self.full[:, v] = np.where(np.isnan(x[:, v]), line(r.t, b, a, r.t, x[:, v]), x[:, v])

    def columns(self, v, rows):
        """[rows,columns] and the straight line that the target counts from."""
        r, x = self.r, self.x[:, v]
        before, after = self.around[v]
        b, a = before[rows], after[rows]
        b2, a2 = pick(before, b).astype(float), pick(after, a).astype(float)
        b2, a2 = np.nan_to_num(b2, nan=-1).astype(int), np.nan_to_num(a2, nan=-1).astype(int)
        base = line(r.t, b, a, r.t[rows], x)
        base = np.where(np.isnan(base), 0, base)
        out = [base, r.entity[rows] if r.joint else np.zeros(len(rows)), r.t[rows] % 24, r.t[rows] - r.t[r.first[r.entity[rows]]]]
        for k in (b, a, b2, a2):
            out += [np.abs(pick(r.t, k) - r.t[rows]), pick(x, k) - base]
        if r.day:
            for d in (-48, -24, 24, 48):
                there = np.full(len(rows), -1)
                for e in np.unique(r.entity[rows]):
                    mine = r.entity[rows] == e
                    there[mine] = r.at(e, r.t[rows][mine] + d)
                out.append(pick(x, there) - base)
        sources = [(u, None) for u in range(self.x.shape[1]) if u != v]
        if r.joint:
            sources += [(v, e) for e in range(len(r.names))]
        for u, e in sources:
            if e is None:
                now, tb, ta, full = rows, b, a, self.full[:, u]
            else:
                now, tb, ta = (self.beside(e, k) for k in (rows, b, a))
                now = np.where(r.entity[rows] == e, -1, now)
                full = self.full[:, v]
            value = pick(self.x[:, u], now)
            since, until = value - pick(full, tb), value - pick(full, ta)
            w = np.where((b >= 0) & (a >= 0), (r.t[rows] - pick(r.t, b)) / (pick(r.t, a) - pick(r.t, b)), .5)
            off = np.where(np.isnan(since), until, np.where(np.isnan(until), since, (1 - w) * since + w * until))
            out += [value, since, until, off]
        return np.stack(out, 1).astype(np.float32), base

    def beside(self, e, rows):
        there = np.full(len(rows), -1)
        ok = rows >= 0
        there[ok] = self.r.at(e, self.r.t[rows[ok]])
        return there


def fitted(kind, shape, x, y, learn, judge, threads, trees=None):
    leaves, rate = shape
    p = dict(FIXED, objective="quantile" if kind == "median" else "l2", alpha=.5, num_leaves=leaves,
             learning_rate=rate, num_threads=threads)
    d = lgb.Dataset(x[learn], y[learn], free_raw_data=False)
    if trees is not None:
        return lgb.train(p, d, max(trees, 1))
    return lgb.train(p, d, MOST, [lgb.Dataset(x[judge], y[judge], reference=d)],
                     callbacks=[lgb.early_stopping(30, verbose=False)])


def answer(kind, x, y, part, half, threads, shape=None):
    """A model of all rows, its answers about them out of fold, and its shape. part 1 chooses shape and size."""
    learn, judge, best = part == 0, part == 1, None
    for s in SHAPES if shape is None else [shape]:
        m = fitted(kind, s, x, y, learn, judge, threads)
        score = list(m.best_score["valid_0"].values())[0]
        if best is None or score < best[0]:
            best = score, s, m.best_iteration
    _, shape, trees = best
    apart = np.empty(len(y))
    for h in range(half.max() + 1):
        apart[half == h] = fitted(kind, shape, x, y, half != h, None, threads, trees).predict(x[half == h])
    return fitted(kind, shape, x, y, np.ones(len(y), bool), None, threads, trees), apart, shape, trees


class Asked:
    """Hidden values as evaluate has kept them (entity, time, variable), and what is left around them."""

    def __init__(self, r, z, table):
        number = {(e, t): k for k, (e, t) in enumerate(zip(r.names[r.entity], r.written))}
        self.table = table
        self.row = np.array([number[k] for k in zip(table["entity"], table["time"])])
        self.column = table["variable"].map({c: k for k, c in enumerate(r.columns)}).to_numpy()
        left = z.copy()
        left[self.row, self.column] = np.nan
        self.view, self.out = View(r, left), []

    def answer(self, v, quantiles):
        mine = self.column == v
        answers = self.table.loc[mine, ["entity", "time", "variable"]].copy()
        for level, q in zip(LEVELS, quantiles(*self.view.columns(v, self.row[mine]))):
            answers[f"q{level}"] = q
        self.out.append(answers)


def fill(r, part, tables, targets, threads):
    """Of every table of hidden values the quantiles of those of targets."""
    known = part < 2
    mean, sd = np.nanmean(r.x[part == 0], 0), np.nanstd(r.x[part == 0], 0)
    sd = np.where(sd > 0, sd, 1)
    z = (r.x - mean) / sd
    rng, data = np.random.default_rng(1), {v: [] for v in targets}
    for c in range(COPIES):
        hidden = (r.random(rng) if c % 2 == 0 else r.outages(rng)) & known[:, None] & ~np.isnan(z)
        view = View(r, np.where(hidden, np.nan, z))
        for name in targets:
            v = r.columns.index(name)
            rows = np.flatnonzero(hidden[:, v])
            rows = rows[np.sort(rng.choice(len(rows), min(len(rows), CELLS // min(len(targets), 4)), replace=False))]
            x, base = view.columns(v, rows)
            data[name].append((rows, x, z[rows, v] - base))
    asked = [Asked(r, z, table) for table in tables]
    for name in targets:
        v = r.columns.index(name)
        rows, x, y = (np.concatenate(k) for k in zip(*data[name]))
        block = r.entity[rows] if not r.joint and len(r.names) > 1 else (r.t[rows] // (168 if r.day else 168 * r.step)).astype(int)
        half = block % 4
        model, apart, shape, trees = answer("median", x, y, part[rows], half, threads)
        off = np.abs(y - apart)
        log = np.log(off + .05 * np.median(off) + 1e-9)
        scale, wide, _, more = answer("scale", x, log, part[rows], half, threads, shape)
        q = np.quantile((y - apart) / np.exp(wide), LEVELS)

        def quantiles(x, base):
            middle, away = base + model.predict(x), np.exp(scale.predict(x))
            return [mean[v] + sd[v] * (middle + away * k) for k in q]

        for a in asked:
            a.answer(v, quantiles)
        print(f"  lightgbm: {name}: {x.shape[1]} columns, {len(y)} rows, {shape[0]} leaves, {trees} and {more} trees",
              file=sys.stderr, flush=True)
    return [pd.concat(a.out) for a in asked]
