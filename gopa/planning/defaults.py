"""Fixes what a plan assumes and chooses where its caller says nothing, each number in one place.

Why each of them: `specs/03-privacy.md`, [V33a].
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, TypeAlias

PlannedMode: TypeAlias = Literal["full", "signed", "off"]
PlannedTrust: TypeAlias = Literal["malicious", "honest-but-curious"]

CORRUPT: Final = 0.1
"""A tenth of the parties: plans assume that so many collude, and parties ask that of plans."""

_SLACK: Final = 1e-9
"""A part of 0.29 is 29 of 100, though the float is a little less."""

DROPOUT: Final = 0.05
ATTEMPTS: Final = 3

CHARGED: Final = 0
"""Charged retries. A plan without recovery may get more of them, by the chance of a result."""

EXACT_DELTA: Final = Decimal("1e-9")
"""The chance that masks give away more than an exact sum, where nobody says."""

EXACT_STEPS: Final = 2**32 - 1
"""The grid of an exact sum of single numbers: 32 bits for each."""

EXACT_VECTOR_STEPS: Final = 2**16 - 1
"""The grid of exact sums of vectors: 16 bits for each coordinate, which full mode proves."""

ROWS_FROM: Final = 24
"""From so many coordinates on rows cost neither a party nor an auditor more time than bits do."""

BITS_UP_TO: Final = 1_000
"""Vectors of more coordinates are proved number by number only where somebody asks for it."""

LEAST_CHANCE: Final = 0.5
"""A plan whose session gets a result less often than that is refused."""

GOOD_CHANCE: Final = 0.9
"""A plan whose session gets a result less often than that comes with a warning."""

SURE_CHANCE: Final = 0.98
"""Smaller thresholds of recovery are tried until a result is as likely as that."""

MOST_RETRIES: Final = 3
"""Without recovery at most so many charged retries are planned unasked."""

THRESHOLDS: Final = (
    Fraction(4, 5),
    Fraction(3, 4),
    Fraction(2, 3),
    Fraction(3, 5),
    Fraction(1, 2),
)
"""Thresholds of recovery that are tried, from the one with the fewest neighbours on."""

MOST_WITHHELD: Final = 32
"""With more parties than that expected to withhold their nonces, coins come from a beacon."""


def colluding(part: float | Fraction, parties: int) -> int:
    """How many of these parties collude if a part of them does: rounded down, and at least one."""
    return max(1, math.floor(part * parties + _SLACK))
