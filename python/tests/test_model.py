"""Training, asking, keeping."""
import asyncio
import copy
import datetime
import logging
import os
import pickle
import signal
import sys
import threading
import time
import types

import numpy as np
import pandas as pd
import pytest
from conftest import QUICK

import llapdiff
from llapdiff import _model, _progress


def test_what_a_model_says_of_itself(model):
    assert model.targets == ["temperature (degC)", "pressure (hPa)"]
    assert model.horizon == np.timedelta64(12, "h") and model.context == np.timedelta64(2, "D")
    assert model.info["targets"] and "validation CRPS" in model.describe()
    assert repr(model) == "Model: forecasts temperature (degC), pressure (hPa) 12h ahead from 2d; anchor"
    assert "<pre>" in model._repr_html_()


def test_forecast(model, data):
    fc = model.forecast(data, quantiles=[0.1, 0.5, 0.9])
    assert list(fc) == ["entity", "time", "variable", "mean", "q0.1", "q0.5", "q0.9"]
    assert fc.n_rows == 3 * 12 * 2 and (fc["q0.1"] < fc["q0.9"]).all()
    assert fc["time"].dtype == np.dtype("datetime64[ns]")
    assert set(fc["entity"]) == set(data.entities)
    table = fc.to_pandas()
    assert str(table["time"].dtype) == "datetime64[ns, UTC]"
    assert np.array_equal(table["mean"], fc.to_arrow()["mean"].to_numpy())
    assert np.array_equal(dict(fc)["q0.9"], table["q0.9"])
    assert "Forecast: 3 entities" in repr(fc) and "<table>" in fc._repr_html_()


def test_samples_are_one_array(model, data):
    fc = model.forecast(data, samples=40)
    assert fc.samples.shape == (3, 40, 12, 2) and not np.isnan(fc.samples).any()
    kept = model.forecast(data, samples=40, keep_samples=True)
    assert np.array_equal(kept.samples, fc.samples)
    assert not kept.samples.flags.owndata  # no copy
    assert np.array_equal(kept["value"], kept.samples.reshape(-1))
    other = model.forecast(data, samples=40, seed=2)
    assert not np.array_equal(other.samples, fc.samples)


def test_options_are_python_values(model, data):
    origin = data.times.max() - np.timedelta64(2, "D")
    a = model.forecast(data, at=origin, horizon=datetime.timedelta(hours=6), step="2h")
    b = model.forecast(data, at=str(origin) + "Z", horizon="6h", step=np.timedelta64(2, "h"))
    c = model.forecast(data, at=pd.Timestamp(origin), horizon=pd.Timedelta("6h"), step="2h")
    assert np.array_equal(a["mean"], b["mean"]) and np.array_equal(a["mean"], c["mean"]) and a.n_rows == 3 * 3 * 2


def test_backtests_and_times(model, data):
    fc = model.forecast(data, every="1d")
    assert "origin" in fc and (fc["origin"] < fc["time"]).all() and fc.samples.shape[0] > 3
    last = data.times.max()
    times = pd.DataFrame({"time": [f"{last + np.timedelta64(h, 'h')}Z"[:19] + "Z" for h in (30, 33)]})
    asked = model.forecast(data, times=times)
    assert asked.n_rows == 3 * 2 * 2


def test_impute(model, data):
    holes = np.isnan(data.values).sum()
    filled = model.impute(data)
    assert filled.n_rows == holes and not filled["observed"].any()
    frame = filled.filled().to_pandas()
    assert frame.isna().sum().sum() == 0 and len(frame) == data.n_rows
    kept = ~np.isnan(data.values[:, 0])
    assert np.array_equal(frame["temperature (degC)"][kept].astype("f4"), data.values[kept, 0])
    assert not np.array_equal(model.impute(data, causal=True)["mean"], filled["mean"])
    every = model.impute(data, all=True)
    assert every.n_rows == data.n_rows * 2 and every["observed"].sum() == data.n_rows * 2 - holes


def test_imputing_arrays(model):
    x = llapdiff.Panel.from_numpy(np.sin(np.arange(600).reshape(2, 300, 1) / 5), variables=["x"])
    own = llapdiff.train(x, context=48, horizon=12, **QUICK)
    holes = np.array(x.values.reshape(2, 300, 1))
    holes[0, 100:104] = np.nan
    out = own.impute(llapdiff.panel(holes, variables=["x"])).to_numpy()
    assert out.shape == (2, 300, 1) and not np.isnan(out).any()


