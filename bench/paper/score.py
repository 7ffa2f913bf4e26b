"""What a cell is asked, by the task of its plan, and what is kept of the answers.

A forecast is scored by the judge: the anchor of seed 1 of the same set, context and horizon. So all models answer the
same windows, on the same scale, and values that it takes for glitches are left out for all."""
import csv
import hashlib
import json
import os
import shutil
import statistics
import tempfile

from work import Failed, digest, resample, write_json

ANSWER = "answer"  # the row of the model in the judge's table
QUANTILES = ["0.025", "0.05", *[f"{k / 20:g}" for k in range(2, 19)], "0.95", "0.975"]


def judge_of(plan):
    return {"data": plan["data"], "reading": plan["reading"], "train": [*plan["window"], "--size", "anchor", *plan["judge"]],
            "seed": 1, "device": "cpu"}


def model_of(plan):
    seen = plan.get("seen") or {"changes": [], "reading": plan["reading"], "train": []}
    data = dict(plan["data"], changes=plan["data"]["changes"] + seen["changes"])
    return {"data": data, "reading": seen["reading"], "train": [*plan["window"], *seen["train"], *plan["train"]],
            "seed": plan["seed"], "device": plan["device"]}


def one(scores, name):
    s = next(x for x in scores if x["name"] == name)
    return {"crps": s["crps"], "mse": s["mse"], "mae": s["mae_median"],
            "held": {f"{100 * i['level']:g}": i["coverage"] for i in s["intervals"]},
            "paper": {k: s["paper"][k] for k in ("crps", "mse")} if "paper" in s else None}


class Windows:
    """Of what `evaluate --windows` wrote: sums by day of the origin (or by entity), for whoever is asked about."""

    def __init__(self, path, unit, slices=None):
        with open(path, newline="") as f:
            self.rows = list(csv.DictReader(f))
        if slices:
            self.rows = [r for r in self.rows if slices[0] <= r["origin"] <= slices[1]]
        self.unit = unit
        told = "\n".join(",".join(r[c] for c in ("entity", "origin", "variable", "values")) for r in self.rows)
        self.same = hashlib.sha256(told.encode()).hexdigest()[:16]

    def sums(self, name):
        """{unit: [values, their CRPS, their squared error]}"""
        out = {}
        for r in self.rows:
            if r[name + "_crps"] == "":
                raise Failed(f"{name}: a window has no answer")
            n, s = float(r["values"]), out.setdefault(r["entity"] if self.unit == "entity" else r["origin"][:10], [0, 0, 0])
            for k, x in enumerate((1, float(r[name + "_crps"]), float(r[name + "_mse"]))):
                s[k] += n * x
        return {u: [round(x, 9) for x in s] for u, s in sorted(out.items())}


def ask(work, plan, model, folder):
    """Quantiles of the model on what it has seen, at the windows and times that the judge asks about; a CSV file."""
    judge, _ = work.model(judge_of(plan))
    asked, out = os.path.join(folder, "asked.csv"), os.path.join(folder, ANSWER + ".csv")
    work.llapdiff("evaluate", judge, work.data(plan["data"]), *plan["reading"], *plan["score"], "--bootstrap", "0",
                  "--keep", asked)
    if plan["train"] == ["lightgbm"]:
        boost(work, plan, judge, asked, out)
        return out
    with open(asked, newline="") as f, open(os.path.join(folder, "times.csv"), "w", newline="") as g:
        w = csv.writer(g, lineterminator="\n")
        w.writerow(["entity", "origin", "time"])
        w.writerows([r["entity"], r["origin"], r["time"]] for r in csv.DictReader(f))
    m = model_of(plan)
    work.llapdiff("forecast", model, work.data(m["data"]), *m["reading"], "--times", os.path.join(folder, "times.csv"),
                  "--quantiles", ",".join(QUANTILES), *samples(plan), "--device", m["device"], "-o", out)
    return out


def samples(plan):
    at = plan["score"].index("-n") if "-n" in plan["score"] else None
    return [] if at is None else plan["score"][at:at + 2]


def boost(work, plan, judge, asked, out):
    if not work.peers or not os.path.exists(work.peers):
        raise Failed("LightGBM is not there: bench/peers/setup")
    info = os.path.join(os.path.dirname(out), "info.json")
    work.llapdiff("info", judge, "--json", output=info)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "boosted.py")
    work.run([work.peers, script, work.data(plan["data"]), asked, info, out, json.dumps(plan["window"]),
              json.dumps(plan["reading"]), str(work.threads)])


