"""Data of the right shape that several tests of learning read."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def covertype(folder: Path, rows: int) -> Path:
    """A made-up file of Covertype: 10 numbers, one of 4 areas, one of 40 soils, one of 7 kinds."""
    rng = np.random.default_rng(1)
    kinds = rng.integers(1, 8, rows)
    numbers = rng.integers(0, 99, (rows, 10)) + 20 * kinds[:, None]
    areas, soils = (np.eye(each, dtype=int)[rng.integers(0, each, rows)] for each in (4, 40))
    path = folder / "covertype" / "covtype.data"
    path.parent.mkdir()
    np.savetxt(path, np.column_stack([numbers, areas, soils, kinds]), delimiter=",", fmt="%d")
    return path
