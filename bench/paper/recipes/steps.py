"""Sampling steps of one trained reference (protocol 7.5): CRPS and seconds of a forecast."""
from plans import cell, network, plan, reference, sets
from sets import SETS, longest

BASE = ("variant", "64 steps")
MISSING = []
MADE = {16: 11, 32: 19, 64: 33, 128: 59}  # without those that the list has twice (docs/spec/model.md 8.12)


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_us"], quick):
        span, horizon = longest(name)
        for seed in (1,):
            for steps in MADE:
                yield cell("steps", name, horizon, reference(quick),
                           plan(name, span, network(quick, {}), quick=quick, device=device, seed=seed, sampling=steps, clock=True),
                           f"{steps} steps", seed, ["steps", SETS[name].paper, horizon, str(steps)])
