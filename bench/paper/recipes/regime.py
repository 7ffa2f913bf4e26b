"""Regime shift on made-up oscillators (protocol 7.9): frequency or decay is multiplied from a row on.

crossing: windows that reach over the change; after: contexts that end behind it. Two geometries. boundary: 288 rows,
change at 216, stations split by entity, so that training has seen other stations change (the published split by time of
each station has no equal here). unseen: 432 rows, change at 373, split by time, so that nothing has seen a change."""
from datetime import datetime, timedelta, timezone

from changes import stamp
from models import training
from plans import cell, network, reference, seeds

BASE = ("variant", "adaptive poles")
MISSING = [("the published contiguous split of each series", "`train` splits by time (purged) or by entity")]

POLES = [("adaptive poles", {}), ("poles not moved by the history", {"denoiser": {"fixed_poles": True}}),
         ("no conditioning", {"noise": {"unconditional": 1}, "sampling": {"guidance_from": 0, "guidance_to": 0,
                                                                          "guidance_rescale": False}})]
GEOMETRIES = {"boundary": (288, 216, 12, ["--entities", "independent"]), "unseen": (432, 373, 48, ["--shares", "60,20,20"])}


def at(row):
    return stamp(datetime(2000, 1, 1, tzinfo=timezone.utc) + timedelta(hours=row))


def plan(kind, multiplier, geometry, train, quick, device, seed):
    rows, change, before, split = GEOMETRIES[geometry]
    slices = {"crossing": [at(change - before), at(change - 1)], "after": [at(change), at(rows)]}
    return {"task": "forecast", "data": {"regime": [kind, multiplier, rows, change, 16 if quick else 64], "changes": []},
            "reading": ["--grid", "1h"], "window": ["-t", "x", "-c", "96h", "--horizon", "48h", *split], "judge": [],
            "train": train, "score": ["-n", "50" if quick else "100", "--stride", "1h"], "slices": slices, "seed": seed,
            "device": device}


def cells(quick, device):
    for kind, multipliers in (("frequency", (1.5, 2., 2.5, 3.)), ("decay", (1.25, 1.5, 2., 2.5))):
        for multiplier in ((2.,) if kind == "frequency" else (2.5,)) if quick else multipliers:
            for geometry in GEOMETRIES:
                for seed in seeds(quick):
                    name = f"{kind} x{multiplier:g}, {geometry}"
                    for variant, groups in POLES:
                        yield cell("regime", name, "48", reference(quick),
                                   plan(kind, multiplier, geometry, network(quick, groups), quick, device, seed), variant, seed,
                                   ["regime", f"{kind} x{multiplier}", "48", "to"] if geometry == "boundary" and not groups
                                   else None)
                    for model in ("anchor", "dlinear", "patchtst"):
                        yield cell("regime", name, "48", model,
                                   plan(kind, multiplier, geometry, training(model, quick), quick,
                                        "cpu" if model == "anchor" else device, seed), seed=seed)
