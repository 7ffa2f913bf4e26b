#!/usr/bin/env python3
"""LightGBM of bench/peers on the windows of an evaluation, run by the interpreter of bench/peers/setup.

    boosted.py DATA ASKED.csv INFO.json OUT.csv WINDOW READING THREADS      (WINDOW, READING: options of train, as JSON)"""
import json
import os
import sys

import numpy as np
import pandas as pd

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peers"))
from boosting import LEVELS, forecast  # noqa: E402
from windows import Panel, hours  # noqa: E402

SPAN = {"h": 1.0, "d": 24.0}


def span(options, name):
    text = options[options.index(name) + 1]
    return float(text[:-1]) * SPAN[text[-1]]


def main():
    data, kept, described, out, window, reading, threads = sys.argv[1:]
    window, reading = json.loads(window), json.loads(reading)
    with open(described) as f:
        info = json.load(f)
    asked, frame = pd.read_csv(kept, dtype={"entity": str}), pd.read_csv(data, dtype={"entity": str})
    if reading == ["--grid", "1h"]:
        frame["time"] = pd.to_datetime(frame["time"], utc=True).dt.round("h")
        frame = frame.groupby(["entity", "time"], as_index=False).mean()
    start = [hours(pd.Series([info["split"][k]]))[0] for k in ("val_from", "test_from")]
    panel = Panel(frame, window[window.index("-t") + 1], span(window, "-c"), span(window, "--horizon"),
                  info["step_ns"] / 3.6e12, start[0])
    number = {e: k for k, e in enumerate(panel.names)}
    queries = np.stack([asked["entity"].map(number).to_numpy(float), hours(asked["origin"]), hours(asked["time"])], 1)
    q = forecast(panel, start[0], start[1], queries, int(threads))
    for k, level in enumerate(LEVELS):
        asked[f"q{level}"] = q[:, k]
    asked[["entity", "origin", "time", "variable", *[f"q{level}" for level in LEVELS]]].to_csv(out, index=False)


if __name__ == "__main__":
    main()
