"""Changed copies of a data file: what the experiments do to readings, by a seed and the entity's name, never by chance.

A change is a list: a name and its numbers. Tables are a header and rows of strings: entity, time, values."""
import csv
import gzip
import io
import math
import os
import random
from datetime import datetime, timedelta, timezone

STEP = timedelta(hours=1)


def read(path):
    with (gzip.open(path, "rt", newline="") if path.endswith(".gz") else open(path, newline="")) as f:
        rows = csv.reader(f)
        return next(rows), list(rows)


def write(path, header, rows):
    """Equal tables, equal bytes; the file is there as a whole or not at all."""
    text = io.StringIO()
    w = csv.writer(text, lineterminator="\n")
    w.writerow(header)
    w.writerows(rows)
    with open(path + ".part", "wb") as f:
        f.write(gzip.compress(text.getvalue().encode(), 5, mtime=0) if path.endswith(".gz") else text.getvalue().encode())
    os.replace(path + ".part", path)


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def stamp(time):
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def by_entity(rows):
    out = {}
    for r in rows:
        out.setdefault(r[0], []).append(r)
    return out.items()


def draws(change, entity):
    return random.Random(f"{change}:{entity}")


def entities(header, rows, most):
    """The first ones by name."""
    keep = set(sorted({r[0] for r in rows})[:most])
    return header, [r for r in rows if r[0] in keep]


def hide(header, rows, share):
    """That share of the values, each by itself, of all columns and all the time."""
    out = []
    for e, own in by_entity(rows):
        rng = draws(["hide", share], e)
        out += [r[:2] + ["" if v and rng.random() < share else v for v in r[2:]] for r in own]
    return header, out


def times(header, rows, least):
    """Times go at which less than that share of entities and columns has a value."""
    n = len({r[0] for r in rows}) * (len(header) - 2)
    there = {}
    for r in rows:
        there[r[1]] = there.get(r[1], 0) + sum(v != "" for v in r[2:])
    return header, [r for r in rows if there[r[1]] >= least * n]


def thin(header, rows, share):
    """That share of the rows is lost, each by itself."""
    out = []
    for e, own in by_entity(rows):
        rng = draws(["thin", share], e)
        out += [r for r in own if rng.random() >= share]
    return header, out


def bursts(header, rows, share):
    """That share of the rows is lost in runs: six hours of rows on average, then silence."""
    out = []
    for e, own in by_entity(rows):
        rng = draws(["bursts", share], e)
        silent, end = rng.random() < share, None
        for r in own:
            t = instant(r[1])
            end = end or t
            while t >= end:
                silent = not silent
                end += STEP * rng.expovariate(1 / (6 * share / (1 - share) if silent else 6))
            if not silent:
                out.append(r)
    return header, out


def jitter(header, rows, most):
    """Clocks that are wrong: each row's time is moved by up to so many steps (below a half), its values stay."""
    out = []
    for e, own in by_entity(rows):
        rng = draws(["jitter", most], e)
        out += [[e, stamp(instant(r[1]) + STEP * rng.uniform(-most, most)), *r[2:]] for r in own]
    return header, out


def returns(header, rows):
    """Of daily bars: log changes of the prices and of the volume, ratios within the day, volatility of span 20."""
    at = [header.index(c) for c in ("close", "open", "high", "low", "volume")]
    names = ["return", "open_change", "high_change", "low_change", "close_open", "open_close_before", "high_low",
             "volume_change", "volatility"]
    log = lambda v: math.log(float(v)) if v and float(v) > 0 else None
    less = lambda a, b: "" if a is None or b is None else f"{a - b:.7g}"
    out = []
    for e, own in by_entity(rows):
        before, variance = [None] * 5, None
        for r in own:
            c, o, h, low, v = now = [log(r[i]) for i in at]
            if c is not None and before[0] is not None:
                square = (c - before[0]) ** 2
                variance = square if variance is None else variance + (square - variance) * 2 / 21
            changes = [less(a, b) for a, b in zip(now, before)]
            out.append([e, r[1], *changes[:4], less(c, o), less(o, before[0]), less(h, low), changes[4],
                        "" if variance is None else f"{math.sqrt(variance):.7g}"])
            before = now
    return ["entity", "time", *names], out


def regime(kind, multiplier, rows, change, n=64):
    """Damped oscillators whose frequency or decay is multiplied from row `change` on (protocol 7.9); the draws are
    Python's, not those of the published generator."""
    rng, out = random.Random(20260327 if kind == "frequency" else 20260328), []
    for e in range(n):
        a, c, phase = rng.uniform(.8, 1.2), rng.uniform(-.1, .1), rng.uniform(0, 2 * math.pi)
        f, d = rng.uniform(1 / 48, 1 / 24), rng.uniform(.002, .01)
        turns = fall = 0.0
        for t in range(rows):
            late = t >= change
            turns += f * (multiplier if late and kind == "frequency" else 1)
            fall += d * (multiplier if late and kind == "decay" else 1)
            x = c + a * math.exp(-fall) * math.sin(phase + 2 * math.pi * turns) + rng.gauss(0, .05)
            out.append([f"e{e:02}", stamp(datetime(2000, 1, 1, tzinfo=timezone.utc) + t * STEP), f"{x:.6f}"])
    return ["entity", "time", "x"], out


CHANGES = {"entities": entities, "hide": hide, "times": times, "thin": thin, "bursts": bursts, "jitter": jitter,
           "returns": returns}


def apply(header, rows, changes):
    for name, *numbers in changes:
        header, rows = CHANGES[name](header, rows, *numbers)
    return header, rows
