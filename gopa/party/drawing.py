"""Noise that nobody checks, for the mode in which nothing is proved.

Exact draws of the plan's law, as words. The time they take depends on the draws.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wire.randomness import Rng, draw
from zkp.noise_table import GaussianTable, NoiseLaw, WeightedBits

_WORD = 8


def local_noise(law: NoiseLaw, count: int, rng: Rng) -> npt.NDArray[np.int64]:
    """`count` independent draws of the law."""
    if isinstance(law, GaussianTable):
        return _from_table(law, count, rng)
    return _from_bits(law, count, rng)


def _from_table(law: GaussianTable, count: int, rng: Rng) -> npt.NDArray[np.int64]:
    uniform = np.frombuffer(draw(rng, _WORD * count), dtype="<u8") & np.uint64(law.total - 1)
    bounds = np.array(law.cumulative[1:], dtype=np.uint64)
    rows = np.searchsorted(bounds, uniform, side="right")
    return rows.astype(np.int64) - law.radius


def _from_bits(law: WeightedBits, count: int, rng: Rng) -> npt.NDArray[np.int64]:
    total = np.full(count, -law.radius, dtype=np.int64)
    for run in law.runs:
        size = -(-run.count // 8)
        data = np.frombuffer(draw(rng, size * count), dtype=np.uint8).reshape(count, size).copy()
        data[:, -1] &= np.uint8(255 >> (8 * size - run.count))
        total += run.weight * _ones(data)
    return total


def _ones(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """How many bits of each row are set."""
    counts: npt.NDArray[np.int64] = _ONES[data].sum(axis=1, dtype=np.int64)
    return counts


_ONES = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)
