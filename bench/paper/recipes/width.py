"""Width of the latent (protocol 7.7)."""
from plans import cell, network, plan, reference, sets
from sets import SETS, longest

BASE = ("variant", "24 channels")
QUICK_BASE = ("variant", "8 channels")
MISSING = []


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_us"], quick):
        span, horizon = longest(name)
        for seed in (1,):
            for z in (4, 8, 16) if quick else (8, 16, 24, 32, 64):
                groups = {"vae": {"latent": z}, "denoiser": {"data_dim": z}}
                yield cell("width", name, horizon, reference(quick),
                           plan(name, span, network(quick, groups), quick=quick, device=device, seed=seed), f"{z} channels",
                           seed, ["width", SETS[name].paper, horizon, str(z)])
