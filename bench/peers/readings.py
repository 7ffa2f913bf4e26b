"""Rows of a data set as they are, and what the program hides of them when it learns to fill."""
import numpy as np
import pandas as pd


class Readings:
    """Rows in order of entity and time; x [rows,columns], NaN: not read. Times are hours, or numbers as they are."""

    def __init__(self, frame):
        self.calendar = not pd.api.types.is_numeric_dtype(frame["time"])
        t = frame["time"]
        if self.calendar:
            t = pd.to_datetime(t, utc=True).astype("datetime64[ns, UTC]").astype("int64") / 3.6e12
        frame = frame.assign(hours=t.astype(float)).sort_values(["entity", "hours"], kind="stable")
        self.written = frame["time"].astype(str).to_numpy()
        self.t = frame["hours"].to_numpy()
        self.names, self.entity = np.unique(frame["entity"].astype(str), return_inverse=True)
        self.columns = [c for c in frame.columns if c not in ("entity", "time", "hours")]
        self.x = frame[self.columns].to_numpy(float)
        self.first = np.searchsorted(self.entity, np.arange(len(self.names) + 1))
        steps = np.diff(self.t)[np.diff(self.entity) == 0]
        self.step = np.median(steps[steps > 0])
        self.joint = self.calendar and len(self.names) > 1
        self.day = self.calendar and self.step <= 6

    def at(self, entity, t):
        """Rows of an entity closest to times, within half a step; -1: none."""
        a, b = self.first[entity], self.first[entity + 1]
        k = np.clip(np.searchsorted(self.t[a:b], t), 1, max(b - a - 1, 1)) + a
        k = np.minimum(k, b - 1)
        k = np.where((k > a) & (np.abs(self.t[k - 1] - t) < np.abs(self.t[k] - t)), k - 1, k)
        return np.where(np.abs(self.t[k] - t) < self.step / 2, k, -1)

    def random(self, rng):
        return rng.random(self.x.shape) < .3

    def outages(self, rng):
        hidden = rng.random(self.x.shape) < .1
        V = self.x.shape[1]
        for e in range(len(self.names)):
            rows = slice(self.first[e], self.first[e + 1])
            t = self.t[rows]
            for v in range(V + 1):
                out = np.zeros(len(t), bool)
                if self.calendar:
                    at = t[0]
                    while at < t[-1]:
                        at += rng.exponential(192 * (2 if v == V else 1) * (1 if self.day else self.step))
                        long = 6 * 8 ** rng.random() * (1 if self.day else self.step)
                        out |= (t >= at) & (t < at + long)
                        at += long
                elif rng.random() < (.2 if v == V else .4):
                    at = t[0] + (t[-1] - t[0]) * rng.random()
                    out = (t >= at) & (t < at + 3 * 4 ** rng.random() * self.step)
                hidden[rows, v if v < V else slice(None)] |= out if v < V else out[:, None]
        return hidden
