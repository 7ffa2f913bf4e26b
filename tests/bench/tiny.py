"""The recipe that tests/bench/paper.py runs: two models on a made-up set, and their judge."""
import json

from plans import cell

BASE = ("model", "anchor")
MISSING = [("what is left out", "because it is a test")]
SHORT = ["--training", json.dumps({"anchor": {"steps": 5}})]
WINDOW = ["-t", "v0", "-c", "24h", "--horizon", "6h"]


def plan(train, **more):
    return {"task": "forecast", "data": {"file": "made", "changes": []}, "reading": ["--grid", "1h"], "window": WINDOW,
            "judge": SHORT, "train": train, "score": ["-n", "20"], "seed": 1, "device": "cpu", **more}


def cells(quick, device):
    reference = ["--profile", "reference", "--size", "tiny", "--steps"]
    hidden = {"changes": [["hide", .5]], "reading": ["--grid", "1h"], "train": []}
    yield cell("tiny", "made", "6", "anchor", plan(["--size", "anchor", *SHORT], clock=True))
    yield cell("tiny", "made", "6", "dlinear", plan(["--rival", "dlinear", "--steps", "20"], seen=hidden), "half hidden")
    yield cell("tiny", "made", "6", "reference", plan([*reference, "600"]), "64 steps",
               published=["main", "uci_air", "24", "LLapDiff"])
    yield cell("tiny", "made", "6", "reference", plan([*reference, "600"], sampling=16), "16 steps")
