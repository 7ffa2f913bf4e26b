#!/usr/bin/env python3
"""Every experiment of the paper with one command.

    LLAP_DATA=... bench/paper/paper.py                       all recipes: a GPU's work for days
    bench/paper/paper.py main ablations --device cuda        two of them, networks on a GPU
    bench/paper/paper.py --quick                             small networks, few steps, two sets: two cores, an hour
    bench/paper/paper.py main --only 'uci_air dlinear'       cells whose names have all of these words
    bench/paper/paper.py --dry-run                           what would run, and about how long
    bench/paper/paper.py --report                            the tables of what is there

A recipe is a file of recipes/, or the path of one of your own. Its cells (set, horizon, model, variant, seed) are kept in
FOLDER/cells by a hash of all that they depend on: options, data file, version of the program, seed. What is there is not
computed again; an interrupted run goes on, also inside a training. Each recipe writes FOLDER/NAME.csv, .md (beside the
paper's figures) and .svg. LightGBM needs bench/peers/setup."""
import argparse
import concurrent.futures
import glob
import importlib.util
import json
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import score  # noqa: E402
import tables  # noqa: E402
from work import Failed, Stopped, Work, write_json  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))

# Seconds of a processor, training and scoring, on uci_air: guesses for cells of which none is there yet.
GUESS = {"anchor": (40, 20), "default": (1500, 60), "small": (2500, 300), "reference-tiny": (400, 300),
         "reference-paper": (200000, 20000), "lightgbm": (600, 10), "dlinear": (200, 20), "patchtst": (20000, 60),
         "mrdiff": (60000, 20000), "timegrad": (20000, 20000), "mtan": (60000, 200), "tpatchgnn": (60000, 300),
         "contiformer": (300000, 1000), "neuralcde": (80000, 200), "csdi": (400000, 100000)}
QUICK_GUESS = (60, 40)
ON_GPU = 50  # so many times sooner, a guess too


def recipe_files():
    return {os.path.basename(f)[:-3]: f for f in sorted(glob.glob(os.path.join(HERE, "recipes", "*.py")))}


