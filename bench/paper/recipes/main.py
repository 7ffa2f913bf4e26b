"""The main table: every model on every set, at every horizon, with every seed."""
from models import MODELS, cut, training
from plans import QUICK_SETS, cell, main_figure, plan, seeds
from sets import SETS, longest

BASE = ("model", "default")
MISSING = [
    ("NOAA US and UK of 2021-24, 45 and 7 stations", "not among the data sets; METAR reports of other stations stand for them"),
    ("LightGBM on physionet2012_a", "bench/peers reads times of a calendar"),
]


def wanted(name, horizon, model, quick):
    if training(model, quick) is None:
        return False
    if model == "lightgbm":
        return name != "physionet2012_a"
    if model == "reference-paper":
        return name in ("uci_air", "bms_air") and horizon == longest(name)
    return True


def cells(quick, device):
    for name in QUICK_SETS if quick else SETS:
        for horizon in [SETS[name].horizons[0], longest(name)] if quick else SETS[name].horizons:
            for model in MODELS:
                if not wanted(name, horizon, model, quick):
                    continue
                for seed in seeds(quick) if model != "lightgbm" else (1,):
                    on = "cpu" if model in ("anchor", "lightgbm") else device
                    yield cell("main", name, horizon[1], model,
                               plan(name, horizon[0], training(model, quick), quick=quick, device=on, seed=seed,
                                    clock=model not in ("lightgbm",)),
                               seed=seed, variant=cut(model) if quick else "",
                               published=main_figure(name, horizon[1], model))
