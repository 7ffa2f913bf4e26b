#!/usr/bin/env python3
"""bench/paper, on a set of the program's own making.

    paper.py SOURCE PROGRAM changes    what is done to data files
    paper.py SOURCE PROGRAM tasks      imputation and poles
    paper.py SOURCE PROGRAM run        a recipe end to end: whole, interrupted and continued, two at a time; nothing twice
    paper.py SOURCE PROGRAM options    every option of every recipe is one that the program takes"""
import csv
import glob
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

SOURCE, PROGRAM, WHAT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
TOOL = os.path.join(SOURCE, "bench", "paper", "paper.py")
TINY = os.path.join(SOURCE, "tests", "bench", "tiny.py")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(TOOL), os.path.dirname(TINY)]


def make(box, rows=400, entities=2):
    data = os.path.join(box, "data")
    os.makedirs(data, exist_ok=True)
    table = subprocess.run([PROGRAM, "synth", "--entities", str(entities), "--variables", "2", "--rows", str(rows), "-q"], check=True,
                           capture_output=True).stdout
    with open(os.path.join(data, "made.csv.gz"), "wb") as f:
        f.write(gzip.compress(table, mtime=0))
    return data


def command(box, folder, *more, program=PROGRAM):
    return [sys.executable, "-B", TOOL, TINY, "--threads", "1", "--data", os.path.join(box, "data"), "--folder",
            os.path.join(box, folder), "--program", program, *more]


def run(*args, expect=0, **more):
    done = subprocess.run(command(*args, **more), capture_output=True, text=True)
    assert done.returncode == expect, f"{args}: exit {done.returncode}, expected {expect}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def table(box, folder):
    """All figures but seconds."""
    with open(os.path.join(box, folder, "tiny.csv"), newline="") as f:
        return [{k: v for k, v in r.items() if not k.endswith("_s")} for r in csv.DictReader(f)]


def cells(box, folder):
    return {os.path.basename(p): os.stat(p).st_mtime_ns for p in glob.glob(os.path.join(box, folder, "cells", "*.json"))}


