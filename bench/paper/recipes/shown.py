"""Poles shown (protocol 7.10): of the reference, without a history and moved by histories, at several noise levels; the
picture of each model lies beside its cell."""
from plans import cell, network, plan, reference, sets
from sets import SETS, longest

BASE = None
MISSING = [("what the paper's mean and deviation are of", "it does not say; ours are over noise levels, entities and poles")]
ENTITIES = {"uci_air": ["station1"], "bms_air": ["Aotizhongxin", "Dingling"], "metar_uk": ["uk01", "uk05"],
            "crypto": ["BTC-USD", "ETH-USD"]}


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_uk", "crypto"], quick):
        span, horizon = longest(name)
        for seed in (1,):
            p = plan(name, span, network(quick, {}), quick=quick, device=device, seed=seed, score=[])
            yield cell("shown", name, horizon, reference(quick),
                       dict(p, task="poles", noise=[.001, .25, .5, .75, .999], entities=ENTITIES[name]), seed=seed,
                       published=["poles", SETS[name].paper, "", None])
