"""Models: trained, asked, kept."""
from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._answer import Answer, Forecast, Imputation
from ._detection import Detection
from ._lib import check, ffi, lib, names, sink, take_text, text
from ._options import Options
from ._panel import Panel, make
from ._progress import Progress, Watch
from ._scores import Poles, Scores

_ROLES = ("entity", "time")


def _data(data: Any, options: dict[str, Any], model: Model | None = None) -> Panel:
    """The data of a call, and which of its columns are entity and time; words get the codes that the model knows."""
    reading = {name: options.pop(name) for name in _ROLES if options.get(name) is not None}
    return make(data, reading, None if model is None else lib.llap_model_levels(model._c))


class Model:
    """A trained model. Made by `train` or `load`; immutable, and any number of threads may ask it at the same time.

    `targets` and `entities` are the names that it knows, `size` what was trained, `answers` who answers.

    >>> import llapdiff
    >>> data = llapdiff.demo(kind="weather", entities=2, rows=200)
    >>> model = llapdiff.train(data, target="temperature (degC)", context="2d", horizon="12h", size="anchor")
    >>> model
    Model: forecasts temperature (degC) 12h ahead from 2d; anchor
    >>> forecast = model.forecast(data, quantiles=[.1, .5, .9])
    >>> list(forecast)
    ['entity', 'time', 'variable', 'mean', 'q0.1', 'q0.5', 'q0.9']
    >>> forecast.samples.shape
    (2, 200, 12, 1)
    """

    def __init__(self, pointer: Any):
        self._c = ffi.gc(pointer, lib.llap_model_destroy)
        out = ffi.new("llap_description **")
        check(lib.llap_description_create(self._c, out))
        described = ffi.gc(out[0], lib.llap_description_destroy)
        about = lib.llap_description_about(described)
        self.targets: list[str] = names(about.targets, about.n_targets)
        self.entities: list[str] = names(about.entities, about.n_entities)
        self.size, self.answers = text(about.size), text(about.answers)
        self._calendar = about.time_kind == lib.LLAP_TIME_CALENDAR
        self._unit = int(about.time_unit_ns)
        self._spans = (int(about.context), int(about.horizon), int(about.step))

    # ---- what it is ----

    @property
    def context(self) -> Any:
        """How far it looks back: a timedelta64, or a number where times are numbers."""
        return self._span(0)

    @property
    def horizon(self) -> Any:
        """How far it looks ahead."""
        return self._span(1)

    @property
    def step(self) -> Any:
        """Between forecast times, unless asked otherwise."""
        return self._span(2)

    def _span(self, which: int) -> Any:
        ticks = self._spans[which]
        return np.timedelta64(ticks, "ns") if self._calendar else ticks / self._unit

    @property
    def info(self) -> dict[str, Any]:
        """Everything about it, as the program's `info --json` says it."""
        out = ffi.new("char **")
        check(lib.llap_model_describe(self._c, 1, out))
        described: dict[str, Any] = json.loads(take_text(out))
        return described

    def describe(self) -> str:
        """The same for people."""
        out = ffi.new("char **")
        check(lib.llap_model_describe(self._c, 0, out))
        return take_text(out)

    def __repr__(self) -> str:
        return (f"Model: forecasts {', '.join(self.targets)} {_show(self._spans[1], self._calendar, self._unit)} ahead "
                f"from {_show(self._spans[0], self._calendar, self._unit)}; {self.size}")

    def _repr_html_(self) -> str:
        import html

        return f"<p><b>{html.escape(repr(self))}</b></p><pre>{html.escape(self.describe())}</pre>"

    # ---- asking ----

    def forecast(self, data: Any, *, quantiles: Sequence[float] | str | None = None, samples: int | None = None,
                 horizon: Any = None, step: Any = None, at: Any = None, every: Any = None, seed: int | None = None,
                 with_models: Sequence[Model] = (), scenarios: Mapping[str, Any] | None = None,
                 progress: Progress = None, **options: Any) -> Forecast:
        """What comes next, of every target of every entity.

        `at` is the time of the forecast (the last row of each entity), `every` makes a backtest. `with_models` answer
        together with this one; `scenarios` are frames of known inputs by name. Further options are those of the
        program: `total`, `times`, `keep_samples`, `static`, `device`, ...
        """
        given = {"quantiles": quantiles, "samples": samples, "horizon": horizon, "step": step, "at": at, "every": every,
                 "seed": seed}
        source = _data(data, options, self)
        asked = {**given, **options}
        others = _Others(source, self, with_models, scenarios) if with_models or scenarios else None
        return self._forecast(source, asked, others, progress)

    def _forecast(self, source: Panel, asked: dict[str, Any], others: _Others | None, progress: Progress,
                  sampler: Any = None) -> Forecast:
        out = ffi.new("llap_answer **")
        with Options("forecast", asked) as how, Watch(progress) as watch:
            how.struct.log = sink()
            how.struct.progress = watch.progress
            if others is not None:
                others.fill(how.struct)
            if sampler is None:
                watch.check(lib.llap_forecast(self._c, source._c, how.struct, out))
            else:
                watch.check(lib.llap_sampler_forecast(sampler, source._c, how.struct, out))

        def again() -> Answer:
            return self._forecast(source, {**asked, "keep_samples": True}, others, False)

        return Forecast(out[0], source, again)

    def impute(self, data: Any, *, quantiles: Sequence[float] | str | None = None, causal: bool | None = None,
               all: bool | None = None, samples: int | None = None, seed: int | None = None,
               progress: Progress = None, **options: Any) -> Imputation:
        """What was missing: fills the holes of the targets, from both sides or (`causal`) from the past alone.

        `.filled()` is the frame without holes.
        """
        given = {"quantiles": quantiles, "causal": causal, "all": all, "samples": samples, "seed": seed}
        source = _data(data, options, self)
        return self._impute(source, {**given, **options}, progress)

    def _impute(self, source: Panel, asked: dict[str, Any], progress: Progress) -> Imputation:
        out = ffi.new("llap_answer **")
        with Options("impute", asked) as how, Watch(progress) as watch:
            how.struct.log = sink()
            how.struct.progress = watch.progress
            watch.check(lib.llap_impute(self._c, source._c, how.struct, out))
        return Imputation(out[0], source, lambda: self._impute(source, {**asked, "keep_samples": True}, False))

    def evaluate(self, data: Any, *, task: str | None = None, part: str | None = None, by: str | None = None,
                 units: bool = False, samples: int | None = None, stride: Any = None, seed: int | None = None,
                 with_models: Sequence[Model] = (), progress: Progress = None, **options: Any) -> Scores:
        """How good it is on the part of the data that training left for testing, beside opponents.

        `task` "impute" hides values and fills them. Print the scores for the program's table.
        """
        given = {"task": task, "part": part, "by": by, "units": units or None, "samples": samples, "stride": stride,
                 "seed": seed}
        source = _data(data, options, self)
        out = ffi.new("llap_scores **")
        others = _Others(source, self, with_models, None)
        with Options("evaluate", {**given, **options}) as how, Watch(progress) as watch:
            how.struct.log = sink()
            how.struct.progress = watch.progress
            others.fill(how.struct)
            watch.check(lib.llap_scores_create(self._c, source._c, how.struct, out))
        return Scores(out[0], units)

    def detect(self, data: Any, *, rate: float | None = None, from_: Any = None, only: Any = None,
               rows: bool | None = None, progress: Progress = None, **options: Any) -> Detection:
        """What is unusual: readings far from their law, series that drift, are stuck or silent.

        What is usual is learnt from the rows before `from_` (the part that training left for testing), so that as many
        alarms are raised as `rate` wants where all is well, as a share of readings. `rows` keeps what is said of every
        reading (`Detection.readings`). Further options are those of the library: `join`.
        """
        given = {"rate": rate, "from_": from_, "only": only, "rows": rows}
        source = _data(data, options, self)
        out = ffi.new("llap_detection **")
        with Options("detect", {**given, **options}) as how, Watch(progress) as watch:
            how.struct.log = sink()
            how.struct.progress = watch.progress
            watch.check(lib.llap_detect(self._c, source._c, how.struct, out))
        return Detection(out[0], source, self.targets)

    def poles(self, data: Any = None, **options: Any) -> Poles:
        """The poles of its anchors and networks: decay, frequency, half-life, period."""
        source = None if data is None else _data(data, {}, self)
        out = ffi.new("llap_pole_sets **")
        with Options("poles", options) as how:
            check(lib.llap_pole_sets_create(self._c, ffi.NULL if source is None else source._c, how.struct, out))
        return Poles(out[0], self)

    def sampler(self, device: str | None = None) -> Sampler:
        """For a loop of forecasts: keeps what `forecast` makes anew each time. Belongs to one thread."""
        return Sampler(self, device)

    # ---- keeping ----

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file, as a whole or not at all."""
        check(lib.llap_model_save(self._c, os.fsencode(path)))

    def __bytes__(self) -> bytes:
        out, n = ffi.new("char **"), ffi.new("size_t *")
        check(lib.llap_model_save_memory(self._c, out, n))
        try:
            return bytes(ffi.buffer(out[0], n[0]))
        finally:
            lib.llap_text_free(out[0])

    def __reduce__(self) -> Any:
        return from_bytes, (bytes(self),)

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: Any) -> Model:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and bytes(self) == bytes(other)

    __hash__ = object.__hash__


class _Others:
    """Further models and scenarios of a call, as the library takes them."""

    def __init__(self, source: Panel, model: Model, models: Sequence[Model], scenarios: Mapping[str, Any] | None):
        self.kept = (source, model, tuple(models))
        self.n_models = len(models)
        self.models = ffi.new("llap_model *[]", [m._c for m in models]) if models else ffi.NULL
        self.panels = {name: _data(data, {}, model) for name, data in (scenarios or {}).items()}
        self.texts = [ffi.new("char[]", name.encode()) for name in self.panels]
        self.scenarios = ffi.new("llap_scenario[]", [{"name": name, "known": p._c}
                                                     for name, p in zip(self.texts, self.panels.values())])

    def fill(self, struct: Any) -> None:
        setattr(struct, "with", self.models)
        struct.n_with = self.n_models
        if self.panels:
            struct.scenarios, struct.n_scenarios = self.scenarios, len(self.panels)


class Sampler:
    """A model made ready to be asked again and again by one thread."""

    def __init__(self, model: Model, device: str | None = None):
        out = ffi.new("llap_sampler **")
        where = ffi.NULL if device is None else ffi.new("char[]", device.encode())
        check(lib.llap_sampler_create(model._c, where, lib.LLAP_GPU_DEFAULT, out))
        self._model, self._device = model, device or "cpu"
        self._c = ffi.gc(out[0], lib.llap_sampler_destroy)

    def __repr__(self) -> str:
        return f"Sampler: on {self._device}, of {self._model!r}"

    def forecast(self, data: Any, *, progress: Progress = None, **options: Any) -> Forecast:
        """As `Model.forecast`, with the same bytes."""
        source = _data(data, options, self._model)
        return self._model._forecast(source, options, None, progress, self._c)


def _show(ticks: int, calendar: bool, unit: int) -> str:
    if not calendar:
        return f"{ticks / unit:g}"
    for name, size in (("d", 86400 * 10**9), ("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9)):
        if ticks % size == 0 and (ticks >= 2 * size or name == "s" or ticks == size and name != "d"):
            return f"{ticks // size}{name}"
    return f"{ticks}ns"


class Trainer:
    """A training that another thread can stop, and that goes on later.

        trainer = llapdiff.Trainer(df, context="14d", horizon="48h", state="air.state")
        trainer.run()          # Ctrl-C, or trainer.stop() elsewhere; run() again goes on
        model = trainer.model
    """

    def __init__(self, data: Any, *, progress: Progress = None, **options: Any):
        self._panel = _data(data, options)
        self._how = Options("train", options)
        self._watch = Watch(progress)
        self._how.struct.log = sink()
        self._how.struct.progress = self._watch.progress
        out = ffi.new("llap_trainer **")
        check(lib.llap_trainer_create(self._panel._c, self._how.struct, out))
        self._c = ffi.gc(out[0], lib.llap_trainer_destroy)
        self._model: Model | None = None
        self._stage = "not run yet"

    def __repr__(self) -> str:
        return f"Trainer: {self._stage}, of {self._panel!r}"

    def run(self) -> Trainer:
        """Trains to the end, from where it was stopped. KeyboardInterrupt: it was."""
        self._watch.raised, self._stage = None, "stopped"
        with self._watch as watch:
            watch.check(lib.llap_trainer_run(self._c))
        self._stage = "through"
        return self

    def stop(self) -> None:
        """Asks the run to end at its next report; from any thread."""
        lib.llap_trainer_stop(self._c)

    @property
    def model(self) -> Model:
        """The model, once run() is through."""
        if self._model is None:
            out = ffi.new("llap_model **")
            check(lib.llap_trainer_take(self._c, out))
            self._model = Model(out[0])
            self._how.close()
        return self._model


def train(data: Any, *, target: Any = None, context: Any = None, horizon: Any = None, size: str | None = None,
          seed: int | None = None, entity: str | None = None, time: str | None = None, progress: Progress = None,
          **options: Any) -> Model:
    """Trains a model on data (see `panel` for what that may be).

    `target` names the variables to forecast, all where None; `context` is how far to look back and `horizon` how far
    ahead: "14d", a timedelta, or a number of steps. `size` is "anchor" (seconds), "stack"
    (minutes, the default), "tiny" or "small". The last fifth of the time is left for `Model.evaluate`. Further options are those of the program:
    `known`, `holidays`, `kind`, `min`, `max`, `transform`, `state` and `resume` (goes on after an interrupt), ...

    `progress`: a bar on a terminal or in a notebook; True, False, or a function of an `Event`.

    >>> import llapdiff
    >>> data = llapdiff.demo(entities=2, variables=1, rows=300)
    >>> llapdiff.train(data, context="1d", horizon="6h", size="anchor").targets
    ['v0']
    """
    given = {"target": target, "context": context, "horizon": horizon, "size": size, "seed": seed}
    source = _data(data, {"entity": entity, "time": time})
    out = ffi.new("llap_model **")
    with Options("train", {**given, **options}) as how, Watch(progress) as watch:
        how.struct.log = sink()
        how.struct.progress = watch.progress
        watch.check(lib.llap_train(source._c, how.struct, out))
    return Model(out[0])


def load(path: str | os.PathLike[str]) -> Model:
    """Loads a model file, of the program or of `Model.save`."""
    out = ffi.new("llap_model **")
    check(lib.llap_model_load(os.fsencode(path), out))
    return Model(out[0])


def from_bytes(content: bytes) -> Model:
    """A model of what bytes(model) gave."""
    out = ffi.new("llap_model **")
    check(lib.llap_model_load_memory(ffi.from_buffer(content), len(content), out))
    return Model(out[0])
