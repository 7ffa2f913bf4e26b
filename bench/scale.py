"""A cost model of the program, held to measured points: scale.py PROGRAM [FOLDER]

Packs data of several sizes and forecasts ten steps of all their entities. The processor seconds of each command are fitted
as fixed + each reading + each entity, on the small sizes; larger ones, which the fit has not seen, have to come within 15 %
of what it says. Exits with 1 where they do not. Seconds are the least of three runs, so that other work on the machine
shows little; one thread. Last, what the model says of sizes that nobody measured. Memory is no such sum (a sort buffer that
is full, mapped pages that the system takes back), so it is measured and not said.
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

FIT = [(1000, 100), (3000, 100), (500, 400), (5000, 50), (2000, 200)]  # entities, rows of each
HELD = [(12000, 100), (2000, 600), (20000, 50)]
BEYOND = [(1_000_000, 100), (10_000_000, 100)]
RUNS = 3
WITHIN = 0.15


def cost(command: list[str]) -> float:
    """Processor seconds, the least of some runs."""
    seconds = []
    for _ in range(RUNS):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {child.returncode}")
        seconds.append(used.ru_utime + used.ru_stime)
    return min(seconds)


def made_up(program: str, csv: str, entities: int, rows: int) -> None:
    subprocess.run([program, "synth", "--entities", str(entities), "--rows", str(rows), "--variables", "1", "-o", csv,
                    "-q"], check=True)


def sizes(program: str, panel: str) -> tuple[int, int]:
    said = json.loads(subprocess.run([program, "inspect", panel, "--json", "-q"], check=True, capture_output=True).stdout)
    return said["rows"], said["entities"]


Point = tuple[int, int, float]  # readings, entities, seconds


def measure(program: str, model: str, folder: pathlib.Path, entities: int, rows: int) -> dict[str, Point]:
    csv, panel = str(folder / "rows.csv"), str(folder / "rows.panel")
    made_up(program, csv, entities, rows)
    packed = cost([program, "pack", csv, "--memory", "16", "-o", panel, "-q"])
    asked = cost([program, "forecast", model, panel, "--horizon", "10h", "-o", str(folder / "answer.csv"), "-q"])
    n, e = sizes(program, panel)
    return {"pack": (n, e, packed), "forecast": (n, e, asked)}


def fitted(points: list[Point]) -> np.ndarray:
    """fixed, each reading, each entity: least squares of the relative errors, no cost below 0."""
    x = np.array([[1.0, n, e] for n, e, _ in points])
    y = np.array([seconds for _, _, seconds in points])
    used, found = [0, 1, 2], np.zeros(3)
    while used:
        part = np.linalg.lstsq(x[:, used] / y[:, None], np.ones(len(y)), rcond=None)[0]
        if (part >= 0).all():
            found[used] = part
            break
        used.remove(used[int(np.argmin(part * x[:, used].mean(0)))])
    return found


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    worst = 0.0
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as home:
        folder = pathlib.Path(home)
        model, data = str(folder / "any.model"), str(folder / "train.csv")
        made_up(program, data, 50, 100)
        subprocess.run([program, "train", data, "--size", "anchor", "-c", "20h", "--horizon", "10h", "--split", "entity",
                        "-o", model, "-q"], check=True, stdout=subprocess.DEVNULL)
        points = {size: measure(program, model, folder, *size) for size in (*FIT, *HELD)}
    for command in ("pack", "forecast"):
        law = fitted([points[size][command] for size in FIT])
        print(f"{command}: {law[0]:.2g} s, {1e6 * law[1]:.3g} s a million readings, "
              f"{1e6 * law[2]:.3g} s a million entities")
        for size in HELD:
            n, e, found = points[size][command]
            said = law @ [1, n, e]
            worst = max(worst, abs(said / found - 1))
            print(f"    {n:>9} readings of {e:>8} entities: measured {found:.3g} s, said {said:.3g}, "
                  f"{100 * (said / found - 1):+.0f} %")
        for entities, rows in BEYOND:
            n = entities * rows
            print(f"    {n:>9.2g} readings of {entities:>8} entities: said {law @ [1, n, entities]:.3g} s")
    print(f"worst {100 * worst:.0f} %, wanted within {100 * WITHIN:.0f} %")
    sys.exit(int(worst > WITHIN))


if __name__ == "__main__":
    main()
