"""Data and windows of one cell, as the program scores them, and columns of a query for tabular peers.

A row is (entity, origin, time): the value at `time` is asked, readings up to `origin` may be looked at. Times are hours.
The columns are those of docs/spec/stack.md 3 without the anchor: a peer is given what our own networks see."""
import warnings

import numpy as np
import pandas as pd

DAY, WEEK = 24.0, 168.0
SPANS = {"day": [3, 6, 24, 72, 168, 336], "week": [72, 168, 336, 672, 2184, 8736]}


def hours(times):
    return pd.to_datetime(times, utc=True).astype("datetime64[ns, UTC]").astype("int64").to_numpy() / 3.6e12


def quietly(f, *a):
    """NaN where a column has no number at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*a)


class Trace:
    """One series: readings in order, with running sums."""

    def __init__(self, t, x):
        keep = np.isfinite(x)
        self.t, self.x = t[keep], x[keep]
        self.sum = np.concatenate([[0], np.cumsum(self.x)])
        self.squares = np.concatenate([[0], np.cumsum(self.x ** 2)])

    def at(self, s, oldest):
        i = np.searchsorted(self.t, s, "right") - 1
        ok = (i >= 0) & (self.t[np.maximum(i, 0)] > oldest) if len(self.t) else np.zeros(len(s), bool)
        return np.where(ok, self.x[np.maximum(i, 0)] if len(self.x) else 0, np.nan)

    def age(self, s, oldest):
        i = np.searchsorted(self.t, s, "right") - 1
        ok = (i >= 0) & (self.t[np.maximum(i, 0)] > oldest) if len(self.t) else np.zeros(len(s), bool)
        return np.where(ok, s - (self.t[np.maximum(i, 0)] if len(self.t) else 0), np.nan)

    def over(self, after, upto):
        a, b = np.searchsorted(self.t, after, "right"), np.searchsorted(self.t, upto, "right")
        n = np.maximum(b - a, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n > 0, (self.sum[b] - self.sum[a]) / n, np.nan)
            var = np.where(n > 1, (self.squares[b] - self.squares[a]) / n - mean ** 2, np.nan)
        return n, mean, np.sqrt(np.maximum(var, 0))


class Panel:
    def __init__(self, frame, target, context, horizon, step, train_before):
        """frame: entity, time, numbers. Values are standardised by the training part, all entities together."""
        frame = frame.sort_values(["entity", "time"])
        self.t = hours(frame["time"])
        self.entity = frame["entity"].astype(str).to_numpy()
        self.names = list(dict.fromkeys(self.entity))
        first = np.concatenate([[0], np.flatnonzero(self.entity[1:] != self.entity[:-1]) + 1, [len(self.t)]])
        self.span = {e: slice(a, b) for e, a, b in zip(self.names, first, first[1:])}
        columns = [target] + [c for c in frame.columns if c not in ("entity", "time", target)]
        self.context, self.horizon, self.step = context, horizon, step
        self.cycle = "day" if step <= 6 else "week"
        train = self.t < train_before
        self.series, self.variables = {}, []
        for name, values in self.vectors(frame, columns):
            mean, sd = np.nanmean(values[train]), np.nanstd(values[train])
            if not sd > 0:
                continue
            if name == target:
                self.mean, self.sd = mean, sd
            self.variables.append(name)
            for e in self.names:
                rows = self.span[e]
                self.series[e, name] = Trace(self.t[rows], (values[rows] - mean) / sd)
        self.target = target

    @staticmethod
    def vectors(frame, columns):
        """Directions in degrees as vectors of the wind."""
        speed = next((c for c in columns if c.lower() in ("wind_speed", "wspm")), None)
        for c in columns:
            x = frame[c].to_numpy(float)
            if c.lower() in ("wind_dir", "wd_deg") and speed:
                length = frame[speed].to_numpy(float)
                yield c + " sin", length * np.sin(np.deg2rad(x))
                yield c + " cos", length * np.cos(np.deg2rad(x))
            else:
                yield c, x

    def rows(self, end, every, most, seed):
        """Queries whose truth is known and lies before `end`: entity number, origin, time, truth."""
        rng, out = np.random.default_rng(seed), []
        for k, e in enumerate(self.names):
            s = self.series[e, self.target]
            first = self.t[self.span[e]][0] + self.context / 2
            for o in np.arange(first, end - self.horizon, every * self.step):
                a, b = np.searchsorted(s.t, [o, o + self.horizon], "right")
                if b > a:
                    out.append(np.stack([np.full(b - a, k), np.full(b - a, o), s.t[a:b], s.x[a:b]], 1))
        out = np.concatenate(out)
        return out[np.sort(rng.choice(len(out), min(most, len(out)), replace=False))]

    def columns(self, entity, origin, time):
        """[rows,columns] of one entity, and the base that targets count from."""
        own, C, h = self.series[self.names[entity], self.target], self.context, self.step
        old, lead = origin - C, (time - origin) / h
        last = own.at(origin, old)
        means = [own.over(origin - min(w, C), origin) for w in SPANS[self.cycle] if w <= C and w >= 2 * h]
        base = np.where(np.isfinite(last), last, np.where(np.isfinite(means[-1][1]), means[-1][1], 0))
        x = [lead, np.log1p(lead), own.age(origin, old) / h, last, means[-1][1], last - base]
        x += [last - own.at(origin - k * h, old) for k in (1, 2, 3, 6, 12, 24)]
        for n, mean, sd in means:
            x += [mean - base, sd, n]
        x += self.phase(own, origin, time, base, last)
        x += [time % DAY, origin % DAY, np.floor(time / DAY) % 7]
        short, long = (3.0, DAY) if self.cycle == "day" else (3 * DAY, WEEK)
        for c in self.variables:
            if c == self.target:
                continue
            s = self.series[self.names[entity], c]
            now, usual, day = s.at(origin, old), s.over(old, origin)[1], s.over(origin - long, origin)[1]
            x += [now, day, now - usual, day - usual, now - s.at(origin - short, old), now - s.at(origin - long, old)]
        x += self.others(entity, origin, old, last, short, long)
        x.append(np.full(len(time), entity))
        return np.stack(x, 1).astype(np.float32), base

    def phase(self, own, origin, time, base, last):
        tol = self.step / 2
        around = lambda s: np.where(s - tol > origin, np.nan, own.over(s - tol - 1e-9, np.minimum(s + tol, origin))[1])
        week = around(time - WEEK * np.ceil((time - origin) / WEEK)) - base
        if self.cycle == "week":
            return [week]
        days = np.stack([around(time - DAY * (np.ceil((time - origin) / DAY) + j)) for j in range(7)])
        some, all7, sd = quietly(np.nanmean, days[:3], 0), quietly(np.nanmean, days, 0), quietly(np.nanstd, days, 0)
        return [*(days - base), some - base, all7 - base, sd, around(origin - DAY) - last, week]

    def others(self, entity, origin, old, last, short, long):
        if len(self.names) < 2 or len(self.names) > 60:
            return []
        now, change = [], []
        for k, e in enumerate(self.names):
            if k == entity:
                continue
            s = self.series[e, self.target]
            now.append(s.at(origin, old))
            change.append(now[-1] - s.at(origin - short, old))
        now, change = np.stack(now), np.stack(change)
        x = [quietly(np.nanmean, now, 0) - last, quietly(np.nanstd, now, 0), quietly(np.nanmean, change, 0)]
        if len(self.names) <= 30:
            x += list(np.insert(now - last, entity, np.nan, axis=0))
        return x

    def table(self, rows):
        """Columns and bases of rows in any order."""
        x, base = None, np.zeros(len(rows))
        for k in np.unique(rows[:, 0].astype(int)):
            at = np.flatnonzero(rows[:, 0] == k)
            got, base[at] = self.columns(k, rows[at, 1], rows[at, 2])
            if x is None:
                x = np.empty((len(rows), got.shape[1]), np.float32)
            x[at] = got
        return x, base
