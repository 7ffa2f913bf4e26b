#!/usr/bin/env python3
"""LightGBM, SAITS and CSDI beside the program at filling gaps, on exactly its hidden values, scored by it.

    bench/peers/setup
    LLAP_DATA=... build/peers/bin/python bench/peers/fills.py [--peers lightgbm,saits,csdi] [--folder DIR] [SET ...]

Of each set: `train --size anchor`, kept in the folder; `evaluate --task impute --gaps ... --keep` says which values are
hidden and scored; a peer fills them from all that is left (boosted_fills.py, neural_fills.py); `evaluate --against`
scores it beside the model, with the paired bootstrap. One row a set, pattern and peer: CRPS of the model, of the straight
line and of the peer, how much better the model is (95 % interval), what 50, 80 and 95 % intervals hold, both. What is
there already is not computed again."""
import argparse
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from readings import Readings  # noqa: E402

VITALS = "HR,SysABP,DiasABP,MAP,NISysABP,NIDiasABP,Temp,RespRate"
DAYS = ["-c", "14d", "--horizon", "24h"]


def stations(frame, n, days=None):
    frame = frame[frame["entity"].isin(sorted(frame["entity"].unique())[:n])]
    if days is None:
        return frame
    t = pd.to_datetime(frame["time"])
    return frame[t > t.max() - pd.Timedelta(days=days)]


def on_hours(frame):
    """As --grid 1h has them."""
    frame = frame.assign(time=pd.to_datetime(frame["time"], utc=True).dt.round("h"))
    frame = frame.groupby(["entity", "time"], as_index=False).mean()
    return frame.assign(time=frame["time"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"))


def patients(frame, n):
    """The first of them, with the columns that are read in 9 % of their rows."""
    frame = frame[frame["entity"].isin(frame["entity"].unique()[:n])]
    share = frame.drop(columns=["entity", "time"]).notna().mean()
    return frame[["entity", "time", *share[share >= .09].index]]


# name: file, what is taken of it, options of training
SETS = {
    "uci": ("uci_air", lambda f: f, DAYS),
    "bms": ("bms_air", lambda f: stations(f, 6, 500), ["-t", "PM2.5", *DAYS]),
    "metar": ("metar_us", lambda f: stations(f, 8), ["-t", "temperature", *DAYS]),
    "metar_hours": ("metar_us", lambda f: on_hours(stations(f, 8)), ["-t", "temperature", *DAYS]),
    "physionet": ("physionet2012_a", lambda f: patients(f, 1500),
                  ["-t", VITALS, "-c", "24", "--horizon", "24", "--entities", "independent"]),
}


class Set:
    def __init__(self, name, a):
        self.name, self.a = name, a
        file, take, self.training = SETS[name]
        self.stem = os.path.join(a.folder, "fills_" + name)
        self.data, self.model = self.stem + ".csv", self.stem + ".safetensors"
        if not os.path.exists(self.data):
            frame = pd.read_csv(os.path.join(os.environ["LLAP_DATA"], file + ".csv.gz"), dtype={"entity": str})
            take(frame).to_csv(self.data, index=False)

    def run(self, *args):
        threads = ["--threads", str(self.a.threads)]
        return subprocess.run([self.a.program, *args, *threads], check=True, stdout=subprocess.PIPE, text=True).stdout

    def train(self):
        if not os.path.exists(self.model):
            self.run("train", self.data, "-q", "--size", "anchor", "--seed", "1", *self.training, "-o", self.model,
                     "--state", "none")

    def evaluate(self, gaps, *more):
        return json.loads(self.run("evaluate", self.model, self.data, "-q", "--json", "--task", "impute", "--gaps",
                                   gaps, *more))

    def parts(self, readings):
        """Of every row: 0 training, 1 validation, 2 test."""
        kept = self.stem + ".info.json"
        if not os.path.exists(kept):
            text = subprocess.run([self.a.program, "info", self.model, "--json"], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout
            with open(kept, "w") as f:
                f.write(text)
        with open(kept) as f:
            info = json.load(f)
        if readings.calendar:
            start = [pd.Timestamp(info["split"][k]).timestamp() / 3600 for k in ("val_from", "test_from")]
            return (readings.t >= start[0]).astype(int) + (readings.t >= start[1])
        of = {e: k for k, part in enumerate(("train", "validation", "test")) for e in info["split"][part]}
        return np.array([of.get(e, 2) for e in readings.names])[readings.entity]

    def kept(self, gaps):
        kept = f"{self.stem}.{gaps}.csv"
        if not os.path.exists(kept):
            self.evaluate(gaps, "--keep", kept)
        return pd.read_csv(kept, dtype={"entity": str, "time": str})

    def answers(self, peer, patterns):
        """One fit of a peer fills all patterns."""
        files = [f"{self.stem}.{gaps}.{peer}.csv" for gaps in patterns]
        if all(os.path.exists(f) for f in files):
            return files
        readings = Readings(pd.read_csv(self.data, dtype={"entity": str}))
        tables, part = [self.kept(gaps) for gaps in patterns], self.parts(readings)
        filled = set().union(*(t["variable"][t["q0.5"].notna()] for t in tables))
        targets = [c for c in readings.columns if c in filled]
        if peer == "lightgbm":
            from boosted_fills import fill
            answers = fill(readings, part, tables, targets, self.a.threads)
        else:
            from neural_fills import fill
            answers = fill(readings, part, tables, targets, peer, self.a.seconds, self.a.steps)
        for file, answer in zip(files, answers):
            answer.to_csv(file, index=False)
        return files

    def row(self, peer_name, gaps, answers):
        j = self.evaluate(gaps, "--against", answers)
        j = j["all"] if "all" in j else j["targets"][0]
        of = {s["name"]: s for s in j["scores"]}
        ours, line = of["model"], of["linear"]
        peer = next(s for n, s in of.items() if n.startswith("fills_"))
        skill = peer["model_against"]["skill"]
        better = f"{100 * skill['value']:.1f} [{100 * skill['low']:.1f}, {100 * skill['high']:.1f}]"
        held = [" ".join(f"{100 * i['coverage']:.1f}" for i in s["intervals"]) for s in (ours, peer)]
        return (f"| {self.name} {gaps} | {peer_name} | {ours['crps']:.4f} | {line['crps']:.4f} | {peer['crps']:.4f} | "
                f"{ours['crps'] / line['crps']:.3f} | {peer['crps'] / line['crps']:.3f} | {better} | {held[0]} | {held[1]} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default="build/bin/llapdiff")
    p.add_argument("--folder", default="build/peers/results")
    p.add_argument("--gaps", default="random,outages")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--peers", default="lightgbm")
    p.add_argument("--answers", action="store_true", help="answer alone, of what the folder has: fills_NAME.csv, "
                   ".info.json and .GAPS.csv of a set; needs no program")
    p.add_argument("--seconds", type=float, default=1e9, help="after which a neural peer ends its training")
    p.add_argument("--steps", type=int, default=10 ** 9, help="most training steps of one neural network")
    p.add_argument("set", nargs="*", choices=[[], *SETS])
    a = p.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    print("| set, gaps | peer | model | line | its CRPS | model / line | its / line | model better by % | 50 80 95 % | its |\n"
          + "|---" * 10 + "|")
    for name in a.set or SETS:
        s = Set(name, a)
        patterns = a.gaps.split(",")
        if not a.answers:
            s.train()
        for peer in a.peers.split(","):
            for gaps, answers in zip(patterns, s.answers(peer, patterns)):
                print(answers if a.answers else s.row(peer, gaps, answers), flush=True)


if __name__ == "__main__":
    sys.exit(main())
