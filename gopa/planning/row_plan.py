"""Plans what only long vectors with proved lengths have: late losses, a charge, and other costs.

Specification 14, rules K1, U2 and M3.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal
from typing import Final

import numpy as np
from scipy.special import bdtrc

from gopa.contract.lengths import word_width
from gopa.contract.terms import MOST_SQUARE, Terms
from gopa.planning.request import Request
from gopa.planning.result import PlanCost
from gopa.planning.row_noise import charged_for_proofs
from wire.errors import UsageError
from zkp.noise import LARGEST_TOTAL_WEIGHT
from zkp.rows.shape import RowShape

_POINTS_OF_PROOFS: Final = 110
_TESTS: Final = 10_800
_ROWS_AT_ONCE: Final = 0.04
_ROWS_EACH: Final = 9e-6
"""Points and tests beside what grows; seconds at once and for each coordinate."""


def late_losses(request: Request) -> int:
    """How many may go missing behind publish: honest ones before they prove or open edges."""
    chance = request.dropout * request.course.share("prove", "rollback")
    return planned_late(request.parties, request.corrupt, request.survivors, chance)


_TENTH: Final = Decimal("0.1")


def within_reach(request: Request) -> Request:
    """The request, with the largest epsilon for which proofs about long vectors leave half delta.

    What they give away is a distance between laws, which counts (1 + e^epsilon) times. A plan for
    less epsilon keeps the larger one, too. Where not even a tenth is left it stays as it is.
    """
    if not request.rows or request.exact or _charged(request, request.epsilon) <= request.delta / 2:
        return request
    counted = request.delta / _charged(request, 0.0)
    most = Decimal(math.log(max(1.0, counted - 1))).quantize(_TENTH, ROUND_FLOOR)
    while most > 0 and _charged(request, float(most)) > request.delta / 2:
        most -= _TENTH
    return request if most <= 0 else request.lowered(most)


def most_charged(request: Request) -> float:
    """What proofs about long vectors cost of delta at most, as no noise is longer than that.

    Raises:
        UsageError: they cost more than half of it.
    """
    if not request.rows:
        return 0.0
    charged = _charged(request, None if request.exact else request.epsilon)
    if charged > request.delta / 2:
        # A smaller epsilon was tried (`within_reach`).
        least = _charged(request, None if request.exact else 0.0)
        message = (
            f"proofs about long vectors give away {min(1, least):.2g} at the least, and delta has "
            "to be more than twice as much: raise it, or take fewer `attempts` or `rounds`"
        )
        raise UsageError(message, "delta")
    return charged


def _charged(request: Request, epsilon: float | None) -> float:
    rounds = request.attempts * request.rounds
    square = request.dimension * LARGEST_TOTAL_WEIGHT**2 // 4
    return charged_for_proofs(
        request.dimension, request.parties, rounds, epsilon, MOST_SQUARE, square
    )


def cost_of_rows(terms: Terms, peers: float) -> PlanCost:
    """What one party pays in one round: words, and 14-M3 for what is beside them."""
    shape = RowShape(terms.dimension)
    width = word_width(terms.parties, terms.squared_norm, terms.noise_square, terms.spike)
    points = 3 * shape.rows + 2 * shape.pad_rows
    proofs = 10 * shape.bits + 4 * shape.column_bits + 2 * peers + _POINTS_OF_PROOFS
    posted = terms.dimension * width // 8 + _TESTS + round(32 * (points + proofs))
    return PlanCost(peers, posted, _ROWS_AT_ONCE + _ROWS_EACH * terms.dimension)


TOO_MANY: Final = 1e-3
"""The planned chance that more honest parties than that go missing behind publish."""

_DEVIATIONS: Final = 12


def planned_late(parties: int, corrupt: int, survivors: int, chance: float) -> int:
    """All corrupt parties and as many honest ones as go missing, each with this chance.

    Never more than the plan can lose at all: fewer parties end a round anyway.
    """
    honest = parties - corrupt
    most = math.ceil(honest * chance + _DEVIATIONS * math.sqrt(honest * chance + 1))
    counts = np.arange(min(honest, most) + 1, dtype=np.float64)
    missing = int(np.argmax(bdtrc(counts, honest, chance) <= TOO_MANY))
    return min(corrupt + missing, parties - survivors)
