"""Chooses how many neighbours: the smallest k whose graph is good with enough probability."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from gopa.planning.attendance import (
    Attendance,
    never_above,
    recovery_failure,
    worst_energy,
    worst_tries,
)
from gopa.planning.expansion import Population, degree_tail, disconnected, flow_bound
from gopa.planning.request import Request
from gopa.planning.target import TOLERANCE, decimal_below
from wire.errors import UsageError

_TOLERANCE: Final = float(TOLERANCE)
"""That of whoever judges the terms: what is planned must not lie in the band around it."""

_STRIDE: Final = 1.04
_WIDER: Final = 4
"""With the objective "masks", up to this many times the smallest k is tried."""


@dataclass(frozen=True, slots=True)
class NeighbourChoice:
    """Holds a number of choices, its loss bound, and what the graph is worth, whoever joins.

    `beta` bounds, for one attempt and all parties at once, the probability of a graph
    worse than assumed, `recovery` that of a self-mask which corrupt neighbours could open.
    `energy` bounds the squared flow (0 for uniform masks).
    """

    k: int
    loss: int
    beta: Decimal
    recovery: float
    energy: int
    method: str

    @property
    def price(self) -> float:
        """Neighbours times mask deviation: halving the masks is worth twice the neighbours."""
        return self.k * math.sqrt(self.energy)


def choose_neighbours(request: Request, units: int, budget: float) -> NeighbourChoice:
    """The smallest k that stays within `budget`; for "masks", the best trade-off above it.

    The budget is for graphs and for recovery together: half of it each, if there are both.
    """
    return _Search(request, units, budget).chosen()


def _cut_off(population: Population) -> float:
    """The chance of a party with too few honest neighbours: a part of `disconnected`."""
    return population.honest * degree_tail(population, population.loss + population.opened)


class _Search:
    """Single numbers of parties say which k is promising; the whole range then decides."""

    def __init__(self, request: Request, units: int, budget: float) -> None:
        self._request = request
        self._units = units
        self._each = budget if request.threshold is None else budget / 2
        self._chance = decimal_below(self._each)
        self._surely = float(self._chance) * (1 - 2 * _TOLERANCE)
        self._largest = request.parties - 1

    def chosen(self) -> NeighbourChoice:
        smallest = self._smallest()
        request = self._request
        if request.objective != "masks" or request.mask == "uniform":
            return smallest
        prices = {
            k: k * math.sqrt(energy)
            for k in self._wider(smallest.k)
            if (energy := self._energy(k)) is not None
        }
        other = self._reach(min(prices, key=prices.__getitem__)) if prices else None
        return smallest if other is None or smallest.price <= other.price else other

    def _wider(self, smallest: int) -> Iterator[int]:
        """Some forty numbers, closer together where they are small."""
        k, last = smallest, min(_WIDER * smallest, self._largest)
        while k < last:
            yield k
            k = max(k + 1, round(k * _STRIDE))
        yield last

    def _smallest(self) -> NeighbourChoice:
        """Doubling, then bisection, then up until the whole range of joined parties is covered.

        More neighbours are worse where they come with a larger loss bound, so a few smaller
        numbers are tried at the end.
        """
        high = 1
        while self._promise(high) is None:
            if high == self._largest:
                raise UsageError(
                    "so many corrupt parties can open self-masks, or a recovered party may be cut "
                    "off, even if all are neighbours: raise the threshold, lower `corrupt` or "
                    "`dropout`, or leave out recovery",
                    "recovery",
                )
            high = min(2 * high, self._largest)
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._promise(middle) is None else (low, middle)
        while (found := self._reach(high)) is None:
            high += 1
        for k in range(high - 1, max(0, high - 1 - max(3, high // 10)), -1):
            if self._promise(k) is not None:
                found = self._reach(k) or found
        return found

    def _attendance(self, k: int) -> Attendance:
        request = self._request
        losses = request.losses(k)
        recovery = request.threshold is not None
        return Attendance(
            losses.survivors, request.parties, request.corrupt, k, losses.loss, recovery
        )

    def _promise(self, k: int) -> int | None:
        """The energy, if corrupt parties do not recover self-masks for typical numbers either."""
        energy = self._energy(k)
        return energy if energy is not None and self._recovers(self._attendance(k)) else None

    def _energy(self, k: int) -> int | None:
        """The flow energy for typical numbers of parties; None where one already fails."""
        attendance = self._attendance(k)
        if attendance.isolates:
            return None
        energy = attendance.complete_energy(self._units)
        for population in attendance.typical():
            if self._request.mask == "uniform":
                if _cut_off(population) > self._each or disconnected(population) > self._each:
                    return None
                continue
            bound = flow_bound(population, self._units, float(self._chance))
            if bound is None:
                return None
            energy = max(energy, bound.energy)
        return energy

    def _recovers(self, attendance: Attendance) -> bool:
        tau = self._request.threshold
        if tau is None:
            return True
        tries = worst_tries(self._request.beacon)
        if attendance.has_complete and attendance.outvoted(tau):
            return False
        found = (recovery_failure(one, tau, tries) for one in attendance.typical())
        return all(chance <= self._each for chance in found)

    def _reach(self, k: int) -> NeighbourChoice | None:
        """What k is worth for every number of parties; None if that is too little."""
        request, attendance, recovery = self._request, self._attendance(k), 0.0
        chance = self._chance if attendance.is_random else Decimal(0)
        if request.threshold is not None:
            tries, tau = worst_tries(request.beacon), request.threshold
            if not never_above(attendance, "recovery", self._surely, tau, tries):
                return None
            recovery = float(self._chance) if attendance.is_random else 0.0
        if request.mask == "uniform":
            method = "analytic: connectivity"
            if not never_above(attendance, "connection", self._surely):
                return None
            return NeighbourChoice(k, attendance.loss, chance, recovery, 0, method)
        # What receivers evaluate, with a little less and a little more than the chance.
        found = [
            worst_energy(attendance, self._units, float(self._chance) * factor)
            for factor in (1 - _TOLERANCE, 1 + _TOLERANCE)
        ]
        if None in found:
            return None
        energy = max(each for each in found if each is not None)
        method = "analytic: growth of neighbourhoods"
        return NeighbourChoice(k, attendance.loss, chance, recovery, energy, method)
