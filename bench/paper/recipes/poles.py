"""Number of poles K of the reference (protocol 7.6): CRPS, and seconds of a forecast."""
from plans import cell, network, plan, reference, sets
from sets import SETS, longest

BASE = ("variant", "K 256")
QUICK_BASE = ("variant", "K 16")
MISSING = [("the paper's milliseconds beside ours", "their hardware, batch and count of samples are not said")]


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_us"], quick):
        for span, horizon in [longest(name)] if quick else SETS[name].horizons:
            for seed in (1,):
                for k in (4, 16, 64) if quick else (16, 32, 64, 128, 256, 512):
                    yield cell("poles", name, horizon, reference(quick),
                               plan(name, span, network(quick, {"denoiser": {"laplace_k": k}}), quick=quick, device=device,
                                    seed=seed, clock=True), f"K {k}", seed)
