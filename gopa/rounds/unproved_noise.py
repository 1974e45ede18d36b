"""Draws noise that nobody checks, for modes in which nothing is proved: many draws at a time.

The same laws as in proved rounds: pieces with 2^b settings, b <= 128, are drawn from their own
masses, scaled to 128 bits.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

from commitments.group import Group, WideTable
from gopa.rounds.masks.law import BITS
from wire.domains import UNPROVED_NOISE, stream_domain
from wire.randomness import Rng, draw
from wire.secret import SecretBytes
from zkp.noise import NoiseLaw


def add_noise(array: object, law: NoiseLaw, group: Group, rng: Rng) -> None:
    """Add one independent draw of the law to each element of an array of integers, in place.

    Sums wrap at the width of the array. The draws come from a stream keyed by `rng`.
    """
    stream = group.stream(SecretBytes(draw(rng, 32)), stream_domain(UNPROVED_NOISE))
    for table in _tables(group, law):
        stream.add_wide_draws_to(array, 1, table)  # type: ignore[arg-type]


@lru_cache(maxsize=16)
def _tables(group: Group, law: NoiseLaw) -> tuple[WideTable, ...]:
    return tuple(_table(group, piece) for piece in law.pieces)


def _table(group: Group, masses: tuple[int, ...]) -> WideTable:
    """The bounds F_1 .. F_radius in units of 2^-128: exact, as the total divides 2^128."""
    scale = (1 << BITS) // sum(masses)
    below = list(accumulate(masses))[: len(masses) // 2]
    return group.wide_table([scale * bound for bound in below])
