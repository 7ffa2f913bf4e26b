"""Whether an installed package works where there is nothing but NumPy: run by tools/wheel. With the word cuda: whether
llapdiff-cuda is found, and what is missing for it said."""
import sys

import llapdiff

data = llapdiff.demo(kind="weather", entities=2, rows=200)
model = llapdiff.train(dict(data.table()), target="temperature (degC)", context="1d", horizon="6h", size="anchor",
                       training={"anchor": {"steps": 10}})
forecast = model.forecast(data, quantiles=[0.1, 0.5, 0.9])
assert forecast.n_rows == 12 and forecast.samples.shape == (2, 200, 6, 1)
assert not {"pandas", "pyarrow", "polars", "matplotlib"} & set(sys.modules)
if "cuda" in sys.argv:
    try:
        print(f"cuda: {model.sampler('cuda')}")
    except llapdiff.UnsupportedError as refused:
        assert "is not there" not in str(refused) and "\n" not in str(refused), refused
        print(refused)
    sys.exit()
print(f"Python {sys.version.split()[0]}: llapdiff {llapdiff.__version__} works")
