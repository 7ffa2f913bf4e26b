#!/usr/bin/env python3
"""Generated series of which everything is known: trains a model on each with the program, by validation alone, and
prints what `evaluate` says of its test part (CRPS in deviations of training, truth as measured).

    bench/beds.py [--program build/bin/llapdiff] [--size anchor] [--folder DIR] [BED ...]     needs NumPy

One line a bed: CRPS, coverage of the 50, 80 and 95 % intervals, best opponent, seconds of training, and what validation
chose. --folder keeps the files."""
import argparse, json, os, subprocess, sys, tempfile, time
import numpy as np


def shift(r):
    i = np.arange(1500)
    return i + 473352, [10 + 3 * np.sin(2 * np.pi * i / 24) + r.random(1500) - .5 - 6 * (i > 1300)]


def shift20(r):
    i = np.arange(1500)
    return i + 473352, [10 + 3 * np.sin(2 * np.pi * i / 24) + .5 * r.standard_normal(1500) - 20 * (i > 1300)]


def growth(r):
    i = np.arange(2190)
    y = 100 * np.exp(.47 * i / 365) * (1 + .1 * np.sin(2 * np.pi * i / 7)) * (1 + .04 * (r.random(2190) - .5))
    return 24 * i + 429552, [y]


def glitch(r):
    i, e, y = np.arange(1500), 0.0, np.zeros(1500)
    for k in i:
        e = .8 * e + .6 * r.standard_normal()
        y[k] = 20 + 4 * np.sin(2 * np.pi * k / 24) + e
    y[[300, 700, 1250]] = 65535
    return i + 473352, [y]


def prices(r):
    n, out = 1200, []
    for _ in range(10):
        h = np.cumsum(.05 * r.standard_normal(n))
        h -= np.linspace(0, 1, n) * h[-1]
        out.append(50 * np.exp(np.cumsum(.0008 + .02 * np.exp(h / 2) * r.standard_normal(n))))
    return 24 * np.arange(n) + 429552, out


def saw(r):
    i = np.arange(2000)
    return i, [i % 7 + .3 * r.standard_normal(2000)]


def shares(r):
    x, y = 0.0, np.zeros(3000)
    for k in range(3000):
        x = .95 * x + .6 * r.standard_normal()
        y[k] = 1 / (1 + np.exp(-(x + 1.2 * np.sin(2 * np.pi * k / 24))))
    return np.arange(3000) + 473352, [y]


def counts(r):
    n, i, out = 730, np.arange(730), []
    for e in range(200):
        level, x, walk = np.log([.15, .3, .6, 1.2, 2.5])[e % 5] + .4 * r.standard_normal(), 0.0, np.zeros(n)
        for k in i:
            x = .99 * x + .05 * r.standard_normal()
            walk[k] = x
        rate = np.exp(level + walk) * np.array([1, .9, .9, 1, 1.3, 1.6, .3])[i % 7]
        out.append(r.poisson(rate * r.gamma(2, .5, n)))
    return 24 * i + 429552, out


def thinned(r):
    t, y = counts(r)
    thin = np.random.default_rng(3)
    return t, [thin.binomial(v, .2) for v in y]


