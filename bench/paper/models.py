"""What is compared: the options that make `train` fit each model, those of a quick run, and the paper's name for it.

A quick run has small networks and few steps, so that it shows that all of it works; of the rivals it says nothing."""
import json

REFERENCE = ["--profile", "reference", "--size"]
ANCHOR = ["--size", "anchor"]

# name: options of a full run, options of a quick one (None: not in quick runs), name in the paper
MODELS = {
    "anchor": (ANCHOR, ANCHOR, None),
    "default": ([], [], None),
    "small": (["--size", "small"], None, None),
    "reference-tiny": ([*REFERENCE, "tiny"], [*REFERENCE, "tiny"], "LLapDiff"),
    "reference-paper": ([*REFERENCE, "paper"], None, "LLapDiff"),
    "dlinear": (None, ["--steps", "400"], "DLinear"),
    "patchtst": (None, ["--steps", "200", "--batch", "32"], "PatchTST"),
    "mrdiff": (None, ["--steps", "100", "--batch", "16"], "mr-Diff"),
    "timegrad": (None, ["--steps", "60", "--batch", "16"], "TimeGrad"),
    "mtan": (None, ["--steps", "60", "--batch", "8"], "mTAN"),
    "tpatchgnn": (None, ["--steps", "60", "--batch", "8"], "T-PatchGNN"),
    "contiformer": (None, ["--steps", "30", "--batch", "8"], "ContiFormer"),
    "neuralcde": (None, ["--steps", "60", "--batch", "8"], "NeuralCDE"),
    "csdi": (None, ["--steps", "40", "--batch", "8"], "CSDI"),
    "lightgbm": (["lightgbm"], ["lightgbm"], None),
}
RIVALS = ["dlinear", "patchtst", "mrdiff", "timegrad", "mtan", "tpatchgnn", "contiformer", "neuralcde", "csdi"]
ADAPTERS = ["dlinear", "patchtst", "tpatchgnn", "neuralcde"]  # CSDI's is of filling

# Of rivals in quick runs: networks that a processor can train in minutes.
SMALL = {
    "patchtst": {"width": 16, "heads": 4, "ff": 32, "layers": 2},
    "mrdiff": {"width": 32, "width_in": 16, "width_enc": 32, "step_width": 16, "noise_steps": 20},
    "timegrad": {"cells": 16, "cond": 16, "blocks": 2, "noise_steps": 20},
    "mtan": {"n_ref": 24, "embed": 16, "rec": 16, "gen": 16, "latent": 8},
    "tpatchgnn": {"width": 16, "node_width": 4, "ff": 64},
    "contiformer": {"width": 16, "inner": 32, "heads": 2, "layers": 1, "rows": 8, "steps": 1},
    "neuralcde": {"hidden": 16, "field": 32, "layers": 2},
    "csdi": {"channels": 8, "heads": 2, "blocks": 1, "step_width": 16, "time_width": 16, "feature_width": 4, "ff": 16,
             "noise_steps": 10},
}
QUICK_STACK = {"stack": {"rows": 8000, "seeds": 1, "steps": 300}}
QUICK_REFERENCE = ["--steps", "300"]


def training(name, quick=False, config="native"):
    """Options of `train` that make the model; None: not in a quick run."""
    full, few, _ = MODELS[name]
    if name not in RIVALS:
        if quick and name == "default":
            return ["--training", json.dumps(QUICK_STACK)]
        return few + QUICK_REFERENCE if quick and name.startswith("reference") and few else few if quick else full
    options = ["--rival", name, "--rival-config", config]
    if quick:
        options += few + (["--rival-options", json.dumps(SMALL[name])] if name in SMALL and config == "native" else [])
    return options


def cut(name):
    """What a quick run leaves out of a model, in words."""
    return "small, few steps" if name in SMALL else "" if name in ("anchor", "lightgbm") else "few steps"


def in_paper(name):
    return MODELS[name][2]
