"""Asking a model about frames in many partitions, on the processes of Dask.

    from llapdiff import distributed
    model = llapdiff.load("stays.model")                                    # trained with split="entity"
    answers = distributed.forecast(model, frame, entity="stay", quantiles=[.1, .5, .9])
    answers.to_parquet("answers")

`frame` is a `dask.dataframe`, and so is the answer; nothing is computed before somebody asks for it. The rows of an
entity come together in one partition first (a shuffle, spared by `whole=True` where they lie so already). The model goes to
each worker once. Answers are those of one process, row for row; a partition that is computed again gives the same rows.

Entities have to be independent: of a model that looks at others (a stack split by time, linked entities) the partitions
would say something else, and it is refused.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd

from ._lib import InvalidError, lib
from ._model import Model, from_bytes
from ._panel import levels_of, panel


@functools.lru_cache(maxsize=4)
def _model(content: bytes) -> Model:
    """Once a process, however many partitions it gets."""
    return from_bytes(content)


def _ask(part: pd.DataFrame, content: bytes, task: str, reading: dict[str, Any], options: dict[str, Any],
         meta: pd.DataFrame | None) -> pd.DataFrame:
    if part.empty and meta is not None:
        return meta
    model = _model(content)
    with levels_of(lib.llap_model_levels(model._c)):
        rows = panel(part, **reading)
    answer = getattr(model, task)(rows, progress=False, **options)
    return answer.to_pandas()


def _example(frame: Any, reading: dict[str, Any], model: Model) -> pd.DataFrame:
    """Three rows of one entity as the frame has them: what answers about it look like."""
    meta = frame._meta
    columns: dict[str, Any] = {}
    for name in meta.columns:
        dtype = meta[name].dtype
        if name == reading["entity"]:
            columns[name] = pd.Series([0, 0, 0] if dtype.kind in "iu" else ["0", "0", "0"], dtype=dtype)
        elif dtype.kind == "M" or isinstance(dtype, pd.DatetimeTZDtype):
            columns[name] = pd.Series(pd.date_range("2000-01-01", periods=3, freq="h", tz=getattr(dtype, "tz", None)),
                                      dtype=dtype)
        elif name == reading["time"]:
            text = ["2000-01-01T00:00:00Z", "2000-01-01T01:00:00Z", "2000-01-01T02:00:00Z"]
            columns[name] = pd.Series([0, 1, 2] if dtype.kind in "iuf" else text, dtype=dtype)
        elif dtype.kind == "f":
            columns[name] = pd.Series([0, np.nan, 0], dtype=dtype)
        elif dtype.kind in "iu":
            columns[name] = pd.Series([0, 1, 0], dtype=dtype)
        else:
            columns[name] = pd.Series([None, None, None], dtype=dtype)
    return pd.DataFrame(columns)


def _refuse(model: Model, task: str, options: dict[str, Any]) -> None:
    info = model.info
    if info["split"]["by"] == "entity":
        return
    why = ""
    if info["size"] != "anchor":
        why = f"size {info['size']}, split by time"
    elif any(target["joint_rank"] > 0 for target in info["targets"]):
        why = "linked entities"
    elif task == "impute" and (any(target["fills_by_others"] for target in info["targets"]) or
                               info.get("filling", {}).get("entities", 0) > 0):
        why = "gaps are filled with the help of others"
    elif options.get("total") or options.get("keep_samples") or options.get("samples"):
        why = "paths of several entities belong together"
    if why:
        raise InvalidError(f"{task}: entities of this model look at each other ({why}): ask it in one process, or train "
                           "it with split='entity'")


def _each(model: Model, frame: Any, task: str, entity: str, time: str, whole: bool, reading: dict[str, Any] | None,
          options: dict[str, Any]) -> Any:
    from dask import delayed

    if not hasattr(frame, "map_partitions"):
        raise TypeError(f"frame: expected a dask.dataframe, found {type(frame).__name__}")
    for name, role in ((entity, "entity"), (time, "time")):
        if name not in frame.columns:
            raise InvalidError(f"{role}: no column '{name}'; there are {', '.join(map(str, frame.columns))}")
    _refuse(model, task, options)
    # what only all values together tell is not looked for in partitions
    how = {"codes": "keep", "form": "wide", **(reading or {}), "entity": entity, "time": time}
    content = bytes(model)
    meta = _ask(_example(frame, how, model), content, task, how, options, None).iloc[:0]
    if not whole:
        frame = frame.shuffle(on=entity)
    return frame.map_partitions(_ask, delayed(content), task, how, options, meta, meta=meta)


def forecast(model: Model, frame: Any, *, entity: str, time: str = "time", whole: bool = False,
             reading: dict[str, Any] | None = None, **options: Any) -> Any:
    """What comes next, as `Model.forecast(...).to_pandas()` of all rows.

    `entity` and `time` are columns; `whole`: every entity lies in one partition already. `reading` has further options of
    `llapdiff.panel`; -9999 and the like are values unless `missing` names them there, since a partition does not show what
    all of them do.
    """
    return _each(model, frame, "forecast", entity, time, whole, reading, options)


def impute(model: Model, frame: Any, *, entity: str, time: str = "time", whole: bool = False,
           reading: dict[str, Any] | None = None, **options: Any) -> Any:
    """What was missing, as `Model.impute(...).to_pandas()` of all rows."""
    return _each(model, frame, "impute", entity, time, whole, reading, options)
