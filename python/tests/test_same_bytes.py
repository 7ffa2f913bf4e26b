"""The same bytes from Python as from the program."""
import subprocess

import pandas as pd
import pytest

import llapdiff

TRAIN = ["--context", "2d", "--horizon", "12h", "--size", "tiny", "--steps", "20",
         "--training", '{"anchor": {"steps": 30}}']
OPTIONS = dict(context="2d", horizon="12h", size="tiny", steps=20, training={"anchor": {"steps": 30}})


@pytest.fixture(scope="module")
def folder(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bytes")

    def run(*arguments):
        return subprocess.run([program, *map(str, arguments)], cwd=folder, check=True, capture_output=True).stdout

    run("synth", "--kind", "weather", "--entities", 2, "--rows", 400, "-o", "data.csv")
    run("train", "data.csv", *TRAIN, "-o", "model.safetensors")
    run("forecast", "model.safetensors", "data.csv", "--samples", 30, "-o", "forecast.csv")
    run("forecast", "model.safetensors", "data.csv", "--samples", 30, "--keep-samples", "-o", "paths.csv")
    run("impute", "model.safetensors", "data.csv", "-o", "filled.csv")
    (folder / "alarms.json").write_bytes(run("detect", "model.safetensors", "data.csv", "--rate", 0.02, "--json"))
    (folder / "alarms.txt").write_bytes(run("detect", "model.safetensors", "data.csv", "--rate", 0.02))
    (folder / "scores.txt").write_bytes(run("evaluate", "model.safetensors", "data.csv"))
    return folder


@pytest.fixture(scope="module", params=["file", "pandas", "polars"])
def source(request, folder):
    if request.param == "file":
        return llapdiff.read(folder / "data.csv")
    frame = pd.read_csv(folder / "data.csv", parse_dates=["time"])
    if request.param == "pandas":
        return frame
    import polars

    return polars.DataFrame(frame)


@pytest.fixture(scope="module")
def model(source):
    return llapdiff.train(source, **OPTIONS)


def test_model_files(folder, model):
    assert bytes(model) == (folder / "model.safetensors").read_bytes()


def test_forecasts(folder, model, source, tmp_path):
    model.forecast(source, samples=30).write(tmp_path / "fc.csv")
    assert (tmp_path / "fc.csv").read_bytes() == (folder / "forecast.csv").read_bytes()
    model.forecast(source, samples=30, keep_samples=True).write(tmp_path / "paths.csv")
    assert (tmp_path / "paths.csv").read_bytes() == (folder / "paths.csv").read_bytes()


def test_columns_are_those_of_the_file(folder, model, source):
    fc = model.forecast(source, samples=30)
    table = pd.read_csv(folder / "forecast.csv", parse_dates=["time"])
    assert list(fc) == list(table.columns)
    pd.testing.assert_frame_equal(fc.to_pandas(), table, check_dtype=False, rtol=1e-5)
    assert fc.to_polars()["mean"].to_list() == fc["mean"].tolist()
    assert list(model.impute(source)) == list(pd.read_csv(folder / "filled.csv", nrows=1).columns)


def test_fills(folder, model, source, tmp_path):
    model.impute(source).write(tmp_path / "filled.csv")
    assert (tmp_path / "filled.csv").read_bytes() == (folder / "filled.csv").read_bytes()


def test_scores(folder, model, source):
    assert repr(model.evaluate(source)) == (folder / "scores.txt").read_text().rstrip("\n")


def test_alarms(folder, model, source):
    found = model.detect(source, rate=0.02)
    assert found.n_rows > 0 and found._json() == (folder / "alarms.json").read_text()
    assert repr(found) == (folder / "alarms.txt").read_text().rstrip("\n")
