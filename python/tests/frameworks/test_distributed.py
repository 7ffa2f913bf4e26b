"""Spark, Ray and Dask with two workers each: the rows of one process, also where a worker dies in the middle.

Every engine has an environment of its own (tools/test-distributed); where none is installed everything is skipped.
"""
import dataclasses

import examples
import numpy as np
import pandas as pd
import pytest
from engines import ENGINES

import llapdiff
from llapdiff import _work, distributed

READ = {"entity": "entity", "time": "time", "codes": "keep", "form": "wide"}
QUICK = {"training": {"anchor": {"steps": 3}}, "context": "1d", "horizon": "6h"}


@pytest.fixture(scope="module", params=list(ENGINES))
def engine(request):
    kind, package = ENGINES[request.param]
    pytest.importorskip(package)
    made = kind()
    yield made
    made.close()


@pytest.fixture(scope="module")
def stays():
    """Times as all three engines have them, in microseconds; a name with a dot, which Spark takes for two."""
    rows = llapdiff.demo(entities=12, variables=2, rows=150).to_pandas().rename(columns={"v1": "v.1"})
    rows["time"] = rows["time"].dt.floor("min").astype("datetime64[us, UTC]")
    return rows.sample(frac=1, random_state=1).reset_index(drop=True)


@pytest.fixture(scope="module")
def independent(stays):
    return llapdiff.train(stays, size="anchor", split="entity", progress=False, **QUICK)


@pytest.fixture(scope="module")
def by_time(stays):
    return llapdiff.train(stays, size="anchor", progress=False, **QUICK)


def same(found, expected):
    """Equal values, in the order of all that are not floats; engines have types of their own for times and texts."""
    def plain(frame):
        frame = frame.copy()
        for name in frame.columns:
            if name in ("time", "from", "to", "peak"):
                when = pd.to_datetime(list(frame[name]), utc=True).tz_localize(None)
                frame[name] = when.floor("us").astype("datetime64[us]")
            elif frame[name].dtype.kind not in "iufb":
                frame[name] = frame[name].astype(object)
        order = [n for n in frame.columns if frame[n].dtype.kind in "OM"]
        return frame.sort_values(order).reset_index(drop=True)

    assert len(expected) > 0
    pd.testing.assert_frame_equal(plain(found), plain(expected), check_dtype=False, check_exact=True)


def alone(model, stays, task, **options):
    return getattr(model, task)(llapdiff.panel(stays, **READ), progress=False, **options)


@pytest.mark.parametrize("task", ["forecast", "impute"])
def test_rows_are_those_of_one_process(engine, independent, stays, task):
    expected = alone(independent, stays, task, quantiles=[0.1, 0.9]).to_pandas()
    lazy = getattr(distributed, task)(independent, engine.frame(stays), entity="entity", quantiles=[0.1, 0.9])
    assert engine.is_frame(lazy) and engine.columns(lazy) == list(expected.columns)
    same(engine.rows(lazy), expected)


