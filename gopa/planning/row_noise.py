"""Judges what a plan for long vectors says about noise, and what its proofs give away.

Bounds on noise must be wide enough that honest parties hardly ever draw anew, and no wider than
that: what is above them is left to liars. Specification 14, rules M7 and U2.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from gopa.contract.terms import Terms
from gopa.planning.tail_bounds import chance_beyond, powers_of
from zkp.noise import NoiseLaw
from zkp.rows.shape import PAD_BITS, TESTS, RowShape

REDRAWN_BITS: Final = 64
"""A party draws its noise anew with a chance of two to the minus that."""

IDLE_BITS: Final = 80
"""A bound that noise reaches more rarely than that is there for liars only."""

_EIGHTH: Final = 8


def bounds_margin(terms: Terms) -> float:
    """How far logarithms of chances are on the right side of their limits, as parts of these.

    The least of three: noise is drawn anew rarely enough, its squares come up to their bound often
    enough, and its eighth powers would exceed that of the next smaller spike. Infinite where
    nothing is claimed about noise, and negative where a rule is broken.
    """
    if not terms.squared_norm:
        return math.inf
    if terms.exact:
        return math.inf if terms.noise_square == terms.spike == 1 else -math.inf
    return _margin(terms.noise, terms.dimension, terms.noise_square, terms.spike)


@lru_cache(maxsize=64)
def _margin(law: NoiseLaw, dimension: int, square: int, spike: int) -> float:
    def chance(exponent: int, threshold: int) -> float:
        return chance_beyond(float(threshold), dimension, *powers_of(law, exponent))

    redrawn = chance(2, square + 1) + chance(_EIGHTH, spike**_EIGHTH + 1)
    reached = chance(2, square), chance(_EIGHTH, (spike - 1) ** _EIGHTH + 1)
    rare = (_rarity(redrawn) - REDRAWN_BITS) / REDRAWN_BITS
    return min(rare, *((IDLE_BITS - _rarity(each)) / IDLE_BITS for each in reached))


def _rarity(chance: float) -> float:
    return -math.log2(chance) if chance > 0 else math.inf


def shown_by_proofs(terms: Terms) -> float:
    """What is charged to delta for proofs about long vectors, over all parties and attempts."""
    if not terms.squared_norm:
        return 0.0
    rounds = terms.attempts * terms.rounds
    epsilon = None if terms.epsilon is None else float(terms.epsilon)
    square = terms.noise_square
    return charged_for_proofs(
        terms.dimension, terms.parties, rounds, epsilon, terms.squared_norm, square
    )


def charged_for_proofs(  # noqa: PLR0913, PLR0917 - what a distance is computed from
    dimension: int,
    parties: int,
    rounds: int,
    epsilon: float | None,
    squared_norm: int,
    noise_square: int,
) -> float:
    """(1 + e^epsilon) times the distance of what pads hide and of noise that is never redrawn.

    Any party may be the neighbour of all others. Without noise nothing is redrawn.
    """
    entries = RowShape(dimension).entries
    sums = math.sqrt(entries * squared_norm) + math.sqrt(entries * noise_square)
    distance = TESTS * (sums + entries * parties) / 2.0**PAD_BITS
    distance += 0.0 if epsilon is None else 2.0**-REDRAWN_BITS
    return (1 + math.exp(epsilon or 0.0)) * parties * rounds * distance * (1 + 1e-12)
