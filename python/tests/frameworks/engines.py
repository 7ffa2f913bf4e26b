"""Spark, Ray and Dask as tests use them: two workers on this machine, frames in and out, and a worker that dies."""
import os
import signal
import sys
import tempfile

import pandas as pd

# Workers find this file, for first_to_come.
os.environ["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), os.path.dirname(os.path.abspath(__file__))])

# Read when Ray is imported: without clusters it listens on 127.0.0.1 alone, whatever the system.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")


def first_to_come(marker):
    """Once, whoever asks first."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


class Dask:
    dies = "a process"

    def __init__(self, workers=2):
        import distributed

        self.cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                                                dashboard_address=None)
        self.client = distributed.Client(self.cluster)

    def close(self):
        self.client.close()
        self.cluster.close()

    def is_frame(self, lazy):
        import dask.dataframe as dd

        return isinstance(lazy, dd.DataFrame)

    def frame(self, rows, parts=5):
        import dask.dataframe as dd

        return dd.from_pandas(rows, npartitions=parts, sort=False)

    def columns(self, lazy):
        return list(lazy.columns)

    def rows(self, lazy):
        return lazy.compute()

    def with_a_death(self, lazy, marker):
        return lazy.map_partitions(_die_after, str(marker), meta=lazy._meta)


def _die_after(part, marker):
    if first_to_come(marker):
        os.kill(os.getpid(), signal.SIGKILL)
    return part


class Spark:
    dies = "an executor"

    def __init__(self, workers=2):
        os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
        from pyspark.sql import SparkSession

        self.home = tempfile.TemporaryDirectory()
        builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
        for name, value in {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                            "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC",
                            "spark.driver.memory": "1g", "spark.task.maxFailures": "2",
                            "spark.sql.shuffle.partitions": "4", "spark.sql.adaptive.enabled": "false",
                            "spark.local.dir": self.home.name, "spark.sql.warehouse.dir": f"{self.home.name}/warehouse",
                            "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
                            "spark.executorEnv.OMP_NUM_THREADS": "1"}.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def close(self):
        self.session.stop()
        self.home.cleanup()

    def is_frame(self, lazy):
        from pyspark.sql import DataFrame

        return isinstance(lazy, DataFrame)

    def frame(self, rows, parts=5):
        return self.session.createDataFrame(rows).repartition(parts)

    def columns(self, lazy):
        return list(lazy.columns)

    def rows(self, lazy):
        return lazy.toPandas()

    def with_a_death(self, lazy, marker):
        marker = str(marker)

        def die(batches):
            for batch in batches:
                if first_to_come(marker):  # we are a child of pyspark's daemon, and that of the executor
                    with open(f"/proc/{os.getppid()}/stat") as stat:
                        executor = int(stat.read().rpartition(")")[2].split()[1])
                    with open(f"/proc/{executor}/cmdline") as cmdline:
                        assert "CoarseGrainedExecutorBackend" in cmdline.read()
                    os.kill(executor, signal.SIGKILL)
                yield batch

        short = lazy.toDF(*(f"c{i}" for i in range(len(lazy.columns))))  # mapInArrow cannot have dots in names
        return short.mapInArrow(die, short.schema).toDF(*lazy.columns)


class Ray:
    dies = "a worker process"

    def __init__(self, workers=2):
        import ray

        self.ray, self.home = ray, tempfile.TemporaryDirectory(dir="/tmp")
        for left in (2, 1, 0):
            try:
                ray.init(num_cpus=workers, include_dashboard=False, _temp_dir=self.home.name, log_to_driver=False,
                         object_store_memory=200 << 20, configure_logging=False)
                break
            except Exception as error:  # Ray gives itself 30 s, which a busy machine may not have
                if left == 0 or "timed out during startup" not in str(error):
                    raise
                ray.shutdown()
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars, context.default_hash_shuffle_parallelism = False, 4

    def close(self):
        self.ray.shutdown()
        self.home.cleanup()

    def is_frame(self, lazy):
        return isinstance(lazy, self.ray.data.Dataset)

    def frame(self, rows, parts=5):
        import pyarrow

        return self.ray.data.from_arrow([pyarrow.Table.from_pandas(rows.iloc[i::parts], preserve_index=False)
                                         for i in range(parts)])

    def columns(self, lazy):
        return lazy.columns()

    def rows(self, lazy):
        made = lazy.to_pandas()
        return made if len(made) else pd.DataFrame(columns=lazy.columns() or [])

    def with_a_death(self, lazy, marker):
        marker = str(marker)

        def die(table):
            if first_to_come(marker):
                os.kill(os.getpid(), signal.SIGKILL)
            return table

        return lazy.map_batches(die, batch_format="pyarrow")


ENGINES = {"dask": (Dask, "distributed"), "spark": (Spark, "pyspark"), "ray": (Ray, "ray")}  # and their packages
