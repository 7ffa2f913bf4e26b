"""Missingness stress (protocol 4.3): models learn and answer with fewer readings; the truth is that of the whole file.

A: that share of all values is hidden, of inputs and targets, of contexts and of what is learned from; the protocol's 4.1
leaves what is learned from alone. B, the paper's words: times at which less than that share of all values is there are
left out. All levels are answered as quantiles at the windows of the whole file."""
from models import training
from plans import cell, plan, sets
from sets import SETS, longest

BASE = ("variant", "whole")
MISSING = [
    ("contexts alone hidden (protocol 4.1)", "the library has it (data/windows), `train` and `evaluate` have no option for it"),
    ("days that few entities end a window on (protocol 4.2)", "likewise; B is what the paper's text says"),
]


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_us", "metar_uk", "crypto"], quick):
        s, (span, horizon) = SETS[name], longest(name)
        for model in ("anchor", "default", "reference-tiny"):
            for seed in (1,):
                for kind, change in (("A", "hide"), ("B", "times")):
                    for percent in (0, 40, 80) if quick else (0, 20, 40, 60, 80):
                        if percent == 0 and kind == "B":
                            continue
                        seen = {"changes": [[change, percent / 100]] if percent else [], "reading": s.reading, "train": []}
                        yield cell("missing", name, horizon, model,
                                   plan(name, span, training(model, quick), quick=quick,
                                        device="cpu" if model == "anchor" else device, seed=seed, seen=seen),
                                   f"{kind} {percent} %" if percent else "whole", seed,
                                   ["stress", s.paper, horizon, str(percent)] if model == "reference-tiny" else None)
