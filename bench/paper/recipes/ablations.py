"""Parts of the reference left out in training, at the longest horizon (protocol 7.2), and parts of the default profile's
networks."""
import json

from plans import cell, network, plan, reference, sets
from sets import SETS, longest

BASE = ("variant", "full")
MISSING = [
    ("no latent space", "`train` refuses options.latent identity in the reference profile: its stages are of latents; "
     "the smallest way to it: let stage 1 be left out and give stage 3 the scaled targets"),
    ("summarizer trained with the denoiser", "`train` refuses options.joint_summarizer: stage 3 reads summaries that were "
     "computed once; the smallest way to it: put the summarizer's graph before the denoiser's in its loss"),
    ("no summary of the history, default profile", "`train` refuses options.conditioning false there"),
]

# name, configuration of the networks, name in the paper
REFERENCE = [
    ("full", {}, "full"),
    ("no conditioning", {"noise": {"unconditional": 1}, "sampling": {"guidance_from": 0, "guidance_to": 0,
                                                                     "guidance_rescale": False}}, "w/o conditioning"),
    ("poles not moved by the history", {"denoiser": {"fixed_poles": True}}, None),
    ("poles neither moved nor learned", {"denoiser": {"fixed_poles": True, "frozen_poles": True}}, "w/o learned poles"),
]
DEFAULT = [
    ("full", {}),
    ("no anchor", {"features": {"residual": "none"}}),
    ("poles neither moved nor learned", {"denoiser": {"fixed_poles": True, "frozen_poles": True}}),
]


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_us", "us_equity"], quick):
        span, horizon = longest(name)
        for seed in (1,):
            for variant, groups, theirs in REFERENCE:
                yield cell("ablations", name, horizon, reference(quick),
                           plan(name, span, network(quick, groups), quick=quick, device=device, seed=seed), variant, seed,
                           ["training", SETS[name].paper, horizon, theirs] if theirs else None)
            for variant, groups in DEFAULT:
                size = ["--size", "tiny", "--steps", "100"] if quick else ["--size", "small"]
                yield cell("ablations", name, horizon, size[1],
                           plan(name, span, size + (["--network", json.dumps(groups)] if groups else []), quick=quick,
                                device=device, seed=seed), variant, seed)