def forecast(work, plan):
    """Scores of one model beside the judge, and how long training and a forecast took."""
    judge_spec, spec = judge_of(plan), model_of(plan)
    judge, _ = work.model(judge_spec)
    peer = plan["train"] == ["lightgbm"]
    is_judge = not peer and work.model_key(spec) == work.model_key(judge_spec) and not plan.get("sampling")
    out = {}
    with tempfile.TemporaryDirectory(dir=work.path("data")) as folder:
        against, model = [], None
        if not peer:
            model, out["training"] = work.model(spec)
        if plan.get("sampling"):
            model = shutil.copy(model, os.path.join(folder, ANSWER + ".safetensors"))
            resample(model, model, plan["sampling"])
        if peer or plan.get("seen") is not None:
            against = ["--against", ask(work, plan, model, folder)]
        elif not is_judge:
            if not plan.get("sampling"):
                os.symlink(os.path.abspath(model), os.path.join(folder, ANSWER + ".safetensors"))
            against = ["--against", os.path.join(folder, ANSWER + ".safetensors")]
        told, windows = os.path.join(folder, "scores.json"), os.path.join(folder, "windows.csv")
        out["scoring"] = work.llapdiff(
            "evaluate", judge, work.data(plan["data"]), *plan["reading"], *plan["score"], "--json", "--paper",
            "--bootstrap", "0", "--seed", "1", "--device", plan["device"], "--windows", windows, *against, output=told)
        with open(told) as f:
            scores = json.load(f)
        name = ANSWER if against else "model"
        target = scores["targets"][0]
        out.update(one(target["scores"], name), values=target["values"], unit=scores["bootstrap"]["unit"],
                   run=scores["bootstrap"]["run"], left_out=scores.get("windows_not_covered", 0))
        seen = Windows(windows, out["unit"])
        out.update(windows=seen.same, sums=seen.sums(name))
        out["slices"] = {}
        for label, ends in plan.get("slices", {}).items():
            part = Windows(windows, out["unit"], ends)
            out["slices"][label] = {"windows": part.same, "sums": part.sums(name)}
        if is_judge:
            out["naive"] = {s["name"]: dict(one(target["scores"], s["name"]), sums=seen.sums(s["name"]))
                            for s in target["scores"] if s["name"] != "model"}
        if model and not peer:
            if plan.get("clock"):
                out["forecast"] = work.llapdiff("forecast", model, work.data(spec["data"]), *spec["reading"], *samples(plan),
                                                "--device", plan["device"], "-o", os.path.join(folder, "next.csv"))
            out["about"] = about(work, model, folder)
    return out


def about(work, model, folder):
    """Parameters and sampling of a model."""
    told = os.path.join(folder, "info.json")
    work.llapdiff("info", model, "--json", output=told)
    with open(told) as f:
        info = json.load(f)
    sampling = info.get("network", {}).get("sampling", {})
    return {"parameters": info.get("parameters"), "steps_asked": sampling.get("steps")}


def impute(work, plan):
    """A model as a filler of readings that were hidden on purpose: the same ones for all."""
    spec = model_of(plan)
    out = {}
    with tempfile.TemporaryDirectory(dir=work.path("data")) as folder:
        model, out["training"] = work.model(spec)
        told, windows = os.path.join(folder, "scores.json"), os.path.join(folder, "windows.csv")
        out["scoring"] = work.llapdiff(
            "evaluate", model, work.data(plan["data"]), *plan["reading"], *plan["score"], "--task", "impute", "--json",
            "--bootstrap", "0", "--seed", "1", "--device", plan["device"], "--windows", windows, output=told)
        with open(told) as f:
            scores = json.load(f)
        target = scores["targets"][0]
        seen = Windows(windows, scores["bootstrap"]["unit"])
        out.update(one(target["scores"], "model"), values=target["values"], unit=seen.unit, run=scores["bootstrap"]["run"],
                   windows=seen.same, sums=seen.sums("model"), slices={}, left_out=0, about=about(work, model, folder))
        out["naive"] = {s["name"]: dict(one(target["scores"], s["name"]), sums=seen.sums(s["name"]))
                        for s in target["scores"] if s["name"] != "model"}
    return out


def poles(work, plan):
    """Poles without a history, and moved by histories of several entities, at several noise levels."""
    model, _ = work.model(model_of(plan))
    data, out = work.data(plan["data"]), {"training": _}
    found = {"cond": {}, "uncond": {}}
    with tempfile.TemporaryDirectory(dir=work.path("data")) as folder:
        told = os.path.join(folder, "poles.json")
        for noise in plan["noise"]:
            for entity, time in plan["histories"]:
                work.llapdiff("poles", model, data, *plan["reading"], "--noise", str(noise), "--of", entity, "--at", time, "--json",
                              output=told)
                with open(told) as f:
                    for s in json.load(f)["sets"]:
                        if s["of"].startswith("network"):
                            kind = "uncond" if "without a history" in s["of"] else "cond"
                            found[kind].setdefault(noise, []).append([(p["omega"], p["rho"]) for p in s["poles"]])
        picture = digest(plan) + ".svg"
        work.llapdiff("poles", model, data, *plan["reading"], "--plot", work.path("cells", picture), output=told)
    out["picture"] = picture
    for kind, levels in found.items():
        if not levels:
            raise Failed(f"no poles {kind}")
        out[kind] = {}
        for k, name in enumerate(("omega", "rho")):
            every = [p[k] for sets in levels.values() for s in sets for p in s]
            # How far a pole goes from history to history at one noise level: the one figure that shows what histories do.
            moved = [statistics.pstdev(p) for sets in levels.values() for p in zip(*([q[k] for q in s] for s in sets))]
            out[kind].update({name + " mean": statistics.fmean(every), name + " std": statistics.pstdev(every),
                              name + " std across histories": statistics.fmean(moved)})
    return out


TASKS = {"forecast": forecast, "impute": impute, "poles": poles}


def key(work, plan):
    """What a result depends on, and nothing else: two recipes that ask the same share it."""
    return digest([plan, work.data_hash(plan["data"]), work.version])


def cell(work, plan):
    """The result of a plan, computed if it is not there."""
    path = work.path("cells", key(work, plan) + ".json")
    with work.lock(os.path.basename(path)):
        if not os.path.exists(path):
            write_json(path, {"plan": plan, "version": work.version, "build": work.build,
                              "data": work.data_hash(plan["data"]), "result": TASKS[plan["task"]](work, plan)})
    with open(path) as f:
        return json.load(f)
