"""Among how many coins liars can choose, who withhold nonces or cut them off.

`specs/09-beacon.md`, section 4: whoever sees all nonces before it is fixed which of them count
picks one of many values of the joint coin. It moves the noise of corrupt parties alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

from gopa.planning.terms import Terms

_EXACT: Final = Context(prec=60)


@dataclass(frozen=True, slots=True)
class CoinChoices:
    """How many coins there are to choose from in all attempts for one result.

    `helped` counts those of corrupt parties whom organiser and board help, `alone` those of
    the corrupt parties of the plan by themselves. Numbers of up to 50 digits are exact.
    """

    helped: Decimal
    alone: Decimal

    @property
    def helped_bits(self) -> Decimal:
        """log2 of `helped`."""
        return log2_of(self.helped)

    @property
    def alone_bits(self) -> Decimal:
        """log2 of `alone`."""
        return log2_of(self.alone)

    @property
    def shift(self) -> float:
        """About how far the best moves the corrupt parties' noise, in its standard deviations."""
        return math.sqrt(2 * float(_EXACT.ln(self.helped)))


@lru_cache(maxsize=64)
def coin_choices(terms: Terms) -> CoinChoices:
    """For sessions with commit-reveal or, by the terms, drand, whose values nobody chooses.

    Whoever helps can fork the log: every branch has coins of its own, and they are known when
    honest parties can still be kept from all but one of them.
    """
    attempts = Decimal(terms.attempts)
    forked = Decimal(terms.attempts * terms.branches)
    if terms.beacon == "drand":
        return CoinChoices(forked, attempts)
    return CoinChoices(
        _EXACT.multiply(forked, subsets(terms.parties, terms.loss)),
        _EXACT.multiply(attempts, subsets(terms.corrupt, min(terms.loss, terms.corrupt))),
    )


def subsets(size: int, most: int) -> Decimal:
    """How many subsets of so many elements have at most `most` of them."""
    total = ways = Decimal(1)
    for taken in range(min(most, size)):
        ways = _EXACT.divide(_EXACT.multiply(ways, Decimal(size - taken)), Decimal(taken + 1))
        total = _EXACT.add(total, ways)
    return total


def log2_of(count: Decimal) -> Decimal:
    """The logarithm, with 60 digits."""
    return _EXACT.divide(_EXACT.ln(count), _EXACT.ln(Decimal(2)))
