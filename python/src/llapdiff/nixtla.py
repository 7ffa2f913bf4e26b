"""Nixtla's way: frames of `unique_id, ds, y`, fit, predict, cross_validation, interval columns as theirs.

    from llapdiff.nixtla import Llap
    model = Llap(freq="h").fit(df, h=48)
    model.predict(h=48, level=[80, 95])     # unique_id, ds, Llap, Llap-lo-95, Llap-lo-80, Llap-hi-80, Llap-hi-95

Further columns are known inputs, whose values to come `predict` takes as `X_df`, or static ones.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from . import _arrow, _series
from ._data import _numpy_column
from ._table import quantile_name


def _key(level: float) -> str:
    return f"{level:g}"


class Llap:
    """One model for all series of a frame.

    freq : a pandas offset ("h", "D", "MS") where ds are times, a number where they are numbers
    context : how far to look back, in steps or as a duration; None: three horizons, at least 24 steps
    size : "anchor", "tiny", "small", "stack"
    alias : the name of the columns
    options : further options of llapdiff.train
    """

    def __init__(self, freq: Any = 1, *, context: Any = None, size: str = "anchor", alias: str = "Llap", seed: int = 1,
                 options: dict[str, Any] | None = None, id_col: str = "unique_id", time_col: str = "ds",
                 target_col: str = "y"):
        self.freq, self.context, self.size, self.alias, self.seed, self.options = freq, context, size, alias, seed, options
        self.id_col, self.time_col, self.target_col = id_col, time_col, target_col

    # scikit-learn's way of looking at parameters
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        names = ("freq", "context", "size", "alias", "seed", "options", "id_col", "time_col", "target_col")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Llap:
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"no parameter '{name}'; there are {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return self.alias

    def fit(self, df: Any, h: int = 1, static_features: Sequence[str] = (), **ignored: Any) -> Llap:
        """Trains on windows h steps long. `static_features` never change within a series; the other columns beside the
        three are known inputs."""
        self._frame = self._pandas(df)
        first = (self.id_col, self.time_col, self.target_col)
        more = [str(name) for name in self._frame.columns if name not in first]
        missing = [name for name in static_features if name not in more]
        if missing:
            raise ValueError(f"static_features: no column {', '.join(missing)}; there are {', '.join(more)}")
        self._static = list(static_features)
        self._inputs = [name for name in more if name not in self._static]
        self._panel = self._make(self._frame)
        options = {"target": "y", "known": self._inputs or None, "static": self._static or None, "size": self.size,
                   "seed": self.seed, **(self.options or {})}
        self.model_ = _series.fit(self._panel, int(h), self.context, options)
        return self

    def predict(self, h: int, df: Any = None, level: Sequence[float] | None = None,
                quantiles: Sequence[float] | None = None, X_df: Any = None) -> pd.DataFrame:
        """The next h steps of every series, after `df` where it is given. `level` are central intervals in percent;
        `X_df` has the known inputs of these steps: unique_id, ds and their columns."""
        if h < 1:
            raise ValueError(f"h: expected at least 1 step, found {h}")
        frame = self._frame if df is None else self._pandas(df)
        frame = self._with_inputs(frame, X_df)
        seen = frame if X_df is None else frame[frame["_ahead"].isna()]
        last = seen.groupby(self.id_col, sort=True, observed=True)[self.time_col].max()
        origins = pd.DataFrame({self.id_col: last.index, "cutoff": last.to_numpy()})
        out = self._ask(frame, origins, int(h), level, quantiles)
        return out.drop(columns="cutoff")

    def cross_validation(self, df: Any, h: int, n_windows: int = 1, step_size: int | None = None,
                         level: Sequence[float] | None = None, quantiles: Sequence[float] | None = None,
                         refit: bool = False, static_features: Sequence[str] = ()) -> pd.DataFrame:
        """Forecasts from n_windows cutoffs before the end: unique_id, ds, cutoff, y and the forecasts.

        Trained on what lies before the first cutoff, or before each (`refit`).
        """
        frame = self._pandas(df)
        step = int(step_size or h)
        parts = []
        fitted = False
        for w in range(n_windows - 1, -1, -1):
            behind = h + w * step
            grouped = frame.groupby(self.id_col, sort=True, observed=True)
            rank = grouped.cumcount(ascending=False)
            past = frame[rank >= behind]
            if past.empty:
                raise ValueError(f"n_windows: the series are shorter than {behind + 1} rows")
            if refit or not fitted:
                self.fit(past, h, static_features)
                fitted = True
            last = past.groupby(self.id_col, sort=True, observed=True)[self.time_col].max()
            origins = pd.DataFrame({self.id_col: last.index, "cutoff": last.to_numpy()})
            window = frame[(rank < behind) & (rank >= behind - h)]
            truth = window[[self.id_col, self.time_col, self.target_col]]
            ahead = window.drop(columns=self.target_col) if self._inputs else None
            found = self._ask(self._with_inputs(past, ahead), origins, h, level, quantiles, truth)
            parts.append(found.merge(truth, on=[self.id_col, self.time_col], how="left"))
        out = pd.concat(parts, ignore_index=True).sort_values([self.id_col, "cutoff", self.time_col], ignore_index=True)
        first = [self.id_col, self.time_col, "cutoff", self.target_col]
        return out[first + [c for c in out.columns if c not in first]]

    # ---- inside ----

    def _pandas(self, df: Any) -> pd.DataFrame:
        if not isinstance(df, pd.DataFrame):
            df = df.to_pandas() if hasattr(df, "to_pandas") else pd.DataFrame(df)
        for name in (self.id_col, self.time_col, self.target_col):
            if name not in df.columns:
                raise ValueError(f"expected the columns {self.id_col}, {self.time_col}, {self.target_col}, "
                                 f"found {', '.join(map(str, df.columns))}")
        return df.sort_values([self.id_col, self.time_col], ignore_index=True)

    def _with_inputs(self, frame: pd.DataFrame, ahead: Any) -> pd.DataFrame:
        """The rows to come below those that were measured; `_ahead` marks them."""
        if ahead is None:
            return frame
        if not isinstance(ahead, pd.DataFrame):
            ahead = ahead.to_pandas() if hasattr(ahead, "to_pandas") else pd.DataFrame(ahead)
        wanted = [self.id_col, self.time_col, *self._inputs]
        missing = [name for name in wanted if name not in ahead.columns]
        if missing:
            raise ValueError(f"X_df: expected the columns {', '.join(map(str, wanted))}, missing {', '.join(missing)}")
        rows = pd.concat([frame, ahead[wanted].assign(_ahead=1.0)], ignore_index=True)
        for name in self._static:
            rows[name] = rows.groupby(self.id_col, observed=True)[name].transform("first")
        return rows.sort_values([self.id_col, self.time_col], ignore_index=True)

    def _column(self, name: str, values: pd.Series) -> _arrow.Column:
        from ._data import _pandas_column

        if name in self._static and not pd.api.types.is_numeric_dtype(values.dtype):
            return _pandas_column(name, values.astype("category"))
        return _arrow.numbers(name, values.to_numpy(np.float64))

    def _make(self, frame: pd.DataFrame) -> Any:
        codes, names = pd.factorize(frame[self.id_col], sort=True)
        self._names = {str(name): name for name in names}
        return _series.panel_of([_arrow.words("entity", codes, [str(name) for name in names]),
                                 _numpy_column("time", self._when(frame[self.time_col])),
                                 _arrow.numbers("y", frame[self.target_col].to_numpy(np.float64)),
                                 *(self._column(name, frame[name]) for name in [*self._inputs, *self._static])])

    @staticmethod
    def _when(times: pd.Series) -> np.ndarray:
        if getattr(times.dtype, "tz", None) is not None:
            times = times.dt.tz_convert("UTC").dt.tz_localize(None)
        return times.to_numpy()

    def _ahead(self, last: Any, h: int) -> list[Any]:
        if isinstance(last, (int, float, np.integer, np.floating)):
            step = float(self.freq)
            ahead = [last + step * (i + 1) for i in range(h)]
            return [int(t) if float(t).is_integer() else t for t in ahead]
        offset = pd.tseries.frequencies.to_offset(self.freq)
        return list(pd.date_range(last, periods=h + 1, freq=offset))[-h:] if offset.is_on_offset(pd.Timestamp(last)) else [
            pd.Timestamp(last) + offset * (i + 1) for i in range(h)]

    def _ask(self, frame: pd.DataFrame, origins: pd.DataFrame, h: int, level: Sequence[float] | None,
             quantiles: Sequence[float] | None, truth: pd.DataFrame | None = None) -> pd.DataFrame:
        panel = self._make(frame)
        rows: list[tuple[Any, Any, Any]] = []
        for key, cutoff in zip(origins[self.id_col], origins["cutoff"]):
            ahead = self._ahead(cutoff, h) if truth is None else list(
                truth.loc[truth[self.id_col] == key, self.time_col])
            rows += [(key, t, cutoff) for t in ahead]
        asked = pd.DataFrame(rows, columns=[self.id_col, self.time_col, "cutoff"])
        asked[self.time_col] = asked[self.time_col].astype(frame[self.time_col].dtype)
        times = pd.DataFrame({"entity": asked[self.id_col].astype(str), "time": _texts(self._when(asked[self.time_col]))})
        wanted = sorted({(100 - x) / 200 for x in level or ()} | {(100 + x) / 200 for x in level or ()} |
                        set(quantiles or ()))
        answer = self.model_.forecast(panel, times=times, quantiles=wanted or None, progress=False)
        table = pd.DataFrame({"entity": answer["entity"], "time": _texts(answer["time"])})
        table[self.alias] = answer["mean"]
        for x in sorted(level or (), reverse=True):
            table[f"{self.alias}-lo-{_key(x)}"] = answer[quantile_name((100 - x) / 200)]
        for x in sorted(level or ()):
            table[f"{self.alias}-hi-{_key(x)}"] = answer[quantile_name((100 + x) / 200)]
        for q in quantiles or ():
            table[f"{self.alias}-q-{_key(100 * q)}"] = answer[quantile_name(q)]
        merged = times.merge(table, on=["entity", "time"], how="left")
        return pd.concat([asked, merged.drop(columns=["entity", "time"])], axis=1)


def _texts(times: np.ndarray) -> list[str]:
    return [str(t) for t in (times.astype("datetime64[ns]") if times.dtype.kind == "M" else times)]