def interrupted(box, folder):
    """The tool is told to stop in the middle of a training; whether it was."""
    tool = subprocess.Popen(command(box, folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    models = os.path.join(box, folder, "models")
    while tool.poll() is None and not (len(cells(box, folder)) == 2 and glob.glob(os.path.join(models, "*.state"))):
        time.sleep(.01)
    tool.send_signal(signal.SIGINT)
    tool.communicate()
    assert tool.returncode in (0, 3), tool.returncode
    return tool.returncode == 3


def test_run(box):
    make(box)
    assert "4 cells, 0 there" in run(box, "whole", "--dry-run")
    said = run(box, "whole")
    assert said.count("[") == 4 and "[4/4]" in said, said
    whole = table(box, "whole")
    ours = [r for r in whole if r["seeds"]]
    assert [r["model"] for r in ours] == ["anchor", "dlinear", "reference", "reference"], whole
    assert any(r["model"] == "climatology" for r in whole)
    assert all(float(r["crps"]) > 0 and r["values"] == whole[0]["values"] for r in whole), "everyone answers the same values"
    assert ours[2]["paper"] == "0.935" and ours[0]["paper"] == "", ours
    assert ours[2]["crps"] != ours[3]["crps"], "the number of sampling steps changes answers"
    assert abs(float(ours[1]["base_better"]) - 1 + float(ours[0]["crps"]) / float(ours[1]["crps"])) < 1e-4, ours
    for end in (".md", ".svg"):
        with open(os.path.join(box, "whole", "tiny" + end)) as f:
            text = f.read()
        assert ("| made | 6 | reference | 64 steps |" in text and "0.935" in text) if end == ".md" else "</svg>" in text

    # What is there is not computed again, and both cells of a reference are of one training.
    before = cells(box, "whole")
    assert "[1/" not in run(box, "whole") and cells(box, "whole") == before
    assert len(glob.glob(os.path.join(box, "whole", "models", "*.safetensors"))) == 3

    # Stopped in the middle of a training, and gone on with: the same table.
    assert interrupted(box, "stopped"), "it was too fast to be stopped"
    assert len(cells(box, "stopped")) < 4
    kept = cells(box, "stopped")
    run(box, "stopped")
    assert table(box, "stopped") == whole
    assert kept.items() <= cells(box, "stopped").items()
    resumed = []
    for path in glob.glob(os.path.join(box, "stopped", "models", "*.json")):
        with open(path) as f:
            resumed.append(json.load(f)["resumed"])
    assert sorted(resumed) == [False, False, True], "the training went on where it was"

    # Two at a time make the same, other data or another program something else.
    run(box, "two", "--jobs", "2")
    assert table(box, "two") == whole
    other = os.path.join(box, "other")
    with open(other, "w") as f:
        f.write(f'#!/bin/sh\n[ "$1" != --version ] || exec echo llapdiff 9.9\nexec {PROGRAM} "$@"\n')
    os.chmod(other, 0o755)
    assert "4 cells, 0 there" in run(box, "whole", "--dry-run", program=other)
    make(box, rows=401)
    assert "4 cells, 0 there" in run(box, "whole", "--dry-run")

    # A cell that fails is said, keeps nothing, and does not stop the others.
    with open(other, "w") as f:
        f.write(f'#!/bin/sh\ncase "$*" in *dlinear*) echo "no such luck" >&2; exit 1;; esac\nexec {PROGRAM} "$@"\n')
    said = run(box, "failing", "--only", "dlinear", "--only", "anchor", program=other, expect=1)
    assert "no such luck" in said and len(cells(box, "failing")) == 1
    with open(os.path.join(box, "failing", "tiny.md")) as f:
        assert "half hidden seed 1: failed" in f.read()
    assert "[1/1]" in run(box, "failing", "--only", "dlinear", "--only", "anchor")


def test_tasks(box):
    """Imputation and poles, and their tables."""
    import score
    import tables
    import tiny
    from work import Work

    work = Work(PROGRAM, os.path.join(box, "tasks"), make(box, 900))
    network = ["--profile", "reference", "--size", "tiny", "--steps", "5"]
    impute = [dict(tiny.plan(train, score=["--gaps", "random"]), task="impute")
              for train in (["--size", "anchor", *tiny.SHORT], network)]
    histories = [["s000", "2000-01-20T00:00:00Z"], ["s001", "2000-01-25T00:00:00Z"]]
    shown = dict(tiny.plan(network, score=[]), task="poles", noise=[.1, .9], histories=histories)

    filled = [score.cell(work, p) for p in impute]
    a, b = (c["result"] for c in filled)
    assert a["windows"] == b["windows"] and a["values"] == b["values"] > 0, "both fill the same readings"
    assert a["crps"] < a["naive"]["last_value"]["crps"] and {"linear", "model_causal"} <= set(a["naive"])
    poles = score.cell(work, shown)
    r = poles["result"]
    assert r["cond"]["rho mean"] > 0 and r["uncond"]["omega std across histories"] == 0 < r["cond"]["omega std across histories"]
    with open(work.path("cells", r["picture"])) as f:
        assert "<svg" in f.read()

    def report(name, results, **more):
        cells = [dict(tiny.cell(name, "made", "6", m, c["plan"], published=["poles", "crypto", "", None]), key="k", **c)
                 for m, c in zip(("anchor", "reference"), results)]
        with open(tables.report(name, type("", (), dict(more, __doc__="A test.", MISSING=[])), cells, [], len(cells), False,
                                work.folder)) as f:
            return f.read()

    text = report("impute", filled, BASE=("model", "anchor"))
    assert f"| made | 6 | anchor |  | {a['crps']:.3f}" in text and "| made | 6 | linear |" in text, text
    text = report("shown", [poles], BASE=None)
    assert "| made | anchor | 1 | uncond |" in text and "1.113 0.286 0.071 0.017" in text, text


def test_changes(box):
    import changes
    from datetime import timedelta

    start = changes.instant("2020-01-01T00:00:00Z")
    header = ["entity", "time", "x", "y"]
    whole = [[e, changes.stamp(start + timedelta(hours=k)), str(k), "" if k % 4 == 0 else "1"] for e in "ab" for k in range(4000)]
    row = {(r[0], r[1]): r for r in whole}

    def changed(*change):
        got = changes.apply(header, [list(r) for r in whole], [list(change)])
        assert got == changes.apply(header, [list(r) for r in whole], [list(change)]), f"{change}: two answers"
        return got[1]

    hidden = changed("hide", .4)
    assert len(hidden) == 8000 and all(v in ("", w) for r in hidden for v, w in zip(r, row[r[0], r[1]]))
    assert abs(sum(r[2] != "" for r in hidden) / 8000 - .6) < .02 and abs(sum(r[3] != "" for r in hidden) / 6000 - .6) < .02
    assert [r[2] for r in hidden[:4000]] != [r[2] for r in hidden[4000:]], "entities lose values of their own"
    assert {r[1][11:13] for r in changed("times", .6)} == {f"{h:02}" for h in range(24) if h % 4}
    assert changed("hide", 0) == whole and changed("thin", 0) == whole and changed("times", 0) == whole

    for name in ("thin", "bursts"):
        left = changed(name, .5)
        assert all(r == row[r[0], r[1]] for r in left) and abs(len(left) / 8000 - .5) < .06, (name, len(left))
        hours = [int(r[2]) for r in left if r[0] == "a"]
        runs = 1 + sum(b - a > 1 for a, b in zip(hours, hours[1:]))
        assert (1.8 if name == "thin" else 5) < len(hours) / runs < (2.2 if name == "thin" else 8), (name, len(hours) / runs)

    moved = changed("jitter", .45)
    off = [(changes.instant(m[1]) - changes.instant(w[1])).total_seconds() for m, w in zip(moved, whole)]
    assert [m[2:] for m in moved] == [w[2:] for w in whole] and max(map(abs, off)) <= 1620 and min(off) < -1400 < 1400 < max(off)
    assert all(a[0] != b[0] or a[1] < b[1] for a, b in zip(moved, moved[1:])), "rows stay in order"

    bars = [["c", "2020-01-01", "1", "2", "1", "1", "10"], ["c", "2020-01-02", "1", "2", "1", "2", "20"]]
    got = changes.returns(["entity", "time", "open", "high", "low", "close", "volume"], bars)
    assert got[0][2] == "return" and got[1][0][2] == "" and abs(float(got[1][1][2]) - .6931472) < 1e-6
    assert abs(float(got[1][1][got[0].index("volatility")]) - .6931472) < 1e-6

    _, made = changes.regime("frequency", 3.0, 288, 216, 4)
    assert len(made) == 4 * 288 and made == changes.regime("frequency", 3.0, 288, 216, 4)[1]
    calm = changes.regime("frequency", 1.0, 288, 216, 4)[1]
    apart = [abs(float(a[2]) - float(b[2])) for a, b in zip(made, calm)]
    assert max(a for a, r in zip(apart, made) if r[1] < "2000-01-10T00") == 0 < .3 < max(apart), "only what comes after changes"

    path = os.path.join(box, "x.csv.gz")
    changes.write(path, header, hidden)
    assert changes.read(path) == (header, hidden)


def flags(text):
    return {word for word in text.replace("=", " ").replace(",", " ").split() if word.startswith("-")}


STAGE = {"steps": 1, "check_every": 1}
SHORT = {
    "anchor": {"steps": 1},
    "stack": {"steps": 1, "rows": 200, "seeds": 1, "batch": 64},
    "networks": {**STAGE, "rows": 64, "check_rows": 8, "check_samples": 2, "check_steps": 1, "final_rows": 8, "final_samples": 2},
    "rival": {**STAGE, "rows": 64, "check_rows": 4, "check_samples": 2},
    "reference": {"data": {"val_batches": 1}, "vae": STAGE, "summarizer": STAGE, "denoiser": STAGE},
}


def short(train):
    """The same options for one step of everything, and for the smallest of networks: their keys are those of all sizes."""
    out, given = list(train), {}
    while "--training" in out:
        at = out.index("--training")
        given.update(json.loads(out[at + 1]))
        del out[at:at + 2]
    if "--steps" in out:
        out[out.index("--steps") + 1] = "1"
    size = out[out.index("--size") + 1] if "--size" in out else "stack"
    out = ["tiny" if o in ("small", "paper") else o for o in out]
    if "--rival" in out:
        few = {"rival": {**SHORT["rival"], **({} if "--batch" in out else {"batch": 4})}}
    elif "reference" in out:
        few = SHORT["reference"]
    else:
        few = {k: SHORT[k] for k in ("anchor", {"stack": "stack", "anchor": "anchor"}.get(size, "networks"))}
    for group, numbers in few.items():
        given[group] = {**given.get(group, {}), **numbers}
    return [*out, "--training", json.dumps(given)]


def test_options(box):
    import paper
    told = lambda *args: subprocess.run([PROGRAM, *args], check=True, capture_output=True, text=True).stdout
    helps = {c: flags(told(c, "--help-reading") + told(c, "--help")) for c in ("train", "evaluate")}
    sizes = next(line.split()[1] for line in told("train", "--help").splitlines() if "--size" in line.split()[:1]).split("|")
    plans = {}
    for name, path in paper.recipe_files().items():
        recipe = paper.load(path)
        for quick in (True, False):
            found = list(recipe.cells(quick, "cpu"))
            assert found, f"{name}: no cells"
            for c in found:
                assert c["recipe"] == name and (c["published"] is None or len(c["published"]) == 4), c
                plans[json.dumps(c["plan"], sort_keys=True)] = c
            labels = [paper.label(c) for c in found]
            assert len(labels) == len(set(labels)), f"{name}: two cells of one name"
    tried = {}
    for c in plans.values():
        p = c["plan"]
        for options, known in ((p["window"] + p["train"] + p["reading"], "train"), (p["score"] + p["reading"], "evaluate")):
            used = {o for o in options if o.startswith("-") and not o.lstrip("-")[:1].isdigit()}
            assert used <= helps[known], f"{paper.label(c)}: {sorted(used - helps[known])}"
            if "--size" in options:
                assert options[options.index("--size") + 1] in sizes, paper.label(c)
        grid = "--grid" in (p.get("seen") or p)["reading"]
        if p["train"] != ["lightgbm"]:
            tried.setdefault((json.dumps(short(p["train"])), grid, "independent" in p["window"]), paper.label(c))
    data = os.path.join(make(box, 300, 4), "made.csv.gz")
    bad = []
    for (train, grid, apart), name in tried.items():
        split = ["--entities", "independent", "--parts", os.path.join(box, "parts.csv")] if apart else []
        with open(os.path.join(box, "parts.csv"), "w") as f:
            f.write("entity,part\ns000,train\ns001,train\ns002,validation\ns003,test\n")
        window = ["-t", "v0", "-c", "24h", "--horizon", "6h", *["--grid", "1h"] * grid, *split]
        got = subprocess.run([PROGRAM, "train", data, "-q", "-j", "1", *window, *json.loads(train), "--state", "none",
                              "-o", os.path.join(box, "model.safetensors")], capture_output=True, text=True)
        if os.environ.get("VERBOSE"):
            print(name, time.process_time(), flush=True)
        if got.returncode:
            bad.append(f"{name}: exit {got.returncode}: {got.stderr.strip().splitlines()[-1:]}")
    assert not bad, "\n".join(bad)
    print(f"{len(plans)} plans, {len(tried)} kinds of training")


with tempfile.TemporaryDirectory() as folder:
    {"changes": test_changes, "tasks": test_tasks, "run": test_run, "options": test_options}[WHAT](folder)
