"""Cells of recipes. A cell says what it is called and, in its plan, everything that its numbers depend on."""
import json

from models import in_paper, training
from sets import SETS

SEEDS = (1, 2, 3)
QUICK_SETS = ["uci_air", "metar_uk"]


def options(s, span):
    return ["-t", s.target, "-c", s.context, "--horizon", span, *s.train]


def plan(name, span, train, *, quick, device="cpu", seed=1, **more):
    """`more`: seen (what the model trains on instead: changes, reading, train), sampling, slices, clock, score."""
    s = SETS[name]
    score = more.pop("score", ["-n", "50", "--stride", "95h"] if quick else ["-n", "100"])
    return {"task": "forecast", "data": {"file": s.file, "changes": s.changes}, "reading": s.reading,
            "window": options(s, span), "judge": [], "train": train, "score": score, "seed": seed, "device": device, **more}


def cell(recipe, name, horizon, model, plan, variant="", seed=1, published=None):
    """published: how the paper's figure is found: table, set, horizon, variant; names that the paper has not find none."""
    return {"recipe": recipe, "set": name, "horizon": horizon, "model": model, "variant": variant, "seed": seed,
            "published": published, "plan": plan}


def main_figure(name, horizon, model):
    return ["main", SETS[name].paper, horizon, in_paper(model)] if SETS[name].paper and in_paper(model) else None


def sets(full, quick):
    return QUICK_SETS if quick else full


def seeds(quick):
    return (1,) if quick else SEEDS


def reference(quick):
    """The paper's own model, at the size that there is time for."""
    return "reference-tiny" if quick else "reference-paper"


def network(quick, groups):
    """Options of the reference with some of its configuration changed."""
    return training(reference(quick), quick) + (["--network", json.dumps(groups)] if groups else [])
