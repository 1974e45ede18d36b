"""Recomputes what a plan's terms are worth, for whoever receives them.

A party does not trust a manifest's arithmetic. However many parties join, within the
terms, the same corrupt ones are among them and the same few may remain; the worst number
decides. Specification: `specs/03-privacy.md`, sections 8 and 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Final

from gopa.contract.terms import Terms
from gopa.planning.attendance import Attendance, never_above, worst_energy, worst_tries
from gopa.planning.exposure import Exposure, delta_of, most_summed
from gopa.planning.row_noise import bounds_margin, shown_by_proofs
from gopa.planning.target import TOLERANCE, float_below
from wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Delta of noise and masks over all releases, and what may fail in each of the graphs.

    `graph` bounds the probability of a graph worse than assumed, `recovery` that of a
    self-mask that corrupt neighbours can open. `energy` is the squared flow of masks (0
    for uniform ones). `proofs` is what proofs about long vectors give away in all.
    """

    noise: float
    graph: float
    recovery: float
    tries: int
    energy: int = 0
    proofs: float = 0.0

    @property
    def beta(self) -> float:
        """What may fail in one graph, for all parties at once."""
        return self.graph + self.recovery

    @property
    def total(self) -> float:
        """Delta of everything, at most 1."""
        return min(1.0, self.noise + self.proofs + self.beta * self.tries)


_LEAST_CHANCE: Final = 1e-300
"""Terms that grant bad graphs no chance are granted this one."""

NOTHING: Final = Guarantee(1.0, 1.0, 1.0, 1)


def guarantee(terms: Terms, joined: int | None = None) -> Guarantee:
    """What the terms give for every number of parties that may join, or for `joined` of them.

    The numbers are those of the worst case from `terms.survivors` to `terms.parties`, so
    they do not depend on `joined` while it is in that range; beyond it, and where nothing
    can be shown, delta is 1. Parties call this before they join, and go on only if
    `total` is within their own limit. That vectors stay within the terms' squared
    sensitivity has to be enforced elsewhere.
    """
    if joined is not None:
        if type(joined) is not int or joined < 0:
            raise UsageError("must be a number of parties that joined", "joined")
        # Outside of the range that was accounted for nothing is promised.
        if not terms.survivors <= joined <= terms.parties:
            return NOTHING
    return _guarantee(terms)


class Worth(Enum):
    """What a receiver finds out about the delta that terms claim."""

    KEPT = "kept"
    UNDECIDED = "too close to say"
    BROKEN = "broken"


def judge(terms: Terms) -> Worth:
    """Whether the terms keep their delta: decided in the same way by everybody (03-V35 to 03-V40).

    Between the two answers lies a band that no rounding crosses. A party joins no session
    whose terms lie in it, and an audit does not decide.
    """
    delta, margin = Fraction(terms.delta), bounds_margin(terms)
    # Bounds on noise that a party exceeds too often, or that would let liars add more.
    if margin < -TOLERANCE:
        return Worth.BROKEN
    if Fraction(_guarantee(terms, generous=True).total) > delta * (1 + TOLERANCE):
        return Worth.BROKEN
    kept = Fraction(_guarantee(terms).total) <= delta * (1 - TOLERANCE)
    return Worth.KEPT if kept and margin >= TOLERANCE else Worth.UNDECIDED


@lru_cache(maxsize=64)
def _guarantee(terms: Terms, *, generous: bool = False) -> Guarantee:
    """The guarantee; with `generous` bad graphs may be likelier by the tolerance."""
    attendance = attendance_of(terms)
    cut_off = attendance.is_random and terms.loss >= 2 * terms.k  # as many as it has on average
    too_wide = not terms.exact and terms.honest > most_summed(terms.noise)
    if cut_off or too_wide:
        return NOTHING  # it would take too long to show more
    granted = min(max(float(terms.beta), _LEAST_CHANCE), 0.5)
    less, more = (granted * float(1 + sign * TOLERANCE) for sign in (-1, 1))
    enough = more if generous else less
    chance = granted if attendance.is_random else 0.0
    energy, recovery = 0, 0.0
    if terms.mask == "uniform":
        if not never_above(attendance, "connection", enough):
            return NOTHING
    else:
        found = [worst_energy(attendance, units_of(terms), each) for each in (less, more)]
        energies = [each for each in found if each is not None]
        if not energies or (len(energies) < 2 and not generous):
            return NOTHING
        energy = min(energies) if generous else max(energies)
    if terms.threshold is not None:
        tries = worst_tries(terms.beacon)
        if not never_above(attendance, "recovery", enough, terms.threshold, tries):
            return NOTHING
        recovery = chance
    noise = 0.0
    try:
        # Masks of a connected graph show an exact sum and nothing else (03-V42): no noise counts.
        if not terms.exact:
            noise = delta_of_component(terms, terms.honest, energy, terms.releases)
    except UsageError:
        return NOTHING  # so many releases take too long to compose
    return Guarantee(noise, chance, recovery, terms.tries, energy, shown_by_proofs(terms))


def attendance_of(terms: Terms) -> Attendance:
    """Who may join under these terms."""
    recovery = terms.threshold is not None
    return Attendance(terms.survivors, terms.parties, terms.corrupt, terms.k, terms.loss, recovery)


def units_of(terms: Terms) -> int:
    """Unit shifts that a flow of masks carries at once, under these terms."""
    return unit_shifts(terms.dimension, terms.squared_sensitivity)


def unit_shifts(dimension: int, squared_sensitivity: int) -> int:
    """Unit shifts a flow carries at once: all steps for scalars, one for a coordinate."""
    return math.isqrt(squared_sensitivity) if dimension == 1 else 1


def delta_of_component(terms: Terms, parties: int, energy: int, releases: int) -> float:
    """Delta when `parties` honest parties are connected by masks with this flow energy.

    More parties than the terms count on are not followed further than their noise is
    summed up: more of them give more privacy. Without noise there is none to give.
    """
    if not parties or terms.exact:
        return 1.0
    if parties > terms.honest:
        parties = max(terms.honest, min(parties, most_summed(terms.noise)))
    squared = energy if terms.dimension == 1 else energy * terms.squared_sensitivity
    # Masks without width hide nothing that flows through them.
    if squared and not terms.mask_deviation:
        return 1.0
    exposure = Exposure(
        honest=parties,
        squared_sensitivity=terms.squared_sensitivity,
        largest_coordinate=terms.largest_coordinate,
        dimension=terms.dimension,
        epsilon=float_below(terms.promised_epsilon),
        delta=float_below(terms.delta),
        mask_mu=mask_price(squared, terms.mask_deviation),
        releases=releases,
    )
    return delta_of(exposure, terms.noise)


def mask_price(squared: int, deviation: int) -> float:
    """The shift, in deviations, that a squared flow of Gaussian masks adds; rounded up."""
    return math.sqrt(squared) * (1 + 1e-12) / deviation if squared else 0.0
