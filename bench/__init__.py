"""Benchmarks: `python -m bench NAME --json`. Never timed tests, never installed."""

import os

# As the commands of `gopa` do.
os.environ.setdefault("OMP_NUM_THREADS", "1")
