"""Asking a model about frames in many partitions, on the workers of Spark, Ray or Dask.

    from llapdiff import distributed
    model = llapdiff.load("stays.model")                                    # trained with split="entity"
    answers = distributed.forecast(model, frame, entity="stay", quantiles=[.1, .5, .9])

`frame` is a `pyspark.sql.DataFrame`, a `ray.data.Dataset` or a `dask.dataframe`, and so is the answer; nothing is computed
before somebody asks for it. The rows of an entity come together in one partition first (a shuffle of the engine, spared by
`whole=True` where they lie so already). The model goes to each worker once. Answers are those of one process, row for row;
a partition that is computed again gives the same rows. A worker with another version of llapdiff is refused by name.

Entities have to be independent: of a model that looks at others (a stack split by time, linked entities) the partitions
would say something else, and it is refused.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ._engines import Engine, engine_of
from ._lib import InvalidError
from ._model import Model, train
from ._panel import demo, panel
from ._table import Table, Times
from ._work import Detect, Evaluate, Forecast, Impute, TrainEach, Work

_NUMBERS = ("value", "expected", "low", "high", "score", "p", "surprise", "margin")


# ---- what answers look like ----

def _example(meta: pd.DataFrame, entity: str, time: str) -> pd.DataFrame:
    """Three rows of one entity as the frame has them: what answers about it look like."""
    columns: dict[str, Any] = {}
    for name in meta.columns:
        dtype = meta[name].dtype
        if name == entity:
            columns[name] = pd.Series([0, 0, 0] if dtype.kind in "iu" else ["0", "0", "0"], dtype=dtype)
        elif dtype.kind == "M" or isinstance(dtype, pd.DatetimeTZDtype):
            columns[name] = pd.Series(pd.date_range("2000-01-01", periods=3, freq="h", tz=getattr(dtype, "tz", None)),
                                      dtype=dtype)
        elif name == time:
            text = ["2000-01-01T00:00:00Z", "2000-01-01T01:00:00Z", "2000-01-01T02:00:00Z"]
            columns[name] = pd.Series([0, 1, 2] if dtype.kind in "iuf" else text, dtype=dtype)
        elif dtype.kind == "f":
            columns[name] = pd.Series([0, np.nan, 0], dtype=dtype)
        elif dtype.kind in "iu":
            columns[name] = pd.Series([0, 1, 0], dtype=dtype)
        else:
            columns[name] = pd.Series([None, None, None], dtype=dtype)
    return pd.DataFrame(columns)


def _empty(table: Table, times: Times | None = None) -> pd.DataFrame:
    """A pandas frame of no rows with a table's columns. Plain numbers are floats, whatever a partition has of them."""
    columns: dict[str, Any] = {}
    for name, column in table._columns.items():
        if isinstance(column, Times):
            like = Table({name: (times or column)._replace(ticks=np.empty(0, np.int64))}).to_pandas()[name]
            columns[name] = like if (times or column).axis.calendar else like.astype("float64")
        else:
            columns[name] = Table({name: column}).to_pandas()[name].iloc[:0]
    return pd.DataFrame(columns)


def _of_detection(times: Times) -> Table:
    text = np.empty(0, object)
    return Table({"entity": text, "variable": text, "condition": text, "time": times, "from": times, "to": times,
                  "rows": np.empty(0, np.int64), "open": np.empty(0, bool), "peak": times,
                  **{name: np.empty(0) for name in _NUMBERS}})


def _of_scores() -> Table:
    text = np.empty(0, object)
    return Table({"entity": text, "forecaster": text, "variable": text, "n": np.empty(0, np.int64),
                  **{name: np.empty(0) for name in ("crps", "mse", "mae", "coverage80", "width80")}})


# ---- what cannot be cut ----

def _refuse(model: Model, task: str, options: Mapping[str, Any]) -> None:
    """One line, where entities of the model look at each other."""
    info = model.info
    if info["split"]["by"] == "entity":
        return
    why = ""
    if info["size"] != "anchor":
        why = f"size {info['size']}, split by time"
    elif any(target["joint_rank"] > 0 for target in info["targets"]):
        why = "linked entities"
    elif "impute" in (task, options.get("task")) and (any(target["fills_by_others"] for target in info["targets"]) or
                                                      info.get("filling", {}).get("entities", 0) > 0):
        why = "gaps are filled with the help of others"
    elif options.get("total") or options.get("keep_samples") or (task == "forecast" and options.get("samples")):
        why = "paths of several entities belong together"
    if why:
        raise InvalidError(f"{task}: entities of this model look at each other ({why}): ask it in one process, or train "
                           "it with split='entity'")


