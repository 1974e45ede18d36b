"""How many neighbours a plan needs, for the worst number of parties that may join.

Nobody knows beforehand how many parties will join, and no end of the range is the worst
one: few parties make the corrupt ones weigh more, many leave more of them to be removed
later. So the whole range is covered by intervals, each with bounds that hold for every
number in it, and the interval that decides is halved until it does not matter any more.

Among what may go wrong is recovery: corrupt neighbours may be enough to open a self-mask alone.
Of all k the smallest is taken whose graph is good with enough probability.
Specification: `specs/03-privacy.md`, section 8.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.contract.terms import BeaconKind
from gopa.graph.flows import complete_flow_energy, detour_energy
from gopa.planning.neighbours.expansion import (
    Population,
    degree_tail,
    disconnected,
    flow_bound,
    log_choose,
    log_sum,
)
from gopa.planning.request import Request
from gopa.planning.target import TOLERANCE, decimal_below
from gopa.support.arrays import Floats
from wire.errors import UsageError

Counts: TypeAlias = npt.NDArray[np.int64]

_RARE = -120.0
"""Events of a smaller log-probability are not looked into but counted as failures."""

_MOST_CHOICES = 1_000

GRINDING: Final = 2**64
"""Logs that somebody is granted to try before the coins are fixed."""


def worst_tries(beacon: BeaconKind) -> int:
    """The number of draws from which corrupt parties' choices may be picked.

    With commit-reveal they follow from nonces that corrupt parties know and from a log
    that they can help to shape. A beacon that nobody knows when the list is closed
    leaves nothing to pick.
    """
    return 1 if beacon == "drand" else GRINDING


def recovery_failure(population: Population, tau: Fraction, tries: int = 1) -> float:
    """Bounds P(some honest party has at least floor(tau degree) + 1 corrupt neighbours).

    The choices of honest parties are random. Those of corrupt parties are the best of
    `tries` independent draws, picked without knowing the honest ones: whoever decides
    what a log looks like before its coins are fixed can try many logs. A party may lose
    `loss` neighbours before it deals shares, which lowers its threshold. For all honest
    parties at once, one attempt, every number of parties in the population's range;
    rounded upwards.
    """
    if type(tau) is not Fraction or not 0 < tau < 1:
        raise UsageError("the threshold is a Fraction between 0 and 1", "recovery")
    if population.k > _MOST_CHOICES:
        return 1.0  # it would take too long to show more
    logs = [math.log(population.k + 1) + _RARE]
    for own, chosen in _own_corrupt_choices(population):
        logs.append(chosen + _log_outvoted(population, own, tau, tries))
    total = float(log_sum(np.array(logs))) + population.slack
    return min(1.0, population.honest * math.exp(min(0.0, total)) * (1 + 1e-9))


def _own_corrupt_choices(population: Population) -> Iterator[tuple[int, float]]:
    """How many corrupt parties a party chooses, with log-probabilities that are not too small."""
    corrupt, others, k = population.corrupt, population.fewest_others, population.k
    counts = np.arange(max(0, k - (others - corrupt)), min(k, corrupt) + 1, dtype=float)
    logs = (
        log_choose(corrupt, counts)
        + log_choose(others - corrupt, k - counts)
        - log_choose(others, k)
    )
    for count, log in zip(counts.tolist(), logs.tolist(), strict=True):
        if log > _RARE:
            yield int(count), log


def _log_outvoted(population: Population, own: int, tau: Fraction, tries: int) -> float:
    """Log-probability of failure for a party that chose `own` corrupt parties.

    With z further corrupt and y further honest parties that chose it, it fails when
    own + z > tau (k + z + y - loss). Rare large y count like the largest one kept.
    """
    k = population.k
    joiners = _log_binomial(population.fewest - 1 - (k - own), k / (population.parties - 1))
    attackers = _log_binomial(population.corrupt - own, k / population.fewest_others)
    at_least = np.append(np.logaddexp.accumulate(attackers[::-1])[::-1], -np.inf)
    at_least = np.logaddexp(at_least, _RARE)
    needed = _needed(own, k - population.loss + np.arange(len(joiners)), tau)
    tails = at_least[np.clip(needed, 0, len(attackers))] + math.log(tries)
    tails = np.minimum(tails, 0.0)
    kept = float(log_sum(joiners + tails))
    return min(0.0, float(np.logaddexp(kept, _RARE + tails[-1])))


def _needed(own: int, others: Counts, tau: Fraction) -> Counts:
    """The smallest integers z with own + z > tau (others + z)."""
    part, whole = tau.numerator, tau.denominator
    return np.asarray((part * others - whole * own) // (whole - part) + 1)


def _log_binomial(trials: int, chance: float) -> Floats:
    """Logarithms of binomial masses, for counts that are exceeded only in rare events.

    By Bernstein's inequality mean + t is, if t^2 = 2 (mean + t / 3) |_RARE|.
    """
    mean = trials * chance
    spread = -_RARE / 3 + math.sqrt(_RARE * _RARE / 9 - 2 * _RARE * mean)
    most = min(trials, math.ceil(mean + spread))
    counts = np.arange(most + 1, dtype=float)
    if chance >= 1:
        return np.where(counts == trials, 0.0, -np.inf)
    logs = log_choose(trials, counts) + counts * math.log(chance)
    return np.asarray(logs + (trials - counts) * math.log1p(-chance))


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
    """Who may join: `fewest` to `most` parties, all `corrupt` ones with them; `fewest` remain.

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
        """The confirmers with whom a recovered party of a complete graph shares a mask."""
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
def worst_energy(attendance: Attendance, units: int, chance: float) -> int | None:
    """Bounds the squared flow of `units` between any two survivors, but for probability `chance`.

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
def never_above(
    attendance: Attendance,
    kind: Literal["connection", "recovery"],
    enough: float,
    tau: Fraction | None = None,
    tries: int = 1,
) -> bool:
    """Whether a bound is shown to be at most `enough`, whoever joins.

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


def _worst(attendance: Attendance, bound: Bound) -> float:
    """An upper bound on `bound` for every number of parties whose graph is not complete.

    Close to the largest value that single numbers have, or above it where the halvings that
    are affordable do not get there.
    Infinite where nothing is shown; -infinite where every graph is complete.
    """
    if not attendance.is_random:
        return -math.inf
    low, high = attendance.fewest_sparse, attendance.most
    reached = max(map(bound, attendance.typical()))
    if reached == math.inf:
        return reached
    target = reached * _CLOSE
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
                target = max(target, value * _CLOSE)
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


_TOLERANCE: Final = float(TOLERANCE)
"""That of whoever judges the terms: what is planned must not lie in the band around it."""

_STRIDE: Final = 1.04
_WIDER: Final = 4
"""With the objective "masks", up to this many times the smallest k is tried."""


@dataclass(frozen=True, slots=True)
class NeighbourChoice:
    """A number of choices, its loss bound, and what the graph is worth, whoever joins.

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
