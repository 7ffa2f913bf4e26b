"""What is compared: data sets of LLAP_DATA, how they are read, and what is forecast."""
import os

VITALS = "HR,NISysABP,NIDiasABP,NIMAP,Temp,RespRate,GCS,Urine"
HOURS = ["--grid", "1h"]

# name: file, target, context, horizon, options of reading and training
CELLS = {
    "uci 24h": ("uci_air", "NO2(GT)", "14d", "24h", HOURS),
    "uci 168h": ("uci_air", "NO2(GT)", "14d", "168h", HOURS),
    "bms 24h": ("bms_air", "PM2.5", "14d", "24h", HOURS),
    "bms 168h": ("bms_air", "PM2.5", "14d", "168h", HOURS),
    "metar_us 24h": ("metar_us", "temperature", "14d", "24h", HOURS),
    "metar_us 168h": ("metar_us", "temperature", "14d", "168h", HOURS),
    "metar_uk 24h": ("metar_uk", "temperature", "14d", "24h", HOURS),
    "metar_uk 168h": ("metar_uk", "temperature", "14d", "168h", HOURS),
    "noaa_isd 24h": ("noaa_isd_lite", "temperature", "14d", "24h", HOURS),
    "noaa_isd 168h": ("noaa_isd_lite", "temperature", "14d", "168h", HOURS),
    "ghcn 14d": ("ghcn_sporadic", "tmax", "60d", "14d", []),
    "equity price 20d": ("us_equity", "close", "200d", "20d", []),
    "crypto price 20d": ("crypto", "close", "200d", "20d", []),
}


def path(name):
    return os.path.join(os.environ["LLAP_DATA"], CELLS[name][0] + ".csv.gz")
