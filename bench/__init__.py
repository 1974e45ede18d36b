"""Benchmarks: `python -m bench NAME --json`. Never timed tests, never installed.

`__main__` lists them, `measure` is what they share (processor time, checks, scales). `--tiny` runs
the same code and checks in about a second, which is how the tests run all of them; `--full` makes
every instance anew. Start with `python -m bench group`, and read `bench/zkp.py`.
"""

import os

# As the commands of `gopa` do.
os.environ.setdefault("OMP_NUM_THREADS", "1")
