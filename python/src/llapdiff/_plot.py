"""Pictures by matplotlib, which is imported when one is drawn."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._table import quantile_name

if TYPE_CHECKING:
    from ._answer import Answer

_COLOUR = "#1f6fb4"


def plot(answer: Answer, *, entities: Any = None, variables: Any = None, history: float = 3.0, most: int = 12,
         figsize: tuple[float, float] | None = None) -> Any:
    """The fan of quantiles (or sample paths) after what was measured, a panel for each entity and variable.

    `history` is how much of the past is shown, in spans of the forecast; `most` how many panels. Returns the figure.
    """
    import matplotlib.pyplot as plt

    who = _chosen(entities, answer.entities, "entity")
    what = _chosen(variables, answer.variables, "variable")
    pairs = [(e, v) for e in who for v in what][:most]
    n_columns = min(len(pairs), max(1, len(what) if len(what) <= 3 else 3))
    n_rows = -(-len(pairs) // n_columns)
    figure, axes = plt.subplots(n_rows, n_columns, squeeze=False, figsize=figsize or (6 * n_columns, 2.6 * n_rows + 0.4))
    for axis in axes.flat[len(pairs):]:
        axis.remove()
    for axis, (e, v) in zip(axes.flat, pairs):
        _draw(axis, answer, e, v, history)
    figure.tight_layout()
    return figure


def _chosen(wanted: Any, there: list[str], what: str) -> list[int]:
    if wanted is None:
        return list(range(len(there)))
    listed = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in listed:
        if name not in there:
            raise ValueError(f"no {what} '{name}'; there are {', '.join(there[:20])}")
    return [there.index(name) for name in listed]


def _draw(axis: Any, answer: Answer, e: int, v: int, history: float) -> None:
    mine = (answer._columns["entity"].codes == e) & (answer._columns["variable"].codes == v)
    time, panel = answer["time"][mine], answer._panel
    label = answer.variables[v]
    axis.set_title(f"{answer.entities[e]}: {label}", fontsize=10, loc="left")
    if len(time) == 0:
        return
    span = time.max() - time.min()
    if label in panel.variables and answer.entities[e] in panel.entities:
        i = panel.entities.index(answer.entities[e])
        rows = slice(int(panel.first[i]), int(panel.first[i + 1]))
        past, seen = panel.times[rows], panel.values[rows, panel.variables.index(label)]
        near = (past >= time.min() - span * history) & (past <= time.max())
        near &= ~np.isnan(seen)
        axis.plot(past[near], seen[near], ".-", color="#444444", lw=0.8, ms=2.5, label="measured")
    if answer._view.is_samples:
        for s in np.unique(answer["sample"][mine])[:50]:
            path = answer["sample"][mine] == s
            axis.plot(time[path], answer["value"][mine][path], color=_COLOUR, lw=0.5, alpha=0.3)
    elif answer._view.is_imputation:
        _gaps(axis, answer, mine, time)
    else:
        _fan(axis, answer, mine, time)
    axis.grid(alpha=0.25)
    for tick in axis.get_xticklabels():
        tick.set_fontsize(8)


def _bands(answer: Answer) -> list[tuple[str, str]]:
    """Pairs of quantiles that mirror each other, the widest first."""
    q = answer.quantiles
    return [(quantile_name(a), quantile_name(b)) for a, b in zip(q, reversed(q)) if a < b and abs(a + b - 1) < 1e-6]


def _middle(answer: Answer) -> str:
    return "q0.5" if "q0.5" in answer else "mean"


def _fan(axis: Any, answer: Answer, mine: np.ndarray, time: np.ndarray) -> None:
    bands = _bands(answer)
    for low, high in bands:
        axis.fill_between(time, answer[low][mine], answer[high][mine], color=_COLOUR,
                          alpha=0.45 / max(1, len(bands)) + 0.08, lw=0)
    axis.plot(time, answer[_middle(answer)][mine], color=_COLOUR, lw=1.4, label="forecast")


def _gaps(axis: Any, answer: Answer, mine: np.ndarray, time: np.ndarray) -> None:
    gaps = ~answer["observed"][mine]
    middle = answer[_middle(answer)][mine][gaps]
    bands = _bands(answer)
    if bands:
        low, high = (answer[name][mine][gaps] for name in bands[0])
        axis.vlines(time[gaps], low, high, color=_COLOUR, alpha=0.3, lw=1.2)
    axis.plot(time[gaps], middle, ".", color=_COLOUR, ms=3, label="filled")
