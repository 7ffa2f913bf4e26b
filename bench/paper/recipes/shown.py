"""Poles shown (protocol 7.10): of the reference, without a history and moved by histories, at several noise levels; the
picture of each model lies beside its cell."""
from plans import cell, network, plan, reference, sets
from sets import SETS, longest

BASE = None
MISSING = [("what the paper's mean and deviation are of", "it does not say; ours are over noise levels, entities and poles")]
# Whose history, and where it ends: in the test part.
HISTORIES = {
    "uci_air": [("station1", t) for t in ("2005-02-01T00:00:00Z", "2005-02-15T12:00:00Z", "2005-03-01T00:00:00Z",
                                          "2005-03-15T12:00:00Z")],
    "bms_air": [(e, t) for e in ("Aotizhongxin", "Dingling") for t in ("2016-08-01T00:00:00Z", "2016-12-01T12:00:00Z")],
    "metar_uk": [(e, t) for e in ("uk01", "uk05") for t in ("2015-10-01T00:00:00Z", "2015-11-01T12:00:00Z")],
    "crypto": [(e, t) for e in ("BTC-USD", "ETH-USD") for t in ("2021-08-01T00:00:00Z", "2021-12-01T00:00:00Z")],
}


def cells(quick, device):
    for name in sets(["uci_air", "bms_air", "metar_uk", "crypto"], quick):
        span, horizon = longest(name)
        for seed in (1,):
            p = plan(name, span, network(quick, {}), quick=quick, device=device, seed=seed, score=[])
            yield cell("shown", name, horizon, reference(quick),
                       dict(p, task="poles", noise=[.001, .25, .5, .75, .999], histories=HISTORIES[name]), seed=seed,
                       published=["poles", SETS[name].paper, "", None])
