"""Results as a CSV file, a Markdown table beside the paper's figures, and a picture."""
import csv
import functools
import os
import random
import sys
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from compare_windows import draw  # noqa: E402

DRAWS = 1000
COLUMNS = ["set", "horizon", "model", "variant", "seeds", "values", "crps", "crps_low", "crps_high", "mse", "mae", "in50",
           "in80", "in95", "base_better", "base_better_low", "base_better_high", "like_paper_crps", "like_paper_mse",
           "paper", "paper_mse", "training_cpu_s", "forecast_cpu_s", "scoring_cpu_s", "keys"]
BLUE, ORANGE = "#0072B2", "#D55E00"  # Okabe and Ito


@functools.lru_cache(maxsize=None)
def published():
    with open(os.path.join(HERE, "published.csv"), newline="") as f:
        rows = csv.DictReader(line for line in f if not line.startswith("#"))
        return {(r["table"], r["set"], r["horizon"], r["variant"]): (r["value"], r["mse"]) for r in rows}


def figure(where):
    return published().get(tuple(where), ("", "")) if where and None not in where else ("", "")


@functools.lru_cache(maxsize=None)
def drawn(n, run):
    """Units of each draw: runs of units that follow each other, at most a third of all."""
    rng, run = random.Random(1), max(1, min(run, n // 3))
    return [draw(list(range(n)), run, rng) for _ in range(DRAWS)]


def middle(values):
    values = sorted(values)
    return values[int(.025 * len(values))], values[min(len(values) - 1, int(.975 * len(values)))]


def mean(x):
    x = [v for v in x if v is not None]
    return sum(x) / len(x) if x else None


class Row:
    """One line: what the seeds of a model say together. Their sums of a unit are added up."""

    def __init__(self, label, cells, part=None, naive=None):
        self.set, self.horizon, self.model, self.variant = label
        self.cells, self.published = cells, figure(cells[0]["published"])
        self.results = [c["result"]["naive"][naive] if naive else c["result"] for c in cells]
        asked = [r["slices"][part] if part else r for r in self.results]
        owner = cells[0]["result"]
        self.unit, self.run = owner["unit"], owner["run"] if owner["unit"] == "day" else 1
        self.windows = [owner["windows"]] if naive else [a["windows"] for a in asked]
        self.part, self.whole, self.naive = part, part is None, naive
        self.sums = {}
        for a in asked:
            for u, s in a["sums"].items():
                self.sums[u] = [x + y for x, y in zip(self.sums.get(u, [0, 0, 0]), s)]
        self.values = sum(s[0] for s in asked[0]["sums"].values())
        n = sum(s[0] for s in self.sums.values())
        self.crps, self.mse = (sum(s[k] for s in self.sums.values()) / n for k in (1, 2))
        self.low = self.high = None
        if len(self.sums) >= 10:
            s = list(self.sums.values())
            self.low, self.high = middle(sum(s[i][1] for i in d) / sum(s[i][0] for i in d) for d in drawn(len(s), self.run))
        self.better = (None, None, None)

    def beside(self, base):
        """By how much the base is better: on the windows that both answered, seed by seed."""
        if self is base or set(self.windows) != set(base.windows) or self.sums.keys() != base.sums.keys():
            return
        a, b = ([[s[u][0], s[u][1]] for u in self.sums] for s in (self.sums, base.sums))
        skill = lambda at: 1 - (sum(b[i][1] for i in at) / sum(b[i][0] for i in at)) / (
            sum(a[i][1] for i in at) / sum(a[i][0] for i in at))
        low = high = None
        if len(a) >= 10:
            low, high = middle(skill(d) for d in drawn(len(a), self.run))
        self.better = (skill(range(len(a))), low, high)

    def seconds(self, what):
        return mean([(r.get(what) or {}).get("cpu") for r in self.results])

    def line(self):
        held = lambda level: mean([r["held"].get(level) for r in self.results]) if self.whole else None
        paper = lambda k: mean([(r.get("paper") or {}).get(k) for r in self.results]) if self.whole else None
        mae = mean([r["mae"] for r in self.results]) if self.whole else None
        seeds = [] if self.naive else sorted({c["seed"] for c in self.cells})
        theirs = ("", "") if self.naive or not self.whole else self.published
        seconds = [self.seconds(what) for what in ("training", "forecast", "scoring")]
        return [self.set, self.horizon, self.model, self.variant, " ".join(map(str, seeds)), f"{self.values:g}", self.crps,
                self.low, self.high, self.mse, mae, held("50"), held("80"), held("95"), *self.better, paper("crps"),
                paper("mse"), *theirs, *seconds, " ".join(c["key"] for c in self.cells)]


def rows_of(recipe, cells):
    """cells: those that are there, each with its result and key."""
    groups, base = {}, getattr(recipe, "BASE", None)
    for c in cells:
        groups.setdefault((c["set"], c["horizon"], c["model"], c["variant"]), []).append(c)
    rows = []
    for label, own in groups.items():
        parts = own[0]["result"]["slices"]
        named = [((*label[:3], ", ".join(x for x in (label[3], part) if x)), part) for part in parts]
        rows += [Row(name, own, part) for name, part in named] or [Row(label, own)]
        for name in own[0]["result"].get("naive", {}) if label[2] == "anchor" and not parts else ():
            rows.append(Row((*label[:2], name, ""), own[:1], naive=name))
    order = {place: k for k, place in enumerate(dict.fromkeys((r.set, r.horizon) for r in rows))}
    rows.sort(key=lambda r: (order[r.set, r.horizon], r.naive is not None))  # stable: recipes say the rest
    if base:
        for r in rows:
            r.beside(next((b for b in rows if (b.set, b.horizon) == (r.set, r.horizon) and is_base(base, b, r)), r))
    return rows


def is_base(base, b, r):
    """The same part of another variant of the model, or another model."""
    if base[0] == "model":
        return b.model == base[1]
    return (b.model, b.part, b.cells[0]["variant"], b.naive) == (r.model, r.part, base[1], None)


def write_csv(path, rows):
    with open(path + ".part", "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(COLUMNS)
        for r in rows:
            w.writerow(["" if x is None else f"{x:.6g}" if isinstance(x, float) else x for x in r.line()])
    os.replace(path + ".part", path)


def number(x, digits=3):
    return "" if x is None else f"{x:.{digits}f}"


def markdown(rows, base):
    """The table: CRPS and MSE in deviations of training."""
    head = ["set", "horizon", "model", "", "CRPS", f"{base[1]} better by %" if base else "", "MSE", "in 50, 80, 95 %",
            "CRPS, MSE as the paper scores", "the paper's", "training, forecast s", "seeds"]
    out = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    best = {}
    for r in rows:
        if r.naive:
            best[r.set, r.horizon] = min(best.get((r.set, r.horizon), r), r, key=lambda x: x.crps)
    for r in rows:
        if r.naive and r.naive not in ("climatology", "context", "last_value", "linear") and r is not best[r.set, r.horizon]:
            continue
        d = dict(zip(COLUMNS, r.line()))
        interval = f" [{r.low:.3f}, {r.high:.3f}]" if r.low is not None else ""
        better = "" if r.better[0] is None else f"{100 * r.better[0]:.1f}" + (
            f" [{100 * r.better[1]:.1f}, {100 * r.better[2]:.1f}]" if r.better[1] is not None else "")
        held = " ".join("-" if d[k] is None else f"{100 * d[k]:.0f}" for k in ("in50", "in80", "in95"))
        like = ", ".join(number(d[k]) for k in ("like_paper_crps", "like_paper_mse") if d[k] is not None)
        theirs = ", ".join(x for x in (d["paper"], d["paper_mse"]) if x)
        took = "" if r.naive else ", ".join("-" if d[k] is None else f"{d[k]:.3g}" for k in ("training_cpu_s", "forecast_cpu_s"))
        out.append("| " + " | ".join([r.set, r.horizon, r.model, r.variant, number(r.crps) + interval, better, number(r.mse),
                                      held if r.whole else "", like, theirs, took, d["seeds"]]) + " |")
    return "\n".join(out)


def poles_table(cells):
    names = [f"{n} {s}" for n in ("omega", "rho") for s in ("mean", "std", "std across histories")]
    head = ["set", "model", "seed", "", *names, "the paper's omega, rho"]
    out = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines = [["set", "model", "seed", "poles", *names, "paper"]]
    for c in cells:
        for kind in ("cond", "uncond"):
            r = c["result"][kind]
            figures = [r[n] for n in names]
            theirs = [figure([*c["published"][:3], f"{kind} {n} {s}"])[0] for n in ("omega", "rho") for s in ("mean", "std")]
            theirs = " ".join(theirs) if all(theirs) else ""
            own = [c["set"], c["model"], str(c["seed"]), kind]
            out.append("| " + " | ".join([*own, *(f"{x:.3f}" for x in figures), theirs]) + " |")
            lines.append([*own, *(f"{x:.6g}" for x in figures), theirs])
    return "\n".join(out), lines


def picture(path, title, rows):
    """CRPS with its interval, a panel for each set and horizon; hollow: the paper's figure."""
    places = dict.fromkeys((r.set, r.horizon) for r in rows)
    height, y, out = 15, 34, []
    for place in places:
        own = [r for r in rows if (r.set, r.horizon) == place]
        theirs = [float(r.published[0]) for r in own if not r.naive and r.whole and r.published[0]]
        top = max([x for r in own for x in (r.crps, r.high) if x is not None and x < 4 * min(q.crps for q in own)] + theirs)
        at = lambda x: 270 + 400 * min(x / top, 1.02)
        out.append(f'<text x="10" y="{y}" font-weight="bold">{escape(", ".join(place))}</text>'
                   f'<text x="670" y="{y}" text-anchor="end" fill="#555">0 to {top:.3g}</text>')
        out.append(f'<path d="M270 {y + 4}H670" stroke="#999"/>')
        for r in own:
            y += height
            name = escape(", ".join(x for x in (r.model, r.variant) if x))
            out.append(f'<text x="262" y="{y + 4}" text-anchor="end">{name}</text>')
            if r.low is not None:
                out.append(f'<path d="M{at(r.low):.1f} {y}H{at(r.high):.1f}" stroke="{BLUE}" stroke-width="2"/>')
            out.append(f'<circle cx="{at(r.crps):.1f}" cy="{y}" r="3.5" fill="{BLUE}"/>')
            if r.published[0] and not r.naive and r.whole:
                out.append(f'<circle cx="{at(float(r.published[0])):.1f}" cy="{y}" r="4" fill="none" stroke="{ORANGE}"/>')
        y += 2 * height
    text = (f'<svg xmlns="http://www.w3.org/2000/svg" width="690" height="{y}" font-family="sans-serif" font-size="11">'
            f'<rect width="690" height="{y}" fill="white"/><text x="10" y="16" font-size="13">{escape(title)}</text>'
            + "\n".join(out) + "</svg>\n")
    with open(path + ".part", "w") as f:
        f.write(text)
    os.replace(path + ".part", path)


def report(name, recipe, cells, failed, total, quick, folder):
    """cells: done. Writes NAME.csv, NAME.md and NAME.svg, of a quick run NAME-quick; returns the path of the second."""
    stem = os.path.join(folder, name + ("-quick" if quick else ""))
    title = recipe.__doc__.strip()
    base = getattr(recipe, "QUICK_BASE", recipe.BASE) if quick else recipe.BASE
    builds = sorted({c["build"] for c in cells})
    said = ["# " + title.split(".")[0].split(":")[0], "", title, "",
            f"{len(cells)} of {total} cells, program of build {', '.join(builds)}."]
    if len(builds) > 1:
        said.append("Cells of different builds stand side by side: a figure may be of another program than its neighbour.")
    if quick:
        said.append("**A quick run: small networks, few steps, few windows, one seed. It shows that all of it works; of the "
                    "models it says nothing.**")
    left = [c for c in cells if c["result"].get("left_out")]
    said += [f"{c['set']} {c['horizon']} {c['model']}: {c['result']['left_out']} windows not answered and left out." for c in left]
    if cells and cells[0]["plan"]["task"] == "poles":
        table, lines = poles_table(cells)
        with open(stem + ".csv.part", "w", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows(lines)
        os.replace(stem + ".csv.part", stem + ".csv")
        said += ["", table, "", *(f"Picture of {c['set']}, seed {c['seed']}: cells/{c['result']['picture']}" for c in cells)]
    elif cells:
        recipe_like = type("", (), {"BASE": base})
        rows = rows_of(recipe_like, cells)
        write_csv(stem + ".csv", rows)
        picture(stem + ".svg", title.split(".")[0], rows)
        said += ["", markdown(rows, base), "",
                 "CRPS and MSE in deviations of training, truth as measured; brackets: 95 % of a block bootstrap over days of the "
                 "origin (over entities where these are independent), paired where models are compared. \"As the paper scores\": 25 "
                 "draws, held within 5 deviations. The paper's: CRPS, of models without a distribution MAE, and MSE, on its own "
                 "windows. Seconds are of processors; of a training that was interrupted none are given."]
    said += ["", "## Not run", ""] if recipe.MISSING or failed or len(cells) < total else []
    said += [f"- {what}: {why}" for what, why in recipe.MISSING]
    said += [f"- {label}: failed: {why}" for label, why in failed]
    if len(cells) + len(failed) < total:
        said.append(f"- {total - len(cells) - len(failed)} cells have not been tried yet")
    with open(stem + ".md.part", "w") as f:
        f.write("\n".join(said) + "\n")
    os.replace(stem + ".md.part", stem + ".md")
    return stem + ".md"