def test_evaluate(model, data):
    scores = model.evaluate(data)
    assert scores["forecaster"][0] == "model" and 0 < scores.crps < 2
    assert "last_value" in repr(scores) and scores.to_json()
    units = model.evaluate(data, units=True, by="step")
    assert units["crps"][0] != scores["crps"][0] and "all" not in units["variable"]
    fills = model.evaluate(data, task="impute")
    assert fills.crps < scores.crps


def test_scores_of_each_entity(model, data):
    scores = model.evaluate(data, by="entity", bootstrap=0)
    table = scores.by_entity().to_pandas()
    assert set(table["forecaster"]) == set(scores["forecaster"]) and scores.n_own == 1
    assert table.groupby(["forecaster", "variable"]).size().eq(3).all()
    whole = scores.to_pandas().set_index(["forecaster", "variable"]).drop("all", level=1)
    sums = table.assign(crps=table["n"] * table["crps"]).groupby(["forecaster", "variable"])[["n", "crps"]].sum()
    np.testing.assert_allclose(sums["crps"] / sums["n"], whole.loc[sums.index, "crps"], rtol=1e-12)
    with pytest.raises(ValueError, match="by='entity'"):
        model.evaluate(data).by_entity()


def test_detect(model, frame):
    broken = frame.copy()
    last = broken.groupby("entity").tail(1).index[0]
    broken.loc[last, "pressure (hPa)"] += 40
    found = model.detect(broken, rate=0.005, rows=True)
    alarm = found.to_pandas().query("entity == @broken.entity[@last] and variable == 'pressure (hPa)'").iloc[-1]
    assert alarm["condition"] == "unusual" and alarm["open"] and alarm["peak"] == broken["time"][last]
    assert alarm["value"] == pytest.approx(broken["pressure (hPa)"][last]) and alarm["value"] > alarm["high"]
    readings = found.readings.to_pandas()
    assert len(readings) == 2 * (broken["time"] >= pd.Timestamp(found.start, tz="UTC")).sum() and found.learnt > 0
    judged = readings.query("entity == @alarm.entity and variable == @alarm.variable").iloc[-1]
    assert judged["margin"] == alarm["margin"] and judged["condition"] == "unusual"
    assert found.to_json()["judged"] == found.judged and found.rate_wanted == 0.005
    assert list(pickle.loads(pickle.dumps(found))) == list(found)
    with pytest.raises(ValueError, match="rows=True"):
        model.detect(broken).readings
    with pytest.raises(llapdiff.InvalidError, match="no row at or after"):
        model.detect(broken, from_="2100-01-01")


def test_a_wrong_column_is_said(model):
    with pytest.raises(KeyError, match="no column 'half-life'; there are name, rho, omega, half_life"):
        model.poles()["half-life"]


def test_poles(model, data):
    poles = model.poles()
    assert (poles["rho"] > 0).all() and set(poles["name"]) == set(model.targets)
    assert poles.unit > np.timedelta64(0, "ns") and poles.to_json()
    assert model.poles(target="pressure (hPa)").n_rows < poles.n_rows


def test_models_are_kept(model, data, tmp_path):
    model.save(tmp_path / "m.safetensors")
    loaded = llapdiff.load(tmp_path / "m.safetensors")
    assert (tmp_path / "m.safetensors").read_bytes() == bytes(model) == bytes(loaded)
    sent = pickle.loads(pickle.dumps(model))
    assert sent == model and copy.copy(model) is model and copy.deepcopy(model) is model
    assert np.array_equal(sent.forecast(data)["mean"], model.forecast(data)["mean"])
    answer = pickle.loads(pickle.dumps(model.forecast(data)))
    pd.testing.assert_frame_equal(answer.to_pandas(), model.forecast(data).to_pandas())
    with pytest.raises(llapdiff.NotFoundError):
        llapdiff.load(tmp_path / "none")
    with pytest.raises(llapdiff.FormatError, match="memory"):
        llapdiff.from_bytes(b"12345678")


def test_frames_and_panels_train_the_same_model(data, frame, model):
    assert llapdiff.train(frame, context="2d", horizon="12h", **QUICK) == model
    assert llapdiff.train(frame.sample(frac=1, random_state=1), context="2d", horizon="12h", **QUICK) == model


