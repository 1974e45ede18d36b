"""Puts numbers on a grid, so that noise in whole steps of it is added exactly.

Specifications: `specs/18-correlated-noise.md`, section 1, `specs/19-without-replacement.md`,
section 1.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError

Floats: TypeAlias = npt.NDArray[np.float64]

DEVIATION: Final = 2**13
"""Of the noise, in steps of the grid."""

_LARGEST: Final = 2.0**45
"""In steps of the grid: roundings of floats stay below a hundredth of a step."""


def on_grid(values: Floats, unit: Floats | float) -> Floats:
    """The nearest whole numbers of `unit`; `UsageError` where floats would swallow the noise."""
    found = np.rint(values / unit)
    if not np.abs(found).max() < _LARGEST:
        raise UsageError("lost in the roundings of what it hides: take more, or longer", "noise")
    return found
