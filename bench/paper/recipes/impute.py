"""Imputation: readings hidden on purpose, 30 % at random or as sensors fail, and who fills them."""
from models import training
from plans import cell, plan, sets
from sets import SETS

BASE = ("model", "anchor")
MISSING = [
    ("the paper's own task (I-3: a hidden history, asked from the past alone)", "docs/spec/model.md 7.2: queries before the "
     "origin are never asked; ours fills gaps from both sides"),
    ("the paper's panels beside ours", "its three panels do not say of which set they are"),
]


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_us", "physionet2012_a"], quick):
        s = SETS[name]
        for gaps in ("random",) if quick else ("random", "outages", "rows", "dead"):
            for model in ("anchor", "default", "reference-tiny", "mtan", "csdi"):
                for seed in (1,):
                    p = plan(name, s.horizons[0][0], training(model, quick), quick=quick, seed=seed,
                             device="cpu" if model == "anchor" else device, score=["--gaps", gaps])
                    yield cell("impute", name, gaps, model, dict(p, task="impute"), seed=seed)
