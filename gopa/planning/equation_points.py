"""Counts the points at which the equation of long vectors is checked.

Whoever has seen the points may still choose which liars stay: each choice is another equation, and
all of them together hold by luck with a chance of at most 2^-128. Specification 14, rules P11, K2.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from wire.errors import UsageError

MOST_POINTS: Final = 64
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_CHANCE_BITS: Final = 128


def losses_allowed(listed: int, survivors: int, late: int) -> int:
    """How many of so many listed parties may go missing behind publish before the round ends."""
    return min(listed - survivors, late)


@lru_cache(maxsize=256)
def equation_points(listed: int, losses: int, bits: int) -> int:
    """The least t with q^t >= 2^128 v^t times the number of choices of at most `losses` parties.

    `bits` are those of an index, v. Exact, as everybody has to find the same number.

    Raises:
        UsageError: more than 64 points would be needed.
    """
    most = _ORDER**MOST_POINTS // (bits**MOST_POINTS << _CHANCE_BITS)
    choices = ways = 1
    for chosen in range(1, min(losses, listed) + 1):
        ways = ways * (listed - chosen + 1) // chosen
        choices += ways
        if choices > most:
            message = (
                f"more than {MOST_POINTS} points would be needed: plan with fewer corrupt parties"
            )
            raise UsageError(message, "late")
    points, left, right = 1, _ORDER, choices * bits << _CHANCE_BITS
    while left < right:
        points, left, right = points + 1, left * _ORDER, right * bits
    return points
