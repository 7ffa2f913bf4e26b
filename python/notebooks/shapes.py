"""The data of the notebooks: real files where LLAP_DATA names their folder, else made-up ones of the same shape."""
from __future__ import annotations

import os
import pathlib
import tempfile

import numpy as np
import pandas as pd


def _real(name: str) -> pathlib.Path | None:
    path = pathlib.Path(os.environ.get("LLAP_DATA", "nowhere"), name)
    return path if path.exists() else None


def air_quality() -> str:
    """A file as the UCI archive has it: semicolons, decimal commas, dates and clocks apart, -200 for missing."""
    real = _real("raw/AirQualityUCI.csv")
    if real is not None:
        return str(real)
    rng = np.random.default_rng(1)
    hours = np.arange(4000)
    stamps = pd.Timestamp("2004-03-10 18:00") + pd.to_timedelta(hours, "h")
    day = np.sin((hours + 10) * 2 * np.pi / 24)
    slow = np.convolve(rng.normal(size=len(hours) + 50), np.exp(-np.arange(51) / 12), "valid") / 3
    columns = {"CO(GT)": 2 + day + slow, "NOx(GT)": 240 + 90 * day + 60 * slow, "NO2(GT)": 110 + 30 * day + 15 * slow,
               "T": 18 + 6 * np.sin((hours - 8) * 2 * np.pi / 24) + slow, "RH": 50 - 12 * day}
    frame = pd.DataFrame({"Date": stamps.strftime("%d/%m/%Y"), "Time": stamps.strftime("%H.%M.%S")})
    for name, values in columns.items():
        values = np.clip(values + rng.normal(0, 0.1, len(hours)), 0.1, None).round(1)
        values[rng.random(len(hours)) < 0.05] = -200
        frame[name] = values
    path = pathlib.Path(tempfile.mkdtemp(), "AirQualityUCI.csv")
    frame.to_csv(path, sep=";", decimal=",", index=False, lineterminator=";;\r\n")
    return str(path)


def hospital(patients: int = 300) -> pd.DataFrame:
    """Vital signs of intensive care: a row whenever something was measured, minutes since admission, most cells empty."""
    wanted = ["HR", "Temp", "RespRate", "SysABP"]
    real = _real("physionet2012_a.csv.gz")
    if real is not None:
        frame = pd.read_csv(real, usecols=["entity", "time", *wanted]).dropna(how="all", subset=wanted)
        first = frame["entity"].unique()[:patients]
        return frame[frame["entity"].isin(first)].rename(columns={"entity": "patient"}).astype({"patient": str})
    rng = np.random.default_rng(2)
    parts = []
    for p in range(patients):
        time = np.unique(np.cumsum(rng.exponential(40, 70)).round().astype(int))
        time = time[time <= 2880]
        level, drift = rng.normal(0, 1), rng.normal(0, 0.4)
        state = level + drift * time / 1440 + np.cumsum(rng.normal(0, 0.08, len(time)))
        values = np.stack([85 + 12 * state, 37 + 0.4 * state, 18 + 3 * state, 120 - 10 * state], 1)
        values += rng.normal(0, 1, values.shape) * [3, 0.15, 1.5, 5]
        values[rng.random(values.shape) < [0.2, 0.7, 0.5, 0.3]] = np.nan
        parts.append(pd.DataFrame(values.round(1), columns=wanted).assign(patient=str(132539 + p), time=time))
    return pd.concat(parts, ignore_index=True)[["patient", "time", *wanted]].dropna(how="all", subset=wanted)


def sensors(days: int = 120) -> pd.DataFrame:
    """Weather stations, hourly, each with outages of its own; one is silent at the end."""
    real = _real("bms_air.csv.gz")
    wanted = ["TEMP", "DEWP", "WSPM"]
    if real is not None:
        frame = pd.read_csv(real, usecols=["entity", "time", *wanted], parse_dates=["time"])
        frame = frame[frame["time"] >= frame["time"].max() - pd.Timedelta(days=days)]
        stations = frame["entity"].unique()[:5]
        frame = frame[frame["entity"].isin(stations)].rename(columns={"entity": "station"}).reset_index(drop=True)
    else:
        rng = np.random.default_rng(3)
        time = pd.date_range("2016-11-01", periods=24 * days, freq="h", tz="UTC")
        hours = np.arange(len(time))
        weather = np.convolve(rng.normal(size=len(time) + 100), np.exp(-np.arange(101) / 30), "valid") / 2
        parts = []
        for i, name in enumerate(["Aotizhongxin", "Changping", "Dingling", "Dongsi", "Guanyuan"]):
            temp = 8 + 5 * np.sin((hours - 9) * 2 * np.pi / 24) + weather - 0.5 * i + rng.normal(0, 0.4, len(time))
            parts.append(pd.DataFrame({"station": name, "time": time, "TEMP": temp.round(1),
                                       "DEWP": (temp - 6 + rng.normal(0, 0.6, len(time))).round(1),
                                       "WSPM": np.abs(1.5 + 0.6 * weather + rng.normal(0, 0.5, len(time))).round(1)}))
        frame = pd.concat(parts, ignore_index=True)
    return _with_outages(frame, wanted)


def _with_outages(frame: pd.DataFrame, variables: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    last = frame["time"].max()
    for i, (_, rows) in enumerate(frame.groupby("station").groups.items()):
        for _ in range(6):
            begin = rng.integers(0, len(rows) - 72)
            frame.loc[rows[begin:begin + rng.integers(6, 60)], rng.choice(variables)] = np.nan
        if i == 2:
            frame.loc[rows[(frame.loc[rows, "time"] > last - pd.Timedelta(days=3)).to_numpy()], variables] = np.nan
    return frame
