"""Draws noise that nobody checks, for modes in which nothing is proved: many draws at a time.

The same laws as in proved rounds: a law with 2^b settings, b <= 128, is drawn from its own
masses, scaled to 128 bits; weighted bits with more are drawn in groups of at most 128.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Final

from commitments.group import Group, WideTable
from gopa.rounds.masks.law import BITS
from wire.domains import UNPROVED_NOISE, stream_domain
from wire.randomness import Rng, draw
from wire.secret import SecretBytes
from zkp.noise_table import GaussianTable, NoiseLaw, NoNoise

_GROUP: Final = BITS


def add_noise(array: object, law: NoiseLaw, group: Group, rng: Rng) -> None:
    """Add one independent draw of the law to each element of an array of integers, in place.

    Sums wrap at the width of the array. The draws come from a stream keyed by `rng`.
    """
    stream = group.stream(SecretBytes(draw(rng, 32)), stream_domain(UNPROVED_NOISE))
    for table in _tables(group, law):
        stream.add_wide_draws_to(array, 1, table)  # type: ignore[arg-type]


@lru_cache(maxsize=16)
def _tables(group: Group, law: NoiseLaw) -> tuple[WideTable, ...]:
    if isinstance(law, NoNoise):
        return ()
    if isinstance(law, GaussianTable):
        return (_table(group, law.masses),)
    return tuple(_table(group, counts(part)) for part in even_groups(law.weights))


def even_groups(weights: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Groups of at most 128 weights whose totals are even, so that each has a middle value.

    Odd weights come first. There is an even number of them, as the total is even, so
    every slice of 128 holds an even number of them.
    """
    ordered = sorted(weights, key=lambda weight: weight % 2 == 0)
    return [tuple(ordered[at : at + _GROUP]) for at in range(0, len(ordered), _GROUP)]


def counts(weights: tuple[int, ...]) -> tuple[int, ...]:
    """How many settings of the bits give each sum 0, 1, .., total weight."""
    found = [1]
    for weight in weights:
        gap = [0] * weight
        found = [a + b for a, b in zip(found + gap, gap + found, strict=True)]
    return tuple(found)


def _table(group: Group, masses: tuple[int, ...]) -> WideTable:
    """The bounds F_1 .. F_radius in units of 2^-128: exact, as the total divides 2^128."""
    scale = (1 << BITS) // sum(masses)
    below = list(accumulate(masses))[: len(masses) // 2]
    return group.wide_table([scale * bound for bound in below])
