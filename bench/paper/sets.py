"""Data sets of LLAP_DATA as the experiments read them, and what they stand for in the paper.

Horizons are pairs: the span that the program is given, and the number of steps by which the paper's tables know it (of
shares five trading days are seven of the calendar). `paper` is the set's name in the paper; `other` says what differs."""
from collections import namedtuple

Set = namedtuple("Set", "file target context horizons reading train changes paper other")

HOURS = [("24h", "24"), ("48h", "48"), ("96h", "96"), ("168h", "168")]
GRID = ["--grid", "1h"]
VITALS = "HR,MAP,SysABP,DiasABP,RespRate,Temp,GCS,Urine"


def hourly(file, target, paper, other=""):
    return Set(file, target, "336h", HOURS, GRID, [], [], paper, other)


SETS = {
    "uci_air": hourly("uci_air", "NO2(GT)", "uci_air"),
    "bms_air": hourly("bms_air", "PM2.5", "bms_air"),
    "metar_us": hourly("metar_us", "temperature", "noaa_us", "other stations, 2012"),
    "metar_uk": hourly("metar_uk", "temperature", "noaa_uk", "other stations, 2014-15"),
    "noaa_isd_lite": hourly("noaa_isd_lite", "temperature", None),
    "physionet2012_a": Set("physionet2012_a", "HR", "24h", [("4h", "4"), ("8h", "8"), ("10h", "10"), ("12h", "12")],
                           ["--time-unit", "min", "--columns", VITALS], ["--step", "1h", "--entities", "independent"], [],
                           "physionet", "exact minutes, patients never seen"),
    "us_equity": Set("us_equity", "return", "290d", [("7d", "5"), ("28d", "20"), ("84d", "60"), ("140d", "100")], [], [],
                     [["returns"]], "us_equity", "9 columns of 16"),
    "crypto": Set("crypto", "return", "200d", [("5d", "5"), ("20d", "20"), ("60d", "60"), ("100d", "100")], [], [],
                  [["returns"]], "crypto", "other coins, to 2022-02"),
    "ghcn_sporadic": Set("ghcn_sporadic", "tmax", "150d", [("7d", "7"), ("14d", "14"), ("28d", "28"), ("50d", "50")], [], [], [],
                         None, ""),
}


def longest(name):
    return SETS[name].horizons[-1]
