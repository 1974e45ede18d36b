"""Vectors that are shortened to a bound, and put on a grid on which noise is added exactly.

Sensitivities rest on clipping, so a clipped vector is never longer than the bound, not even by a
rounding error. Specifications: `specs/17-graphs-and-clocks.md`, section 5; of the grid
`specs/18-correlated-noise.md` and `specs/19-without-replacement.md`, section 1 of each.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import number
from gopa.support.arrays import Floats

Norm: TypeAlias = float
"""1, 2 or `math.inf`: the sum of the moduli, the Euclidean length, the largest modulus."""

_Order: TypeAlias = Literal[1, 2] | float
_ROUNDOFF: Final = 2.0**-53
_SMALLEST: Final = 1e-200
"""Of a bound: what is clipped to it keeps the precision of its largest numbers."""


def length(vectors: npt.ArrayLike, norm: Norm) -> Floats:
    """The norm of each vector along the last axis."""
    listed = finite(vectors, "vectors")
    largest = np.abs(listed).max(axis=-1, initial=0.0)
    with np.errstate(over="ignore"):
        return np.asarray(largest * _relative(listed, largest, require_norm(norm)))


def clip(vectors: npt.ArrayLike, norm: Norm, bound: float) -> Floats:
    """The same vectors, those longer than `bound` shortened to it without turning them.

    To it, or to less by a few roundings, which also a vector of just this length loses.
    `UsageError` for NaN and infinities: no length makes them harmless.
    """
    listed, order = finite(vectors, "vectors"), require_norm(norm)
    if not _SMALLEST <= bound <= 1 / _SMALLEST:
        raise UsageError("a clipping bound lies between 1e-200 and 1e200", "bound")
    largest = np.abs(listed).max(axis=-1, initial=0.0)
    relative = _relative(listed, largest, order)
    # Relative error of a norm, a quotient and a product of so many numbers.
    slack = 1 - (listed.shape[-1] + 8) * _ROUNDOFF
    with np.errstate(over="ignore"):
        too_long = largest * relative > bound * slack
    divisor = np.where(too_long, largest, 1.0)[..., None]
    shrink = np.where(too_long, bound * slack / np.maximum(relative, 1.0), 1.0)[..., None]
    return np.where(too_long[..., None], listed / divisor * shrink, listed)


def within(models: Floats, radius: float) -> Floats:
    """The nearest models that are no longer than `radius`, which may be infinite."""
    if radius == math.inf:
        return models
    if not number(radius, "radius") > 0:
        raise UsageError("a radius is above 0", "radius")
    return clip(models, 2, radius)


def require_norm(norm: Norm) -> _Order:
    """The norm as numpy names it."""
    if norm not in (1, 2, math.inf):
        raise UsageError("a norm is 1, 2 or math.inf", "norm")
    return norm


def finite(values: npt.ArrayLike, field: str) -> Floats:
    """An array of finite numbers with at least one axis."""
    found = numbers(values, field)
    if not found.ndim or not np.isfinite(found).all():
        raise UsageError("an array of numbers without NaN and infinities", field)
    return found


def numbers(values: npt.ArrayLike, field: str) -> Floats:
    """An array of numbers; text that looks like numbers and complex numbers are none."""
    if hasattr(values, "toarray"):
        raise UsageError("a sparse matrix: every number is needed, so give its toarray()", field)
    try:
        found = np.asarray(values)
        if found.dtype.kind in "biufO":
            return found.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise UsageError("an array of numbers, as many in each row", field)


def _relative(vectors: Floats, largest: Floats, order: _Order) -> Floats:
    """The norm of each vector divided by its largest modulus: from 1 to the dimension."""
    scaled = np.abs(vectors) / np.where(largest > 0, largest, 1.0)[..., None]
    if order == 1:
        return np.asarray(scaled.sum(axis=-1))
    if order == 2:
        return np.asarray(np.sqrt((scaled * scaled).sum(axis=-1)))
    return np.asarray(scaled.max(axis=-1, initial=0.0))


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
