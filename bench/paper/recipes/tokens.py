"""Tokens of the summarizer left out, at the longest horizon (protocol 7.3)."""
from plans import cell, network, plan, reference, sets
from sets import SETS, longest

BASE = ("variant", "full")
MISSING = []

# On irregular data the temporal token goes with all that looks at times beside it, the dynamics token with the t token.
TIMELESS = {"no_temporal_token": True, "position": "learned_abs", "irregular_pooling": False, "t_token": "none"}
VARIANTS = [
    ("full", {}, "full"),
    ("no temporal token", {"summarizer": TIMELESS}, "w/o temporal token"),
    ("no dynamics token", {"summarizer": {"no_dynamics_token": True, "t_token": "none"}}, "w/o dynamics token"),
    ("no port token", {"summarizer": {"no_port_token": True}}, "w/o port token"),
]


def cells(quick, device):
    for name in sets(["physionet2012_a", "metar_uk", "crypto", "uci_air"], quick):
        span, horizon = longest(name)
        for seed in (1,):
            for variant, groups, theirs in VARIANTS:
                yield cell("tokens", name, horizon, reference(quick),
                           plan(name, span, network(quick, groups), quick=quick, device=device, seed=seed), variant, seed,
                           ["tokens", SETS[name].paper, horizon, theirs])