def test_columns_are_named(frame, model):
    renamed = frame.rename(columns={"entity": "where", "time": "when"})
    again = llapdiff.train(renamed, entity="where", time="when", context="2d", horizon="12h", **QUICK)
    assert again == model
    fc = model.forecast(renamed, entity="where", time="when")
    assert np.array_equal(fc["mean"], model.forecast(frame)["mean"])


def test_sampler_answers_as_the_model_does(model, data):
    sampler = model.sampler()
    assert repr(sampler) == f"Sampler: on cpu, of {model!r}"
    for _ in range(2):
        assert np.array_equal(sampler.forecast(data, samples=30)["mean"], model.forecast(data, samples=30)["mean"])


def test_models_answer_together(model, data):
    other = llapdiff.train(data, context="2d", horizon="12h", seed=2, **QUICK)
    both = model.forecast(data, with_models=[other], samples=50)
    assert both.n_rows == model.forecast(data).n_rows


def test_scenarios(frame):
    rows = frame[["entity", "time"]].copy()
    rows["y"], rows["price"] = frame["temperature (degC)"], np.arange(len(frame)) % 7.0
    known = llapdiff.train(rows, target="y", known="price", context="2d", horizon="6h", **QUICK)
    ends = rows.groupby("entity")["time"].max()
    ahead = pd.DataFrame([{"entity": e, "time": t + pd.Timedelta(hours=h), "price": 1.0}
                          for e, t in ends.items() for h in range(1, 7)])
    fc = known.forecast(rows, scenarios={"cheap": ahead, "dear": ahead.assign(price=6.0)})
    assert set(fc["scenario"]) == {"cheap", "dear"}


def test_four_threads_ask_one_model(model, data):
    expected = model.forecast(data)["mean"]
    found = []

    def ask():
        found.append(model.forecast(data)["mean"])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 and all(np.array_equal(f, expected) for f in found)


def test_calls_can_be_awaited(model, data):
    async def both():
        return await asyncio.gather(*(asyncio.to_thread(model.forecast, data) for _ in range(2)))

    a, b = asyncio.run(both())
    assert np.array_equal(a["mean"], b["mean"])


# ---- progress and its end ----

LONG = {"context": "2d", "horizon": "12h", "size": "tiny"}


def test_progress_is_told(data):
    events = []
    llapdiff.train(data, context="2d", horizon="12h", progress=events.append, **QUICK)
    assert events and all(isinstance(e, llapdiff.Event) and e.done >= 0 for e in events)


def test_the_bar_of_a_terminal(capsys):
    """One line that is drawn over itself, once work takes long, and gone at the end."""
    bar = _progress._Bar()
    bar(llapdiff.Event("anchor", 3, 10, "steps", "CRPS 0.2"))
    assert capsys.readouterr().err == ""
    bar.begun -= 7
    bar(llapdiff.Event("anchor", 3, 10, "steps", "CRPS 0.2"))
    line = "anchor  30% |######              | 3/10 steps CRPS 0.2 [7s]"
    assert capsys.readouterr().err == "\r" + line
    bar(llapdiff.Event("forecast", 5, 0, "windows", ""))
    short = "forecast 5 windows [7s]"
    assert capsys.readouterr().err == "\r" + short.ljust(len(line))
    bar.close()
    assert capsys.readouterr().err == "\r" + " " * len(short) + "\r"


def test_who_sees_a_bar(monkeypatch):
    for given, terminal, notebook, seen in ((None, True, False, True), (None, False, False, False), (None, False, True, True),
                                            (False, True, True, False), (True, False, False, True)):
        monkeypatch.setattr("sys.stderr", types.SimpleNamespace(isatty=lambda: terminal))
        monkeypatch.setattr("sys.modules", {**sys.modules, "ipykernel": None} if notebook else
                            {name: m for name, m in sys.modules.items() if name != "ipykernel"})
        assert (_progress.Watch(given).bar is not None) == seen
        monkeypatch.undo()


def test_what_a_callback_raises_ends_the_call(data):
    def fed_up(event):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        llapdiff.train(data, progress=fed_up, **LONG)


