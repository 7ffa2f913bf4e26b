"""Real files by pandas and by our own reader: the same panel, value by value."""
import os
import pathlib

import numpy as np
import pandas as pd
import pytest

import llapdiff

FILES = {
    "uci_air.csv.gz": {},
    "metar_uk.csv.gz": {},
    "raw/AirQualityUCI.csv": {"sep": ";", "decimal": ","},
}


@pytest.mark.parametrize("name", FILES)
def test_pandas_reads_what_we_read(name):
    path = pathlib.Path(os.environ.get("LLAP_DATA", "nowhere"), name)
    if not path.exists():
        pytest.skip("LLAP_DATA does not have it")
    ours = llapdiff.read(path)
    frame = pd.read_csv(path, low_memory=False, **FILES[name]).dropna(how="all")
    theirs = llapdiff.panel(frame)
    if theirs.entities == ["series"]:  # ours is named after the file
        assert len(ours.entities) == 1
    else:
        assert theirs.entities == ours.entities
    assert theirs.variables == ours.variables and theirs.axis == ours.axis
    assert np.array_equal(theirs._ticks(), ours._ticks())
    assert np.array_equal(theirs.values, ours.values, equal_nan=True)
