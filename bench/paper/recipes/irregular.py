"""Irregularity stress: rows thinned, times moved, rows in bursts; models read the rows as they are, without a grid. The
truth is that of the whole file, at its windows and times."""
from models import training
from plans import cell, plan, sets
from sets import longest

BASE = ("variant", "whole")
MISSING = []
LEVELS = [("rows lost", "thin", (.25, .5, .75)), ("in bursts, lost", "bursts", (.25, .5, .75)),
          ("clock wrong by up to steps", "jitter", (.1, .25, .45))]


def variants(quick):
    yield "whole", []
    for words, change, levels in LEVELS:
        for x in levels[1:2] if quick else levels:
            yield f"{words} {x:g}", [[change, x]]


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_us"], quick):
        span, horizon = longest(name)
        for model in ("anchor", "default", "reference-tiny", "mtan", "neuralcde", "dlinear"):
            for seed in (1,):
                for variant, changes in variants(quick):
                    seen = {"changes": changes, "reading": [], "train": ["--step", "1h"]}
                    yield cell("irregular", name, horizon, model,
                               plan(name, span, training(model, quick), quick=quick,
                                    device="cpu" if model == "anchor" else device, seed=seed, seen=seen), variant, seed)
