"""What llapdiff's CSV reader is compared with: pandas reads a wide file with its dates parsed and
pivots it to the same panel (entities x times, one block per variable).

    python3 bench/csv_pandas.py air.csv [repetitions]

Prints the median seconds and the peak resident memory in kB."""
import resource
import statistics
import sys
import time

import pandas


def load(path):
    table = pandas.read_csv(path, parse_dates=["time"])
    return table.pivot(index="time", columns="entity")


seconds = []
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1):
    start = time.perf_counter()
    panel = load(sys.argv[1])
    seconds.append(time.perf_counter() - start)
peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"pandas {pandas.__version__}: {statistics.median(seconds):.3f} s, {peak_kb} kB, {panel.shape}")