def load(r, growth=.12):
    n = 17520
    i, h, d, hol = np.arange(n), np.arange(n) % 24, (np.arange(n) // 24 + 2) % 7, np.zeros(n, bool)
    for day in r.choice(730, 22, False):
        hol[24 * day:24 * day + 24] = True
    wk = 12 * np.exp(-((h - 9) / 2.2)**2 / 2) + 15 * np.exp(-((h - 19) / 2.5)**2 / 2) + 6 * (h > 6)
    we = 8 * np.exp(-((h - 12) / 3)**2 / 2) + 13 * np.exp(-((h - 20) / 2.5)**2 / 2)
    f = np.where((d >= 5) | hol, we, wk) * np.where(d == 4, .93, 1)
    e, T, es, Ts = 0.0, 0.0, np.zeros(n), np.zeros(n)
    for k in i:
        e = .92 * e + .6 * r.standard_normal()
        T = .985 * T + .6 * r.standard_normal()
        es[k], Ts[k] = e, T
    Ts += 12 - 10 * np.cos(2 * np.pi * i / 8766) + 4 * np.sin(2 * np.pi * (h - 9) / 24)
    y = (60 + f + .18 * np.maximum(14 - Ts, 0)**1.5 + .9 * np.maximum(Ts - 20, 0) * (1 + .5 * ((h > 12) & (h < 20))) +
         es) * np.exp(growth * i / 8766)
    return i + 438288, [y], Ts, np.datetime64("2020-01-01") + np.flatnonzero(hol[::24])


def load20(r):
    return load(r, np.log(1.2))  # a year of 8766 h


# name: function, seed, context, horizon, options of train, digits, stride of evaluate
BEDS = {
    "shift": (shift, 7, "48h", "12h", [], 3, "1h"),
    "shift20": (shift20, 7, "48h", "12h", [], 3, "1h"),
    "growth": (growth, 1, "56d", "14d", [], 2, "1d"),
    "glitch": (glitch, 5, "72h", "12h", [], 3, "1h"),
    "prices": (prices, 2, "200d", "20d", [], 3, "5d"),
    "saw": (saw, 8, "60", "14", [], 3, "1"),
    "shares": (shares, 6, "14d", "24h", [], 5, "1h"),
    "counts": (counts, 4, "56d", "14d", [], 0, "5d"),
    "thinned": (thinned, 4, "56d", "14d", [], 0, "5d"),
    "load": (load, 11, "14d", "48h", [], 3, "23h"),
    "load_holidays": (load, 11, "14d", "48h", ["--holidays"], 3, "23h"),
    "load_known": (load, 11, "14d", "48h", ["--holidays", "--known", "temperature"], 3, "23h"),
    "load20": (load20, 21, "14d", "48h", ["--holidays", "--known", "temperature"], 3, "23h"),
}


def write(path, name):
    """The series of a bed as CSV; returns the options of train, with the file of holidays where there are some."""
    make, seed, _, _, options, digits, _ = BEDS[name]
    t, series, *more = make(np.random.default_rng(seed))
    known = more[:1] if "--known" in options else []
    head = ["series"] * (len(series) > 1) + ["time", "y"] + ["temperature"] * len(known)
    with open(path, "w") as f:
        f.write(",".join(head) + "\n")
        for e, y in enumerate(series):
            for k in range(len(t)):
                when = str(t[k]) if name == "saw" else np.datetime_as_string(np.datetime64(int(t[k]), "h")) + ":00:00Z"
                cells = [f"s{e}"] * (len(series) > 1) + [when, f"{y[k]:.{digits}f}"] + [f"{v[k]:g}" for v in known]
                f.write(",".join(cells) + "\n")
    if "--holidays" not in options:
        return options
    with open(path + ".days", "w") as f:
        f.write("date\n" + "".join(f"{day}\n" for day in more[1]))
    return ["-t", "y", "--holidays", path + ".days"] + options[1:]


def run(program, folder, name, size):
    data, model = os.path.join(folder, name + ".csv"), os.path.join(folder, name + ".safetensors")
    options = write(data, name)
    _, _, context, horizon, _, _, stride = BEDS[name]
    begin = time.time()
    subprocess.run([program, "train", data, "-q", "--size", size, "-c", context, "--horizon", horizon, "-o", model,
                    *options], check=True, stdout=subprocess.DEVNULL)
    seconds = time.time() - begin
    answers = [subprocess.run([program, *command, "--json"], check=True, capture_output=True).stdout
               for command in (["evaluate", model, data, "--stride", stride], ["info", model])]
    return seconds, *map(json.loads, answers)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default="build/bin/llapdiff")
    p.add_argument("--folder")
    p.add_argument("--size", default="anchor")
    p.add_argument("bed", nargs="*", choices=[[], *BEDS])
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as other:
        for name in a.bed or BEDS:
            seconds, score, info = run(a.program, a.folder or other, name, a.size)
            target, said = score["targets"][0], info["targets"][0]
            model, *others = target["scores"]
            best = min(others, key=lambda o: o["crps"])
            held = " ".join(f"{100 * i['coverage']:3.0f}" for i in model["intervals"])
            chosen = ", ".join(str(said[k]) for k in ("curve", "drift", "scale", "climate_terms"))
            opponent = f"{best['name']} {best['crps']:.4f}"
            print(f"{name:14} {model['crps']:.4f}  {held}  {opponent:20} {seconds:5.1f} s  {chosen}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
