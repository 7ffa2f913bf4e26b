"""Four rivals in the small form that the paper compared itself with: how much of its table is their handicap."""
from models import ADAPTERS, training
from plans import QUICK_SETS, cell, main_figure, plan, seeds
from sets import SETS, longest

BASE = ("model", "anchor")
MISSING = [
    ("TimeGrad, mr-Diff, mTAN and ContiFormer", "what stood there were other networks than these models (docs/spec/rivals.md 12)"),
]


def cells(quick, device):
    for name in QUICK_SETS if quick else SETS:
        for horizon in [longest(name)] if quick else SETS[name].horizons:
            yield cell("adapter", name, horizon[1], "anchor", plan(name, horizon[0], training("anchor"), quick=quick, clock=True))
            for model in ADAPTERS:
                for seed in seeds(quick):
                    yield cell("adapter", name, horizon[1], model,
                               plan(name, horizon[0], training(model, quick, "adapter"), quick=quick, device=device, seed=seed),
                               variant="adapter", seed=seed, published=main_figure(name, horizon[1], model))