def load(path):
    spec = importlib.util.spec_from_file_location("recipe_" + os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def label(c):
    return " ".join(str(x) for x in (c["recipe"], c["set"], c["horizon"], c["model"], c["variant"], "seed", c["seed"]) if x != "")


def wanted(c, only):
    words = label(c).replace(",", " ").split()
    return not only or any(all(w in words for w in o.split()) for o in only)


class Run:
    def __init__(self, work, recipes, quick, device, only):
        self.work, self.quick, self.recipes = work, quick, recipes
        self.cells = [c for r in recipes.values() for c in r.cells(quick, device) if wanted(c, only)]
        for c in self.cells:
            c["key"] = score.key(work, c["plan"])

    def kept(self, c, end=".json"):
        path = self.work.path("cells", c["key"] + end)
        if not os.path.exists(path):
            return None
        with open(path) as f:
            return json.load(f)

    def seconds(self):
        """Of each cell that is not there: (cell, training and scoring), by what cells like it took."""
        took, trained, out = {}, set(), []
        for c in self.cells:
            kept = self.kept(c)
            if kept and "scoring" in kept["result"]:
                r = kept["result"]
                took.setdefault(c["model"], []).append(((r.get("training") or {}).get("cpu", 0), r["scoring"]["cpu"]))
        for c in self.cells:
            if self.kept(c):
                continue
            known = took.get(c["model"])
            guess = [sum(x) / len(known) for x in zip(*known)] if known else QUICK_GUESS if self.quick else GUESS.get(
                c["model"], QUICK_GUESS)
            if not known and c["plan"]["device"] != "cpu":
                guess = [x / ON_GPU for x in guess]
            model = self.work.model_key(score.model_of(c["plan"]))
            new = model not in trained and not os.path.exists(self.work.path("models", model + ".json"))
            trained.add(model)
            out.append((c, guess[0] * new + guess[1], bool(known)))
        return out

    def one(self, c):
        failed = self.work.path("cells", c["key"] + ".failed")
        try:
            score.cell(self.work, c["plan"])
            if os.path.exists(failed):
                os.remove(failed)
            return None
        except Failed as e:
            write_json(failed, {"what": label(c), "why": str(e)})
            return str(e)

    def all(self, jobs):
        """Failures by label; the rest goes on behind one."""
        left = {c["key"]: c for c in self.cells if not self.kept(c)}
        bad, done = {}, 0
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(self.one, c): c for c in left.values()}
            while running:
                ready, _ = concurrent.futures.wait(running, timeout=1, return_when=concurrent.futures.FIRST_COMPLETED)
                if self.work.stopped:
                    for f in running:
                        f.cancel()
                    raise Stopped
                for f in ready:
                    c, why, done = running.pop(f), f.result(), done + 1
                    if why:
                        bad[label(c)] = why
                    print(f"[{done}/{len(left)}] {label(c)}" + (f": failed: {why}" if why else ""), flush=True)
        return bad

    def report(self):
        for name, recipe in self.recipes.items():
            own, done, failed = [c for c in self.cells if c["recipe"] == name], [], []
            for c in own:
                kept = self.kept(c)
                if kept:
                    done.append(dict(c, result=kept["result"], build=kept["build"]))
                elif self.kept(c, ".failed"):
                    failed.append((label(c), self.kept(c, ".failed")["why"]))
            if own:
                print(tables.report(name, recipe, done, failed, len(own), self.quick, self.work.folder))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("recipe", nargs="*", help=", ".join(recipe_files()) + " (default: all)")
    p.add_argument("--quick", action="store_true", help="small networks, few steps, two sets")
    p.add_argument("--only", action="append", default=[], metavar="WORDS", help="cells whose name has all of them; may be repeated")
    p.add_argument("--jobs", type=int, default=1, help="cells at a time (default 1)")
    p.add_argument("--threads", type=int, help="of each program (default: processors / jobs)")
    p.add_argument("--device", default="cpu", help="where networks compute: cpu, cuda, cuda:N")
    p.add_argument("--dry-run", action="store_true", help="list what would run")
    p.add_argument("--report", action="store_true", help="write the tables of what is there")
    p.add_argument("--folder", default=os.path.join(ROOT, "build", "paper"), help="where all is kept (default: build/paper)")
    p.add_argument("--program", default=os.path.join(ROOT, "build", "bin", "llapdiff"))
    p.add_argument("--data", default=os.environ.get("LLAP_DATA"), help="folder of the data sets (default: LLAP_DATA)")
    p.add_argument("--peers", default=os.path.join(ROOT, "build", "peers", "bin", "python"), help="Python that has LightGBM")
    a = p.parse_args()
    unknown = [r for r in a.recipe if r not in recipe_files() and not os.path.isfile(r)]
    if unknown:
        p.error(f"no recipe '{unknown[0]}'; there are {', '.join(recipe_files())}")
    if not a.data:
        p.error("where are the data sets? --data or LLAP_DATA")
    if a.jobs < 1:
        p.error("--jobs: at least 1")
    return a


def main():
    a = arguments()
    files = recipe_files()
    paths = [files.get(r, r) for r in a.recipe or files]
    recipes = {os.path.basename(path)[:-3]: load(path) for path in paths}
    threads = a.threads or max(1, (os.cpu_count() or 1) // a.jobs)
    work = Work(a.program, a.folder, a.data, threads, a.peers)
    run = Run(work, recipes, a.quick, a.device, a.only)
    if a.dry_run:
        total = 0
        for c, seconds, measured in run.seconds():
            total += seconds
            print(f"{c['key']}  {seconds:8.0f} s {'like others' if measured else 'guessed'}  {label(c)}")
        done = sum(run.kept(c) is not None for c in run.cells)
        print(f"{len(run.cells)} cells, {done} there; about {total / 3600:.1f} hours of one processor")
        return 0
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, lambda *_: work.stop())
    bad = {}
    try:
        if not a.report:
            bad = run.all(a.jobs)
    except Stopped:
        print("stopped; the same command goes on", file=sys.stderr)
        return 3
    run.report()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
