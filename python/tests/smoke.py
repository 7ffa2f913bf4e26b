"""Whether an installed package works where there is nothing but NumPy: run by tools/test-wheel. With the word cuda: whether
llapdiff-cuda is found, and what is missing for it said."""
import sys
import threading

import llapdiff

if "cuda" in sys.argv:
    for device in llapdiff.devices()[1:]:
        assert "is not there" not in device.detail and "\n" not in device.detail, device
        print(f"{device.name}: {device.detail or 'usable'}")
    sys.exit()

data = llapdiff.demo(kind="weather", entities=2, rows=200)
model = llapdiff.train(dict(data.table()), target="temperature (degC)", context="1d", horizon="6h", size="anchor",
                       training={"anchor": {"steps": 10}})
forecast = model.forecast(data, quantiles=[0.1, 0.5, 0.9])
assert forecast.n_rows == 12 and forecast.samples.shape == (2, 200, 6, 1)
assert not {"pandas", "pyarrow", "polars", "matplotlib"} & set(sys.modules)
assert "pip install 'llapdiff[cuda]'" in llapdiff.devices()[1].detail

found = []
threads = [threading.Thread(target=lambda: found.append(model.forecast(data)["mean"].tobytes())) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert set(found) == {forecast["mean"].tobytes()} and len(found) == 4

gil = getattr(sys, "_is_gil_enabled", lambda: True)()  # an extension that is not marked switches it on again
print(f"Python {sys.version.split()[0]}{'' if gil else ' without GIL'}: llapdiff {llapdiff.__version__} works")
