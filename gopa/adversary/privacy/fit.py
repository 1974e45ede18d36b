"""Whether numbers from real sessions follow the laws that simulated views are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import chdtrc

from gopa.adversary.privacy.laws import Law

_EXPECTED: Final = 8
"""So many draws, or a little more, are expected in each cell."""

_MOST_CELLS: Final = 64


def place(value: int, law: Law, rng: np.random.Generator) -> float:
    """Where a draw stands in its law: uniform on [0, 1) if it is of this law.

    The chance of less, and a random part of the chance of the value itself. -1 for what the
    law cannot give.
    """
    row = value - law.first
    if not 0 <= row < len(law.chances) or law.chances[row] == 0:
        return -1.0
    return float(law.chances[:row].sum() + rng.random() * law.chances[row])


def uniform_fit(places: Sequence[float]) -> float | None:
    """About the chance that uniform numbers look less uniform than these: Pearson's test.

    0 if one lies outside of [0, 1); None if there are too few numbers to tell anything.
    """
    found = np.asarray(places)
    cells = min(_MOST_CELLS, len(found) // _EXPECTED)
    if ((found < 0) | (found >= 1 + 1e-9)).any():
        return 0.0
    if cells < 2:
        return None
    counts = np.bincount(np.minimum((found * cells).astype(int), cells - 1), minlength=cells)
    expected = len(found) / cells
    return float(chdtrc(cells - 1, float(((counts - expected) ** 2).sum() / expected)))