def _checked(frame: Any, plain: bool = False, **roles: str) -> Engine:
    engine = engine_of(frame, plain)
    columns = engine.columns()
    for role, name in roles.items():
        if columns is not None and name not in columns:
            raise InvalidError(f"{role}: no column '{name}'; there are {', '.join(map(str, columns))}")
    return engine


def _reading(reading: Mapping[str, Any] | None, entity: str, time: str) -> dict[str, Any]:
    # what only all values together tell is not looked for in partitions
    return {"codes": "keep", "form": "wide", **(reading or {}), "entity": entity, "time": time}


def _each(model: Model, frame: Any, kind: type[Work], entity: str, time: str, whole: bool,
          reading: Mapping[str, Any] | None, options: Mapping[str, Any], **more: Any) -> Any:
    task = kind.__name__.lower()
    engine = _checked(frame, entity=entity, time=time)
    for each in (model, *options.get("with_models", ())):
        if kind is not Detect:  # it asks anchors, one entity at a time
            _refuse(each, task, options)
    work = kind(_reading(reading, entity, time), options, **more)
    example = _example(engine.empty(), entity, time)
    if kind is Evaluate:
        like = _empty(_of_scores())
    elif kind is Detect:
        rows = work.read(example, model)
        like = _empty(_of_detection(Times(np.empty(0, np.int64), rows.axis)))
    else:
        like = _empty(work.answer(example, model)[0])
    return engine.run(work, bytes(model), entity, time, whole, like)


# ---- asking one model ----

