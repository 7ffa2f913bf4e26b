"""Dask with two processes: the rows of one process, also where a worker dies in the middle."""
import os
import signal

import pandas as pd
import pytest

import llapdiff
from llapdiff import distributed

dd = pytest.importorskip("dask.dataframe")
dask_distributed = pytest.importorskip("distributed")

READ = {"entity": "entity", "time": "time", "codes": "keep", "form": "wide"}


@pytest.fixture(scope="module")
def stays():
    return llapdiff.demo(entities=12, variables=2, rows=150).to_pandas()


@pytest.fixture(scope="module")
def independent(stays):
    return llapdiff.train(stays, context="1d", horizon="6h", size="anchor", split="entity", progress=False,
                          training={"anchor": {"steps": 10}})


@pytest.fixture(scope="module")
def client():
    with dask_distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                       host="127.0.0.1") as cluster, dask_distributed.Client(cluster) as connected:
        yield connected


def in_order(frame):
    return frame.sort_values(["entity", "variable", "time"]).reset_index(drop=True)


def alone(model, stays, task, **options):
    return getattr(model, task)(llapdiff.panel(stays, **READ), progress=False, **options).to_pandas()


@pytest.mark.parametrize("task", ["forecast", "impute"])
def test_rows_are_those_of_one_process(client, independent, stays, task):
    partitions = dd.from_pandas(stays.sample(frac=1, random_state=1), npartitions=5, sort=False)
    lazy = getattr(distributed, task)(independent, partitions, entity="entity", quantiles=[0.1, 0.9])
    assert list(lazy.columns) == list(alone(independent, stays, task, quantiles=[0.1, 0.9]).columns)
    pd.testing.assert_frame_equal(in_order(lazy.compute()), in_order(alone(independent, stays, task, quantiles=[0.1, 0.9])),
                                  check_dtype=False, check_exact=True)


def test_a_worker_that_dies_costs_no_row(client, independent, stays):
    partitions = dd.from_pandas(stays, npartitions=8, sort=False)
    answer = client.compute(distributed.forecast(independent, partitions, entity="entity"))
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    pd.testing.assert_frame_equal(in_order(answer.result(timeout=120)), in_order(alone(independent, stays, "forecast")),
                                  check_dtype=False, check_exact=True)


def test_what_cannot_be_cut_is_refused(independent, stays):
    joint = llapdiff.train(stays, context="1d", horizon="6h", size="anchor", progress=False,
                           training={"anchor": {"steps": 5}})
    partitions = dd.from_pandas(stays, npartitions=2)
    with pytest.raises(llapdiff.InvalidError, match="look at each other"):
        distributed.forecast(joint, partitions, entity="entity", keep_samples=True)
    with pytest.raises(llapdiff.InvalidError, match="no column 'stay'"):
        distributed.forecast(independent, partitions, entity="stay")
    with pytest.raises(TypeError, match="expected a dask"):
        distributed.forecast(independent, stays, entity="entity")
