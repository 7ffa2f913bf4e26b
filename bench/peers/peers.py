#!/usr/bin/env python3
"""Peers on exactly the windows, inputs and scores of the program, for every cell of cells.py.

    bench/peers/setup
    LLAP_DATA=... build/peers/bin/python bench/peers/peers.py [--peers lightgbm,patchtst] [--folder DIR] [CELL ...]

Of each cell: `train` as it is by default and `--size anchor`, kept in the folder with their scored windows; each peer
answers the same queries; `evaluate --against` scores it beside the model, with the paired bootstrap. One row a peer:
CRPS of the model, of the anchor, of the peer, how much better the model is (95 % interval), what 50, 80 and 95 %
intervals hold. What is there already is not computed again.

Peers: lightgbm (boosting.py), theta, ets, mstl (classical.py), patchtst, deepar, tft (neural.py, on a GPU where there is
one; `bench/peers/setup build/peers neural` gets what they need). --answers writes the answers of peers alone, on a machine
without the program."""
import argparse
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cells import CELLS, path  # noqa: E402
from windows import Panel, hours  # noqa: E402

NEURAL = ("patchtst", "deepar", "tft")
SPAN = {"h": 1.0, "d": 24.0}


def span(text):
    return float(text[:-1]) * SPAN[text[-1]]


class Cell:
    def __init__(self, name, program, folder, seed):
        self.name, self.program, self.seed = name, program, seed
        _, self.target, self.context, self.horizon, self.reading = CELLS[name]
        self.stem = os.path.join(folder, name.replace(" ", "_"))
        self.data = path(name)

    def run(self, *args):
        return subprocess.run([self.program, *args], check=True, capture_output=True, text=True).stdout

    def train(self, size):
        model = f"{self.stem}.{size}.safetensors"
        if not os.path.exists(model):
            self.run("train", self.data, *self.reading, "-q", "-t", self.target, "-c", self.context, "--horizon",
                     self.horizon, "--size", size, "--seed", str(self.seed), "-o", model)
        return model

    def evaluate(self, model, *more):
        return json.loads(self.run("evaluate", model, self.data, *self.reading, "-q", "--json", *more))["targets"][0]

    def scores(self, size):
        kept = f"{self.stem}.{size}.json"
        if not os.path.exists(kept):
            s = self.evaluate(self.train(size), "--keep", f"{self.stem}.{size}.csv")
            with open(kept, "w") as f:
                json.dump(s, f)
        with open(kept) as f:
            return json.load(f)

    def info(self):
        kept = f"{self.stem}.info.json"
        if not os.path.exists(kept):
            text = self.run("info", self.train("anchor"), "--json")
            with open(kept, "w") as f:
                f.write(text)
        with open(kept) as f:
            return json.load(f)

    def answer(self, peer, a):
        """The file of a peer's quantiles on the windows that were scored."""
        out = f"{self.stem}.{peer}.csv"
        if os.path.exists(out):
            return out
        info = self.info()
        asked = pd.read_csv(f"{self.stem}.anchor.csv", dtype={"entity": str})
        frame = pd.read_csv(self.data, dtype={"entity": str})
        if self.reading == ["--grid", "1h"]:
            frame["time"] = pd.to_datetime(frame["time"], utc=True).dt.round("h")
            frame = frame.groupby(["entity", "time"], as_index=False).last()
        split = info["split"]
        start = [hours(pd.Series([split[k]]))[0] for k in ("val_from", "test_from")]
        panel = Panel(frame, self.target, span(self.context), span(self.horizon), info["step_ns"] / 3.6e12, start[0])
        number = {e: k for k, e in enumerate(panel.names)}
        queries = np.stack([asked["entity"].map(number).to_numpy(float), hours(asked["origin"]),
                            hours(asked["time"])], 1)
        if peer == "lightgbm":
            from boosting import LEVELS, forecast
            q = forecast(panel, start[0], start[1], queries, a.threads)
        elif peer in NEURAL:
            from neural import LEVELS, forecast
            q = forecast(panel, peer, start[0], start[1], queries, a.seconds, a.steps)
        else:
            from classical import LEVELS, forecast
            q = forecast(panel, peer, queries, a.threads)
        for k, level in enumerate(LEVELS):
            asked[f"q{level}"] = q[:, k]
        columns = ["entity", "origin", "time", "variable"] + [f"q{level}" for level in LEVELS]
        asked[columns].to_csv(out + ".part", index=False, float_format="%.6g")
        os.replace(out + ".part", out)
        return out


def held(score):
    return " ".join(f"{100 * i['coverage']:3.0f}" for i in score["intervals"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default="build/bin/llapdiff")
    p.add_argument("--folder", default="build/peers/results")
    p.add_argument("--peers", default="lightgbm,theta,ets,mstl")
    p.add_argument("--size", default="stack")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--answers", action="store_true", help="answer alone, of what the folder has: NAME.anchor.csv and "
                   "NAME.info.json of a cell; needs no program")
    p.add_argument("--seconds", type=float, default=1e9, help="after which a neural peer looks for no better settings")
    p.add_argument("--steps", type=int, default=10 ** 9, help="most training steps of one neural network")
    p.add_argument("cell", nargs="*", choices=[[], *CELLS])
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    if a.answers:
        for name in a.cell or CELLS:
            for peer in a.peers.split(","):
                print(Cell(name, a.program, a.folder, a.seed).answer(peer, a), flush=True)
        return
    print("| cell | default | anchor | best opponent | peer | its CRPS | default better by % | 50 80 95 %, default |\n" + "|---" * 8 + "|")
    for name in a.cell or CELLS:
        cell = Cell(name, a.program, a.folder, a.seed)
        anchor, model = cell.scores("anchor")["scores"][0], cell.scores(a.size)
        best = min(model["scores"][1:], key=lambda s: s["crps"])
        for peer in a.peers.split(","):
            file = cell.answer(peer, a)
            s = cell.evaluate(cell.train(a.size), "--against", file)
            other = next(x for x in s["scores"] if x["name"] not in {y["name"] for y in model["scores"]})
            skill = other.get("model_against", {}).get("skill", {})
            better = " ".join(f"{100 * skill[k]:.1f}" for k in ("value", "low", "high") if k in skill)
            print(f"| {name} | {s['scores'][0]['crps']:.4f} | {anchor['crps']:.4f} | {best['name']} {best['crps']:.4f} "
                  f"| {peer} | {other['crps']:.4f} | {better} | {held(s['scores'][0])} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
