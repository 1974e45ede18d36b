"""The native core computes the same with and without lanes, and says which it does."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from commitments import ristretto255

PROGRAM = """
import json
import numpy as np
from commitments import derive_generators, ristretto255
from commitments.tables import table_kernels

group = ristretto255("native")
kernels = table_kernels(group)
values = np.arange(-2000, 2100, dtype=np.int64)
point = group.scalars(range(11, 24))
table = kernels.of_integers(values).times(kernels.equality(point, len(values)))
sums = table.power_sums(8, 4096).concat(table.fold(point[0], 4096).scalars()).reveal()
bases = derive_generators(group, b"vector", 41)
rows = [group.secret_scalars(values[start : start + 41]) for start in range(0, 4100, 41)]
points = bases.msms(rows, bits=12)
print(json.dumps([group.details, sums.to_bytes().hex(), points.to_bytes().hex()]))
"""


def told(lanes: str | None) -> list[str]:
    """What a new process finds out."""
    given = {name: value for name, value in os.environ.items() if name != "GOPA_LANES"}
    given |= {} if lanes is None else {"GOPA_LANES": lanes}
    command = [sys.executable, "-c", PROGRAM]
    ran = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(ran.stdout)
    return found


def test_lanes_change_nothing_but_the_time() -> None:
    details, *found = told(None)
    without, *expected = told("0")
    assert found == expected
    assert "tables portable" in without
    assert "tables avx512ifma" in details or details == without
    assert ristretto255("native").details.startswith("curve25519-dalek, ")