def test_ctrl_c_ends_training_and_it_goes_on_to_the_same_model(data, tmp_path):
    state = tmp_path / "state"
    quick = {**LONG, "target": "pressure (hPa)", "steps": 40, "training": {"anchor": {"steps": 30}}}
    expected = llapdiff.train(data, **quick)

    def interrupt(event):
        if state.exists():
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        llapdiff.train(data, state=state, save_every=1e-6, progress=interrupt, **quick)
    assert llapdiff.train(data, state=state, resume=True, **quick) == expected


def test_ctrl_c_without_a_callback(data):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            llapdiff.train(data, steps=100000, progress=False, **LONG)
    timer.join()


def test_other_threads_run_while_the_library_works(data):
    ticks, done = 0, threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    llapdiff.train(data, context="2d", horizon="12h", progress=False, **QUICK)
    done.set()
    thread.join()
    assert ticks > 5


def test_trainers_are_stopped_from_elsewhere(data, model):
    trainer = llapdiff.Trainer(data, steps=100000, **LONG)
    assert repr(trainer) == f"Trainer: not run yet, of {data!r}"
    threading.Timer(0.3, trainer.stop).start()
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert repr(trainer).startswith("Trainer: stopped")
    with pytest.raises(llapdiff.InvalidError):
        trainer.model
    assert llapdiff.Trainer(data, context="2d", horizon="12h", **QUICK).run().model == model


def test_messages_go_to_the_logger(data, model, caplog):
    with caplog.at_level(logging.INFO, logger="llapdiff"):
        llapdiff.panel(data.to_pandas())
    assert any("wide form" in r.message for r in caplog.records)


# ---- what cannot be ----

BAD = {
    "no target": (dict(target="snow"), ValueError, "snow"),
    "negative horizon": (dict(horizon="-6h"), ValueError, "horizon"),
    "no horizon": (dict(horizon=None), ValueError, "horizon"),
    "word": (dict(size="huge"), ValueError, "size: expected one of"),
    "keyword": (dict(sise="tiny"), TypeError, "did you mean 'size'"),
    "type": (dict(target=object()), TypeError, "target"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_options_are_one_line(kind, data):
    given, error, match = BAD[kind]
    with pytest.raises(error, match=match) as caught:
        llapdiff.train(data, **{"context": "2d", "horizon": "12h", "size": "anchor", **given})
    assert "\n" not in str(caught.value)


def test_a_frame_without_the_target(model, frame):
    with pytest.raises(llapdiff.InvalidError, match="pressure"):
        model.forecast(frame.drop(columns="pressure (hPa)"))


def test_a_span_of_other_times(model):
    with pytest.raises(ValueError):
        model.forecast({"time": [1, 2, 3], "temperature (degC)": [1, 2, 3], "pressure (hPa)": [1, 2, 3]})


# ---- pictures ----

def test_plots(model, data):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    for answer in (model.forecast(data), model.impute(data), model.forecast(data, samples=5, keep_samples=True)):
        figure = answer.plot(entities=data.entities[:2], variables="pressure (hPa)")
        assert len(figure.axes) == 2
        matplotlib.pyplot.close(figure)
    with pytest.raises(ValueError, match="no entity 'nowhere'"):
        model.forecast(data).plot(entities="nowhere")


def test_words_keep_the_codes_of_training():
    hours = np.arange(600)
    weather = np.array(["clear", "fog", "rain", "snow"])[(hours // 7) % 4]
    when = np.datetime64("2024-01-01") + hours * np.timedelta64(1, "h")
    frame = pd.DataFrame({"time": when, "x": np.sin(hours / 4), "weather": weather})
    model = llapdiff.train(frame, target="x", context="2d", horizon="6h", size="anchor",
                           training={"anchor": {"steps": 5, "rows": 4}})
    late = frame.iloc[-100:].copy()
    late["weather"] = np.where(hours[-100:] % 2 == 0, "rain", "snow")  # by itself 0 and 1
    seen = _model._data(late, {}, model)
    assert sorted(set(seen.values[:, seen.variables.index("weather")].tolist())) == [2, 3]


def test_entities_of_arrays_stay_in_order():
    values = np.arange(12)[:, None, None] + np.zeros((12, 5, 1))
    made = llapdiff.Panel.from_numpy(values)
    assert made.values[made.first[:-1], 0].tolist() == list(range(12))