def forecast(model: Model, frame: Any, *, entity: str, time: str = "time", whole: bool = False,
             reading: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """What comes next, as `Model.forecast(...).to_pandas()` of all rows.

    `entity` and `time` are columns; `whole`: every entity lies in one partition already. `reading` has further options of
    `llapdiff.panel`; -9999 and the like are values unless `missing` names them there, since a partition does not show what
    all of them do.
    """
    return _each(model, frame, Forecast, entity, time, whole, reading, options)


def impute(model: Model, frame: Any, *, entity: str, time: str = "time", whole: bool = False,
           reading: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """What was missing, as `Model.impute(...).to_pandas()` of all rows."""
    return _each(model, frame, Impute, entity, time, whole, reading, options)


def detect(model: Model, frame: Any, *, entity: str, time: str = "time", whole: bool = False,
           reading: Mapping[str, Any] | None = None, short: str = "raise", **options: Any) -> Any:
    """What is unusual: a row for each alarm, as `Model.detect` of the rows of each entity alone.

    Each entity is judged by what is usual of itself: limits that all entities share, as `Model.detect` of all of them
    learns, need all rows in one place. An entity without a row to learn from is an error, or left out by `short="skip"`.
    """
    if short not in ("raise", "skip"):
        raise InvalidError(f"short: expected 'raise' or 'skip', found '{short}'")
    return _each(model, frame, Detect, entity, time, whole, reading, options, short=short)


def evaluate(model: Model, frame: Any, *, entity: str, time: str = "time", whole: bool = False,
             reading: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """How good it is: a row for each entity and variable, as `Model.evaluate(..., by="entity").by_entity()` of all rows;
    `totals` adds them up.

    The model and its parts are scored; opponents learn from all entities at once, so that they are a matter for one
    process and a sample. Of a model split by time, windows are counted from the first one of each entity, and one process
    counts from the first one of all: the rows are its where those are the same, or where `stride` is a row.
    """
    for name in ("keep", "windows", "hidden", "against", "by", "units", "total"):
        if options.get(name) is not None:
            raise InvalidError(f"{name}: is for one process; here every entity is a row")
    return _each(model, frame, Evaluate, entity, time, whole, reading, options)


def totals(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of `evaluate`, as pandas, added up: a row for each forecaster and variable, and one of "all".

    The sums are rounded once and do not depend on the order of the rows. Against `Model.evaluate` of all entities, which
    adds window by window, they differ in the last digits alone (1e-12).
    """
    rows = []
    for name, part in scores.groupby("forecaster", sort=False):
        variables = sorted(part["variable"].unique())
        for variable in (*variables, "all"):
            of = part if variable == "all" else part[part["variable"] == variable]
            n = of["n"].to_numpy(np.float64)
            rows.append({"forecaster": name, "variable": variable, "n": int(n.sum()),
                         **{c: math.fsum(n * of[c].to_numpy()) / n.sum() for c in
                            ("crps", "mse", "mae", "coverage80", "width80")}})
    return pd.DataFrame(rows)


# ---- a model for each of many groups ----

def _of_training(ask: str | None, asking: Mapping[str, Any], times: Times) -> pd.DataFrame:
    """What answers of a model look like, by a small one of made-up rows."""
    if ask == "detect":
        return _empty(_of_detection(times))
    if ask is None:
        return pd.DataFrame({"model": pd.Series([], dtype="object")})
    rows = demo(entities=1, variables=1, rows=120)
    model = train(rows, context="1d", horizon="6h", size="anchor", progress=False, training={"anchor": {"steps": 1}})
    told = {name: asking[name] for name in ("quantiles", "samples", "keep_samples", "units") if name in asking}
    if asking.get("every") is not None:
        told["every"] = "1d"
    return _empty(getattr(model, ask)(rows, progress=False, **told), times)


def train_each(frame: Any, *, by: str, context: Any, horizon: Any, ask: str | None = "forecast",
               asking: Mapping[str, Any] | None = None, entity: str | None = None, time: str = "time",
               whole: bool = False, reading: Mapping[str, Any] | None = None, failed: str = "raise",
               **options: Any) -> Any:
    """One model for each of many groups, trained and asked in one pass over the rows.

        coming = distributed.train_each(frame, by="shop", context="28d", horizon="7d", asking={"quantiles": [.1, .9]})

    `frame` is one of the engines', or a frame of pandas, polars or pyarrow, and so is what comes back: the rows that
    `train(rows, ...)` and then `ask` ("forecast", "impute", "evaluate" or "detect") with the options `asking` give of each
    group. With `ask=None` it is a row for each group with its model, for `from_bytes`. Without `entity` a group is one
    series, and `by` names its entity; with it a group has several, and the answer has a column `by` more.

    `size` is "anchor" unless told; further options are those of `train`. A group that cannot be trained ends the call with
    its name, or, with `failed="keep"`, is a row whose `error` says why.
    """
    asked = dict(asking or {})
    if ask not in ("forecast", "impute", "evaluate", "detect", None):
        raise InvalidError(f"ask: expected forecast, impute, evaluate, detect or None, found '{ask}'")
    if failed not in ("raise", "keep"):
        raise InvalidError(f"failed: expected 'raise' or 'keep', found '{failed}'")
    engine = _checked(frame, plain=True, by=by, time=time, **({} if entity is None else {"entity": entity}))
    how = _reading(reading, entity or by, time)
    empty = engine.empty()
    example = _example(empty if entity is None or by == entity else empty.drop(columns=by), entity or by, time)
    like = _of_training(ask, asked, Times(np.empty(0, np.int64), panel(example, **how).axis))
    work = TrainEach(how, {"context": context, "horizon": horizon, "size": "anchor", **options}, by=by, ask=ask,
                     asking=asked, failed=failed)
    label = "entity" if how["entity"] == by and work.has_entities else by
    if label not in like:
        like.insert(0, label, pd.Series([], dtype="object"))
    elif label != "entity" or how["entity"] != by:
        raise InvalidError(f"by: the answers have a column '{by}' of their own: give the frame's another name")
    if failed == "keep":
        for name, kind in like.dtypes.items():
            if kind.kind in "iub":  # a row without an answer has nulls
                like[name] = like[name].astype("boolean" if kind.kind == "b" else "Int64")
        like["error"] = pd.Series([], dtype="object")
    return engine.run(work, None, by, time, whole, like)


__all__ = ["detect", "evaluate", "forecast", "impute", "totals", "train_each"]
