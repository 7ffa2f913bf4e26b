"""What a worker does with the rows of whole entities or groups: the same on every engine, and without one."""
from __future__ import annotations

import dataclasses
import functools
import socket
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._lib import Error, InvalidError, lib, version
from ._model import Model, from_bytes, train
from ._panel import make, panel
from ._table import Table, Words


@functools.lru_cache(maxsize=4)
def _model(content: bytes) -> Model:
    """Once a process, however many partitions it gets."""
    return from_bytes(content)


def _no_nulls(key: str, n: int) -> None:
    if n > 0:
        raise InvalidError(f"column '{key}': {n} {'row has' if n == 1 else 'rows have'} no value: name them or leave them out")


def groups(part: Any, key: str) -> Iterator[tuple[Any, Any]]:
    """The rows of each value of a column, in the order of the values: of a pandas frame or an Arrow table."""
    if hasattr(part, "groupby"):
        _no_nulls(key, int(part[key].isna().sum()))
        yield from part.groupby(key, sort=True, observed=True)
        return
    import pyarrow as pa
    import pyarrow.compute as pc

    column = part.column(key).combine_chunks()
    _no_nulls(key, column.null_count)
    if isinstance(column.type, pa.DictionaryType):
        column = column.dictionary_decode()
    order = pc.sort_indices(column)
    part, column = part.take(order), column.take(order)
    ends = pc.run_end_encode(column)
    first = 0
    for value, end in zip(ends.values.to_pylist(), ends.run_ends.to_pylist()):
        yield value, part.slice(first, end - first)
        first = end


@dataclasses.dataclass(frozen=True)
class Work:
    """Sent to every worker with the model's bytes beside it."""

    reading: Mapping[str, Any]  # options of `panel`
    options: Mapping[str, Any]  # of the task
    made_by: str = dataclasses.field(default_factory=lambda: version())

    def __call__(self, part: Any, content: bytes | None) -> list[Table]:
        """What is answered about the part's rows. An error is one line."""
        here = version()
        if here != self.made_by:
            raise InvalidError(f"worker {socket.gethostname()} has llapdiff {here}, and the call came from "
                               f"{self.made_by}: install one version everywhere")
        return self.answer(part, None if content is None else _model(content))

    def answer(self, part: Any, model: Model | None) -> list[Table]:
        raise NotImplementedError

    def read(self, part: Any, model: Model) -> Any:
        return make(part, self.reading, lib.llap_model_levels(model._c))


class Forecast(Work):
    def answer(self, part: Any, model: Model) -> list[Table]:  # type: ignore[override]
        return [model.forecast(self.read(part, model), progress=False, **self.options)]


class Impute(Work):
    def answer(self, part: Any, model: Model) -> list[Table]:  # type: ignore[override]
        return [model.impute(self.read(part, model), progress=False, **self.options)]


class Evaluate(Work):
    """Scores of each entity. Opponents learn from all entities, so that a partition cannot tell them."""

    def answer(self, part: Any, model: Model) -> list[Table]:  # type: ignore[override]
        if model.info["split"]["by"] == "entity":
            return self.score(part, model)
        # Which windows are scored begins at the first one of the panel: each entity has its own here, so that a
        # partition says the same whatever else is in it.
        return [scores for _, rows in groups(part, self.reading["entity"]) for scores in self.score(rows, model)]

    def score(self, part: Any, model: Model) -> list[Table]:
        asked = {"bootstrap": 0, **self.options, "by": "entity"}
        try:
            scores = model.evaluate(self.read(part, model), progress=False, **asked)
        except InvalidError as error:
            if str(error).startswith("the data has no "):  # window of this part of the split: no rows, no error
                return []
            raise
        table, own = scores.by_entity(), scores.n_own
        of = table._columns["forecaster"]
        mine = of.codes < own
        return [Table({name: Words(c.codes[mine], c.names) if isinstance(c, Words) else c[mine]
                       for name, c in table._columns.items()})]


@dataclasses.dataclass(frozen=True)
class Detect(Work):
    """Alarms of each entity, judged by what is usual of itself."""

    short: str = "raise"

    def answer(self, part: Any, model: Model) -> list[Table]:  # type: ignore[override]
        out: list[Table] = []
        for name, rows in groups(part, self.reading["entity"]):
            try:
                out.append(model.detect(self.read(rows, model), progress=False, **self.options))
            except InvalidError as error:
                if self.short == "skip" and str(error).startswith(("no row ", "there is no row ")):
                    continue
                raise InvalidError(f"entity '{name}': {error}") from None
        return out


@dataclasses.dataclass(frozen=True)
class TrainEach(Work):
    """A model for each group, asked about the group's rows, or kept."""

    by: str = ""
    ask: str | None = None
    asking: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    failed: str = "raise"

    def answer(self, part: Any, model: Model | None) -> list[Table]:
        return [self.group(name, rows) for name, rows in groups(part, self.by)]

    def group(self, name: Any, rows: Any) -> Table:
        is_series = self.reading["entity"] == self.by
        if not is_series:
            rows = rows.drop(columns=self.by) if hasattr(rows, "groupby") else rows.drop_columns([self.by])
        columns: dict[str, Any] = {}
        error = ""
        try:
            columns = dict(self.of_group(panel(rows, **self.reading))._columns)
        except Error as refused:
            if self.failed == "raise":
                raise type(refused)(f"{self.by} '{name}': {refused}") from None
            error = str(refused)
        n = Table(columns).n_rows if columns else 1
        # A group that could not be trained is one row; what it lacks is filled up with nulls later.
        label = "entity" if is_series and self.has_entities else self.by
        if label not in columns:
            columns = {label: np.full(n, str(name), object), **columns}
        if self.failed == "keep":
            columns["error"] = np.full(n, error or None, object)
        return Table(columns)

    @property
    def has_entities(self) -> bool:
        return self.ask in ("forecast", "impute", "detect")

    def of_group(self, rows: Any) -> Table:
        model = train(rows, progress=False, **self.options)
        if self.ask is None:
            return Table({"model": np.array([bytes(model)], object)})
        answer: Table = getattr(model, self.ask)(rows, progress=False, **self.asking)
        return answer