def test_the_example_in_the_docstring(engine, independent, stays, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    independent.save("stays.model")
    names = {"llapdiff": llapdiff, "frame": engine.frame(stays.rename(columns={"entity": "stay"}))}
    exec(dict(examples.reference.examples("distributed"))["distributed"], names)
    assert len(engine.rows(names["answers"])) == 12 * 2 * 6


def test_the_model_is_read_once_by_each_worker(engine, stays):
    if not hasattr(engine, "client"):
        pytest.skip("only Dask can be asked what its workers have read")
    fresh = llapdiff.train(stays, size="anchor", split="entity", seed=7, progress=False, **QUICK)
    before = engine.client.run(lambda: _work._model.cache_info().misses)
    engine.rows(distributed.forecast(fresh, engine.frame(stays, 8), entity="entity"))
    after = engine.client.run(lambda: _work._model.cache_info().misses)
    read = [after[worker] - before[worker] for worker in before]
    assert 1 <= sum(read) and max(read) == 1


def test_scores_are_those_of_one_process(engine, independent, stays):
    whole = alone(independent, stays, "evaluate", by="entity")
    table = whole.by_entity().to_pandas().query("forecaster == 'model'")
    found = engine.rows(distributed.evaluate(independent, engine.frame(stays), entity="entity"))
    same(found, table)
    all_of_it = whole.to_pandas().query("forecaster == 'model'").set_index("variable")
    added = distributed.totals(found).set_index("variable")
    for name in ("n", "crps", "mse", "mae", "coverage80"):
        np.testing.assert_allclose(added[name], all_of_it.loc[added.index, name], rtol=1e-12)


def test_scores_of_a_model_split_by_time(engine, by_time, stays):
    found = engine.rows(distributed.evaluate(by_time, engine.frame(stays), entity="entity"))
    each = [alone(by_time, rows, "evaluate", by="entity").by_entity().to_pandas() for _, rows in stays.groupby("entity")]
    same(found, pd.concat(each).query("forecaster == 'model'"))


def test_alarms_are_those_of_each_entity(engine, by_time, stays):
    odd = stays.copy()
    odd.loc[odd.groupby("entity")["time"].idxmax(), "v0"] += 50
    each = [alone(by_time, rows, "detect", rate=0.01).to_pandas() for _, rows in odd.groupby("entity")]
    same(engine.rows(distributed.detect(by_time, engine.frame(odd), entity="entity", rate=0.01)), pd.concat(each))


def test_an_entity_that_cannot_be_judged_is_named(engine, by_time, stays):
    short = pd.concat([stays, stays.iloc[:1].assign(entity="short")])
    with pytest.raises(Exception, match="entity 'short': there is no row"):
        engine.rows(distributed.detect(by_time, engine.frame(short), entity="entity"))
    left = engine.rows(distributed.detect(by_time, engine.frame(short), entity="entity", short="skip", rate=0.01))
    assert "short" not in set(left["entity"])


@pytest.mark.parametrize("ask", ["forecast", "evaluate", None])
def test_a_model_for_each_group(engine, stays, ask):
    few = stays[stays["entity"].isin(["s000", "s001", "s002"])].assign(shop=lambda f: "shop " + f["entity"])
    lazy = distributed.train_each(engine.frame(few), by="shop", entity="entity", ask=ask, **QUICK)
    each = []
    for name, rows in few.groupby("shop"):
        rows = llapdiff.panel(rows.drop(columns="shop"), **READ)
        model = llapdiff.train(rows, size="anchor", progress=False, **QUICK)
        each.append(pd.DataFrame({"model": [bytes(model)]}) if ask is None else
                    getattr(model, ask)(rows, progress=False).to_pandas())
        each[-1].insert(0, "shop", name)
    found = engine.rows(lazy)
    if ask is None:
        found["model"] = found["model"].map(bytes)
    same(found, pd.concat(each))


def test_a_worker_that_dies_costs_no_row(engine, independent, stays, tmp_path):
    lazy = distributed.forecast(independent, engine.frame(stays, 8), entity="entity")
    found = engine.rows(engine.with_a_death(lazy, tmp_path / "dead"))
    assert (tmp_path / "dead").exists(), f"{engine.dies} was to die"
    same(found, alone(independent, stays, "forecast").to_pandas())


def test_a_worker_that_dies_while_models_are_trained(engine, stays, tmp_path):
    few = stays[stays["entity"].isin(["s000", "s001", "s002", "s003"])]
    expected = distributed.train_each(few, by="entity", **QUICK)
    lazy = distributed.train_each(engine.frame(few), by="entity", **QUICK)
    found = engine.rows(engine.with_a_death(lazy, tmp_path / "dead"))
    assert (tmp_path / "dead").exists()
    same(found, expected)


def test_another_version_is_one_line(engine, independent, stays, monkeypatch):
    monkeypatch.setattr(_work, "version", lambda: "0.0.9")  # of this process; workers have theirs
    lazy = distributed.forecast(independent, engine.frame(stays), entity="entity")
    assert next(f.default_factory() for f in dataclasses.fields(_work.Work) if f.name == "made_by") == "0.0.9"
    with pytest.raises(Exception, match=rf"worker \S+ has llapdiff {llapdiff.__version__}, and the call came from 0.0.9"):
        engine.rows(lazy)


def test_what_cannot_be_cut_is_refused(engine, independent, by_time, stays):
    frame = engine.frame(stays)
    with pytest.raises(llapdiff.InvalidError, match="look at each other .*ask it in one process, or train"):
        distributed.forecast(by_time, frame, entity="entity", keep_samples=True)
    with pytest.raises(llapdiff.InvalidError, match="no column 'stay'; there are"):
        distributed.forecast(independent, frame, entity="stay")
    with pytest.raises(llapdiff.InvalidError, match="keep: is for one process"):
        distributed.evaluate(independent, frame, entity="entity", keep="all.csv")
    with pytest.raises(TypeError, match="expected a dask"):
        distributed.forecast(independent, stays, entity="entity")
