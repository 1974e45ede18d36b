"""However many parties join: what a plan's graph is worth for the worst number of them.

Nobody knows beforehand how many parties will join, and no end of the range is the worst
one: few parties make the corrupt ones weigh more, many leave more of them to be removed
later. So the whole range is covered by intervals, each with bounds that hold for every
number in it, and the interval that decides is halved until it does not matter any more.
Specification: `specs/03-privacy.md`, section 8.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from gopa.graph.flows import complete_flow_energy, detour_energy
from gopa.planning.expansion import Population, disconnected, flow_bound
from gopa.planning.recovery import recovery_failure

_MOST_HALVINGS: Final = 8
_FEWEST_HALVINGS: Final = 2
_WORK: Final = 1_000
"""Halvings times choices: a fraction of a second."""
_CLOSE: Final = 1.05
"""A bound this near to a value that some number of parties has is not improved."""

Bound: TypeAlias = Callable[[Population], float]
"""What may go wrong, for all numbers of parties of a population at once: larger is worse."""


@dataclass(frozen=True, slots=True)
class Attendance:
    """From `fewest` to `most` parties join, all `corrupt` ones among them; `fewest` remain.

    Everybody chooses k others, or all others where no more than k + 1 parties joined.
    Those that are missing when a round ends, whenever they left, are at most `most -
    fewest` honest parties, and cost no survivor more than `loss` neighbours. With
    `recovery` a party that did not confirm may be recovered, and has opened up to `loss`
    edges itself.
    """

    fewest: int
    most: int
    corrupt: int
    k: int
    loss: int
    recovery: bool = False

    @property
    def fewest_sparse(self) -> int:
        """The smallest number of parties that join and do not all choose each other."""
        return max(self.fewest, self.k + 2)

    @property
    def is_random(self) -> bool:
        """Whether some number of parties makes a graph that is not complete."""
        return self.fewest_sparse <= self.most

    @property
    def has_complete(self) -> bool:
        """Whether some number of parties makes a complete graph."""
        return self.fewest <= self.k + 1

    @property
    def complete_neighbours(self) -> int:
        """Of those who confirmed, whom a recovered party of a complete graph has a mask with."""
        certain = self.fewest - self.corrupt
        return certain - min(self.loss, min(self.most, self.k + 1) - self.fewest)

    @property
    def isolates(self) -> bool:
        """Whether a party of a complete graph may be left without an unknown mask."""
        return self.recovery and self.has_complete and self.complete_neighbours < 1

    def complete_energy(self, units: int) -> int:
        """The squared flow between survivors of complete graphs; 0 where there are none."""
        if not self.has_complete:
            return 0
        within = complete_flow_energy(self.fewest - self.corrupt, units)
        if not self.recovery:
            return within
        return max(within, detour_energy(self.complete_neighbours, units))

    def outvoted(self, tau: Fraction) -> bool:
        """Whether the corrupt parties are enough to open self-masks of a complete graph."""
        return self.corrupt > tau * (self.fewest - 1)

    def population(self, low: int, high: int) -> Population:
        """Any number from `low` to `high` of parties that joined, not all choosing each other."""
        gone = high - self.fewest
        lost = min(self.loss, gone)
        opened = lost if self.recovery else 0
        return Population(high, high - self.corrupt, self.k, lost, gone, high - low, opened)

    def typical(self) -> tuple[Population, ...]:
        """Single numbers of parties one of which is usually the worst: all, and few."""
        few = min(self.most, max(self.fewest_sparse, self.fewest + self.loss))
        numbers = {self.most, (self.most + few) // 2, few}
        return tuple(self.population(n, n) for n in numbers if n >= self.fewest_sparse)


@lru_cache(maxsize=256)
def worst_disconnection(attendance: Attendance, enough: float) -> float:
    """A bound on P(some allowed removal disconnects the honest survivors), for one attempt.

    It is at most `enough` if that can be shown. Complete graphs stay connected unless a
    party that is recovered may have opened all its edges to those that remain.
    """
    if attendance.isolates:
        return 1.0
    return max(0.0, _worst(attendance, disconnected, enough))


@lru_cache(maxsize=256)
def worst_energy(attendance: Attendance, units: int, chance: float) -> int | None:
    """Squared flow of `units` between any two survivors, except with probability `chance`.

    None where no bound is found.
    """
    if attendance.isolates:
        return None

    def energy(population: Population) -> float:
        found = flow_bound(population, units, chance)
        return math.inf if found is None else found.energy

    worst = _worst(attendance, energy)
    if worst == math.inf:
        return None
    return max(attendance.complete_energy(units), int(max(worst, 0)))


@lru_cache(maxsize=256)
def worst_recovery(attendance: Attendance, tau: Fraction, tries: int) -> float:
    """A bound on P(corrupt neighbours could open some honest self-mask), for one attempt.

    In a complete graph nothing is random: at least `fewest - 1` neighbours are there when
    shares are dealt.
    """
    if attendance.has_complete and attendance.outvoted(tau):
        return 1.0
    return max(0.0, _worst(attendance, partial(recovery_failure, tau=tau, tries=tries)))


@lru_cache(maxsize=256)
def never_above(
    attendance: Attendance,
    kind: Literal["connection", "recovery"],
    enough: float,
    tau: Fraction | None = None,
    tries: int = 1,
) -> bool:
    """Whether a bound is shown to be at most `enough`, whoever joins, within the halvings granted.

    Intervals are taken from the left and halved while their bound is larger. What decides
    are comparisons with `enough` alone: whoever evaluates bounds a little lower needs no
    more halvings than whoever evaluates them a little higher.
    """
    if attendance.isolates:
        return False
    if tau is not None and attendance.has_complete and attendance.outvoted(tau):
        return False
    if not attendance.is_random:
        return True
    bound: Bound = disconnected
    if kind == "recovery" and tau is not None:
        bound = partial(recovery_failure, tau=tau, tries=tries)
    left = _halvings(attendance)
    waiting = [(attendance.fewest_sparse, attendance.most)]
    while waiting:
        low, high = waiting.pop()
        if _over(attendance, bound, low, high) <= enough:
            continue
        if low == high or not left:
            return False
        left, middle = left - 1, (low + high) // 2
        waiting += [(middle + 1, high), (low, middle)]
    return True


def _worst(attendance: Attendance, bound: Bound, enough: float | None = None) -> float:
    """An upper bound on `bound` for every number of parties whose graph is not complete.

    At most `enough`, if that can be shown. Otherwise close to the largest value that single
    numbers have, or above it where the halvings that are affordable do not get there.
    Infinite where nothing is shown; -infinite where every graph is complete.
    """
    if not attendance.is_random:
        return -math.inf
    low, high = attendance.fewest_sparse, attendance.most
    reached = max(map(bound, attendance.typical()))
    if reached == math.inf or (enough is not None and reached > enough):
        return reached
    target = reached * _CLOSE if enough is None else enough
    intervals = [(-_over(attendance, bound, low, high), low, high)]
    for _ in range(_halvings(attendance)):
        if -intervals[0][0] <= target:
            break
        _, first, last = heapq.heappop(intervals)
        middle = (first + last) // 2
        for start, stop in ((first, middle), (middle + 1, last)):
            value = _over(attendance, bound, start, stop)
            heapq.heappush(intervals, (-value, start, stop))
            if start == stop:
                target = max(target, value * _CLOSE if enough is None else value)
    return -intervals[0][0]


def _halvings(attendance: Attendance) -> int:
    """Fewer where each takes longer: whoever receives terms waits for this."""
    affordable = _WORK // attendance.k
    return max(_FEWEST_HALVINGS, min(_MOST_HALVINGS, affordable))


def _over(attendance: Attendance, bound: Bound, low: int, high: int) -> float:
    """The bound over an interval; nothing is shown where the honest parties may double."""
    if 2 * (high - low) >= high - attendance.corrupt:
        return math.inf
    return bound(attendance.population(low, high))
