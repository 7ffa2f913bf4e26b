"""Theta, ETS and MSTL of statsforecast, each series by itself on its grid, gaps filled by straight lines, with their
own prediction intervals."""
import numpy as np

LEVELS = [.025, .1, .25, .5, .75, .9, .975]


def forecast(panel, name, queries, threads):
    """Quantiles [queries,7]. Each origin is fitted anew on the context, as the program looks at it."""
    from statsforecast.models import MSTL, AutoETS, AutoTheta
    day = int(round(24 / panel.step)) if panel.cycle == "day" else 7
    out = np.full((len(queries), len(LEVELS)), np.nan)
    widths = [50, 80, 95]
    for k, o in sorted(set(map(tuple, queries[:, :2]))):
        at = np.flatnonzero((queries[:, 0] == k) & (queries[:, 1] == o))
        s = panel.series[panel.names[int(k)], panel.target]
        a, b = np.searchsorted(s.t, [o - panel.context, o], "right")
        if b - a < 2 * day:
            continue
        grid = np.arange(s.t[a], o + panel.step / 2, panel.step)
        y = np.interp(grid, s.t[a:b], s.x[a:b])
        model = {"theta": lambda: AutoTheta(season_length=day), "ets": lambda: AutoETS(season_length=day),
                 "mstl": lambda: MSTL(season_length=[day, 7 * day] if day > 7 and len(y) > 14 * day else day,
                                      trend_forecaster=AutoETS(model="ZZN"))}[name]()
        steps = int(np.ceil((queries[at, 2].max() - grid[-1]) / panel.step)) + 1
        try:
            f = model.forecast(y, h=steps, level=widths)
        except Exception:  # a series that the model does not take: the last value stays
            continue
        ahead = grid[-1] + panel.step * np.arange(1, steps + 1)
        for j, level in enumerate(LEVELS):
            side = "mean" if level == .5 else ("lo" if level < .5 else "hi") + f"-{round(abs(1 - 2 * level) * 100)}"
            out[at, j] = np.interp(queries[at, 2], ahead, f[side])
    last = np.array([panel.series[panel.names[int(k)], panel.target].at(np.array([o]), np.array([-1e18]))[0]
                     for k, o in queries[:, :2]])
    out = np.where(np.isnan(out), last[:, None], out)
    return panel.mean + panel.sd * np.sort(out, 1)
