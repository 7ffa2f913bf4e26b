"""A model for each group of a frame in memory; tests/frameworks has the same on Spark, Ray and Dask."""
import pandas as pd
import pytest

import llapdiff
from llapdiff import _engines, _work, distributed

QUICK = {"training": {"anchor": {"steps": 2}}, "context": "1d", "horizon": "6h"}


@pytest.fixture(scope="module")
def shops():
    rows = llapdiff.demo(entities=4, variables=1, rows=300).to_pandas()
    rows.insert(0, "shop", rows["entity"].map({"s000": "b", "s001": "b", "s002": "a", "s003": "c"}))
    return rows.sample(frac=1, random_state=1).reset_index(drop=True)


def of(rows, ask="forecast", **options):
    data = llapdiff.panel(rows, entity="entity", time="time", codes="keep", form="wide")
    model = llapdiff.train(data, size="anchor", progress=False, **QUICK)
    return model, getattr(model, ask)(data, progress=False, **options).to_pandas()


@pytest.fixture(scope="module")
def expected(shops):
    parts = []
    for name, rows in shops.groupby("shop"):
        parts.append(of(rows.drop(columns="shop"), quantiles=[0.1, 0.9])[1])
        parts[-1].insert(0, "shop", name)
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_groups_of_several_entities(shops, expected, kind):
    frame = shops
    if kind == "polars":
        frame = pytest.importorskip("polars").from_pandas(shops)
    if kind == "pyarrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(shops)
    made = distributed.train_each(frame, by="shop", entity="entity", asking={"quantiles": [0.1, 0.9]}, **QUICK)
    assert type(made) is type(frame)
    rows = made if kind == "pandas" else made.to_pandas()
    pd.testing.assert_frame_equal(rows, expected, check_exact=True, check_dtype=False)


def test_models_are_kept(shops):
    few = shops[shops["shop"] == "a"]
    kept = distributed.train_each(few, by="shop", entity="entity", ask=None, **QUICK)
    assert list(kept) == ["shop", "model"] and list(kept["shop"]) == ["a"]
    assert llapdiff.from_bytes(kept["model"][0]) == of(few.drop(columns="shop"))[0]


def test_a_group_that_cannot_be_trained(shops):
    rows = pd.concat([shops[shops["shop"] == "a"], shops.iloc[:2].assign(entity="s9", shop="short")])
    with pytest.raises(llapdiff.InvalidError, match="^shop 'short': horizon: ends before"):
        distributed.train_each(rows, by="shop", entity="entity", **QUICK)
    made = distributed.train_each(rows, by="shop", entity="entity", failed="keep", **QUICK)
    bad = made[made["shop"] == "short"]
    assert len(bad) == 1 and bad["error"].iloc[0].startswith("horizon: ends before") and bad["mean"].isna().all()
    good = made[made["shop"] == "a"]
    assert len(good) == 6 and good["error"].isna().all() and good["mean"].notna().all()


def test_bad_calls_are_one_line(shops):
    for wrong, message in (({"ask": "predict"}, "expected forecast, impute"), ({"failed": "skip"}, "'raise' or 'keep'"),
                           ({"by": "store"}, "by: no column 'store'; there are shop"),
                           ({"entity": "stay"}, "entity: no column 'stay'")):
        with pytest.raises(llapdiff.InvalidError, match=message):
            distributed.train_each(shops, **{"by": "shop", "entity": "entity", **QUICK, **wrong})
    with pytest.raises(llapdiff.InvalidError, match="have a column 'variable' of their own"):
        distributed.train_each(shops.rename(columns={"shop": "variable"}), by="variable", entity="entity", **QUICK)
    with pytest.raises(TypeError, match="or a frame, found list"):
        distributed.train_each([1], by="shop", **QUICK)


def test_a_sorted_stream_is_cut_between_groups():
    pa = pytest.importorskip("pyarrow")
    keys = ["a"] * 3 + ["b"] * 9 + ["c"] + ["d"] * 2 + [None]
    batches = pa.table({"k": keys, "i": range(len(keys))}).to_batches(max_chunksize=2)
    for rows in (1, 2, 4, 100):
        parts = [t.to_pydict() for t in _engines.whole_groups(iter(batches), "k", rows)]
        assert sum((p["i"] for p in parts), []) == list(range(len(keys)))
        seen = [set(p["k"]) for p in parts]
        assert sum(map(len, seen)) == len(set().union(*seen))  # no group is in two parts
    assert [len(p) for _, p in _work.groups(pa.table({"k": ["b", "a", "b"], "i": [0, 1, 2]}), "k")] == [1, 2]


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_rows_of_nobody_are_refused(shops, kind):
    nobody = shops.astype({"shop": object})
    nobody.loc[[0, 5], "shop"] = None
    frame = nobody if kind == "pandas" else pytest.importorskip("pyarrow").Table.from_pandas(nobody)
    with pytest.raises(llapdiff.InvalidError, match="column 'shop': 2 rows have no value"):
        distributed.train_each(frame, by="shop", entity="entity", **QUICK)
