"""How likely a random k-out graph is to be worse than a plan assumes, rounded upwards.

All bounds are analytic union bounds over the parties' own independent choices, for a
corrupt set fixed before the choices, and hold for every exclusion of honest parties,
chosen after seeing the graph, that costs no survivor more than `loss` neighbours.
Specification: `specs/03-privacy.md`, section 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from gopa.graph.flows import flow_levels
from gopa.support.arrays import Floats
from wire.errors import UsageError

MOST_CHOICES: Final = 2_000
"""More take too long to account for, and who receives terms has to."""

_MOST_SINGLE: Final = 128
_RUNS: Final = 64
"""More numbers of own choices than that are looked at in so many runs."""

_RARE: Final = -700.0
"""Events of a smaller log-probability are not looked into but counted as failures."""

_MOST_SIZES: Final = 512
"""Larger unions are looked at in runs."""

_MOST_STEPS: Final = 16
_LESS: Final = 1 - 1e-9
"""A step has to be cheaper by more than rounding is: of equals everybody takes the first."""

_HEADROOM: Final = 620.0
"""Logarithm by which masses are raised before they are summed, to keep the smallest of them."""

_UNDERFLOW: Final = 1e-300
"""No probability is rounded down to 0."""


@dataclass(frozen=True, slots=True)
class Population:
    """n parties, `honest` of them honest, with k choices each and at most `loss` lost.

    `gone` bounds how many honest parties are missing altogether. Of those, up to `absent`
    may not even have joined: then every bound holds for each number of parties from
    n - absent to n, because each of its terms is taken at the end of that range at
    which it is largest. A party whose self-mask others recover may have opened up to
    `opened` of its edges itself: it needs more than loss + opened honest neighbours.
    """

    parties: int
    honest: int
    k: int
    loss: int = 0
    gone: int = 0
    absent: int = 0
    opened: int = 0

    def __post_init__(self) -> None:
        if not 2 <= self.honest <= self.parties:
            raise UsageError("at least two parties must be honest", "honest")
        if not 1 <= self.k < self.parties - self.absent:
            raise UsageError("k is at least 1 and less than the number of parties", "k")
        if not (self.loss >= 0 and 0 <= self.gone < self.honest):
            raise UsageError("losses are not negative and somebody remains", "loss")
        if self.opened < 0:
            raise UsageError("a number of edges is not negative", "opened")
        if not (0 <= self.absent <= self.gone and 2 * self.absent < self.honest):
            raise UsageError("absent parties are gone, and fewer than half of the honest", "absent")

    @property
    def corrupt(self) -> int:
        """Parties that do not follow the rules; all of them have joined."""
        return self.parties - self.honest

    @property
    def fewest(self) -> int:
        """Honest parties that have joined for certain."""
        return self.honest - self.absent

    @property
    def fewest_others(self) -> int:
        """What a party chooses among, at least; at most it is n - 1."""
        return self.parties - 1 - self.absent

    @property
    def slack(self) -> float:
        """Rounding of a sum of a dozen logarithms of binomials, none of them multiplied."""
        return log_slack(self.parties, 40)


def degree_tail(population: Population, most: int) -> float:
    """P(one honest party has at most `most` honest neighbours), rounded upwards.

    Honest parties it chose are hypergeometric; each other honest party chose it
    independently with probability k / (n - 1). Fewer parties to choose from make corrupt
    choices likelier, more parties make it rarer to be chosen.
    """
    others, k = population.fewest_others, population.k
    honest = population.fewest - 1
    chance = k / (population.parties - 1)
    if k > MOST_CHOICES:
        return 1.0  # it would take minutes to show more
    chosen = np.arange(min(k, honest, most) + 1, dtype=float)
    outgoing = (
        log_choose(honest, chosen) + log_choose(others - honest, k - chosen) - log_choose(others, k)
    )
    rare = np.isfinite(outgoing) & (outgoing <= _RARE)
    logs = [np.full(1, math.log(k + 1) + _RARE if rare.any() else -math.inf)]
    numbers = np.flatnonzero(outgoing > _RARE)
    if len(numbers):
        logs.append(outgoing[numbers] + _log_incoming(numbers, honest, chance, most))
    return math.exp(min(0.0, float(log_sum(np.concatenate(logs))) + population.slack))


def _log_incoming(numbers: Positions, honest: int, chance: float, most: int) -> Floats:
    """ln P(at most `most` less own choices others chose the party), for each number.

    Exact up to rounding. In a run of numbers the last one leaves the fewest others to be chosen
    by, so it may stand for all.
    """
    rows = _runs(len(numbers))
    last = numbers[np.append(np.flatnonzero(np.diff(rows)), len(numbers) - 1)]
    trials = honest - last
    points = np.minimum(most - numbers, trials[rows])
    if chance >= 1:
        return np.where(points >= trials[rows], 0.0, -np.inf)
    return _log_binomial_cdf(trials, chance, rows, points)


def _runs(count: int) -> Positions:
    """The run to which each place belongs, by its number; a run is one place if there are few.

    Otherwise runs are as equal as possible, the longer ones first.
    """
    runs = count if count <= _MOST_SINGLE else _RUNS
    size, longer = divmod(count, runs)
    return np.repeat(np.arange(runs), size + (np.arange(runs) < longer))


def _log_binomial_cdf(
    trials: Positions, chance: float, rows: Positions, points: Positions
) -> Floats:
    """ln P(Binomial(trials[rows], chance) <= points), from one matrix of masses.

    Masses are taken relative to the largest of their row, so far above what a float holds least
    that what is raised to `_UNDERFLOW` has a log-probability far below `_RARE`.
    """
    width, top = int(points.max()) + 1, int(trials.max())
    counts = np.arange(width, dtype=float)
    left = top - np.arange(top - int(trials.min()) + width, dtype=float)
    factorials = np.where(left < 0, np.inf, gammaln(np.maximum(left, 0.0) + 1))
    chosen = np.lib.stride_tricks.sliding_window_view(factorials, width)[top - trials]
    odds = math.log(chance) - math.log1p(-chance)
    logs = counts * odds - gammaln(counts + 1) - chosen
    largest = logs.max(axis=1)
    logs += (_HEADROOM - largest)[:, None]
    below = np.cumsum(np.exp(logs, out=logs), axis=1)[rows, points]
    scale = gammaln(trials + 1.0) + trials * math.log1p(-chance) + largest - _HEADROOM
    return np.asarray(np.minimum(np.log(np.maximum(below, _UNDERFLOW)) + scale[rows], 0.0))


@lru_cache(maxsize=4096)
def disconnected(population: Population) -> float:
    """A bound on P(some allowed exclusion disconnects the honest survivors).

    If it does, some set A of at most half of the honest parties has no member with more
    than `loss` honest neighbours outside A, or, for a party whose self-mask others recover,
    that party has not more than loss + opened. Size 1 is the exact tail of a degree; larger
    sizes use the members' choices, the edges that cross, or the gap between the two sides.
    """
    single = population.honest * degree_tail(population, population.loss + population.opened)
    most = population.honest // 2
    sizes = np.arange(2, min(most, _MOST_SIZES) + 1, dtype=float)
    if not len(sizes):
        return min(1.0, single)
    logs = np.append(_log_bad_sets(population, sizes), _log_bad_runs(population, most))
    larger = float(log_sum(logs))
    return min(1.0, single + math.exp(min(larger + population.slack, 0.0)) + _UNDERFLOW)


def runs_of_sizes(most: int) -> list[tuple[int, int]]:
    """The first and last size of each run of those above `_MOST_SIZES`, up to `most`.

    A run that begins with a ends with a + floor(a / 64).
    """
    runs, first = [], _MOST_SIZES + 1
    while first <= most:
        runs.append((first, min(most, first + first // 64)))
        first = runs[-1][1] + 1
    return runs


def _log_bad_runs(population: Population, most: int) -> Floats:
    """The number of each run of large sizes, times a bound that holds for each of them.

    Edges that cross: more ways to choose the set at the last size, fewer pairs at the
    first, and the larger share of them that may be missing at the last.
    """
    runs = np.array(runs_of_sizes(most), dtype=float).reshape(-1, 2)
    first, last = runs[:, 0], runs[:, 1]
    share = population.k / (population.parties - 1)
    allowed = population.loss / (population.fewest - last)
    # A product that is concave in the size: smallest at one of the ends.
    pairs = np.minimum(first * (population.fewest - first), last * (population.fewest - last))
    chance = np.full_like(first, 1 - (1 - share) ** 2)
    tail = log_binomial_at_most(pairs, chance, allowed * pairs)
    return np.asarray(log_choose(population.honest, last) + tail + np.log(last - first + 1))


def _log_bad_sets(population: Population, sizes: Floats) -> Floats:
    """The smallest of three union bounds for each size; each holds for every exclusion.

    The first is the dearest: it is evaluated only where the others do not settle it. No
    size counts for less than what is not looked into.
    """
    crossing = _log_few_crossing_edges(population, sizes)
    found = np.minimum(crossing, _log_nothing_between(population, sizes))
    open_ = np.flatnonzero(found > _RARE)
    if len(open_):
        with_few = _log_few_neighbours_each(population, sizes[open_])
        found[open_] = np.minimum(found[open_], with_few)
    return np.maximum(found, _RARE)


def _log_few_neighbours_each(population: Population, sizes: Floats) -> Floats:
    """Every member chose at most `loss` outsiders, and few outsiders chose members."""
    others, k, loss = population.parties - 1, population.k, population.loss
    outside = population.fewest - sizes
    own = log_at_most(population.fewest_others, outside, k, loss)
    own += log_slack(population.parties, 12)
    if loss:
        foreign = log_binomial_at_most(k * outside, sizes / others, loss * sizes)
    else:
        foreign = outside * log_avoiding(others, sizes, k)
    return log_choose(population.honest, sizes) + sizes * own + foreign


def _log_few_crossing_edges(population: Population, sizes: Floats) -> Floats:
    """A bound for few crossing edges per member: edges are negatively associated."""
    share = population.k / (population.parties - 1)
    pairs = sizes * (population.fewest - sizes)
    chance = np.full_like(sizes, 1 - (1 - share) ** 2)
    tail = log_binomial_at_most(pairs, chance, population.loss * sizes)
    return log_choose(population.honest, sizes) + tail


def _log_nothing_between(population: Population, sizes: Floats) -> Floats:
    """No edge joins the set to what is left when the missing parties are gone."""
    rest = np.maximum(sizes, population.honest - population.gone - sizes)
    ways = log_choose(population.honest, sizes) + log_choose(population.honest - sizes, rest)
    others, k = population.parties - 1, population.k
    own = sizes * log_avoiding(others, rest, k)
    return ways + own + rest * log_avoiding(others, sizes, k)


def neighbourhood(population: Population, size: int, chance: float) -> int:
    """Finds a number of outer neighbours that no set of `size` honest parties falls below.

    Except with probability `chance`, every such set has at least that many honest
    neighbours outside itself.
    """
    if size == 1:
        return _smallest_degree(population, chance)
    budget = math.log(chance) - population.slack
    low, high = -1, population.fewest - size
    while high - low > 1:
        middle = (low + high) // 2
        if _log_confined(population, size, middle) <= budget:
            low = middle
        else:
            high = middle
    return low + 1


def _smallest_degree(population: Population, chance: float) -> int:
    low, high = -1, min(population.fewest, 2 * population.k)  # no mean degree is larger
    while high - low > 1:
        middle = (low + high) // 2
        if population.honest * degree_tail(population, middle) <= chance:
            low = middle
        else:
            high = middle
    return low + 1


def _log_confined(population: Population, size: int, width: int) -> float:
    """Log of a bound on the chance that some set keeps its outer neighbours within `width`."""
    others, k = population.parties - 1, population.k
    rest = population.fewest - size - width
    own = log_avoiding(population.fewest_others, rest, k)
    foreign = log_avoiding(others, size, k)
    ways = _choose(population.honest, size) + _choose(population.honest - size, width)
    return float(ways + size * own + rest * foreign)


def _choose(total: int, part: int) -> float:
    """`log_choose` of two integers; arrays of one element take ten times as long."""
    if not 0 <= part <= total:
        return -math.inf
    return math.lgamma(total + 1) - math.lgamma(part + 1) - math.lgamma(total - part + 1)


@dataclass(frozen=True, slots=True)
class FlowBound:
    """A bound on the sum of squares of m units that flow between any two survivors: `energy`.

    `drop` is the potential difference behind it, `failure` the probability that the
    graph is one of those for which this is not shown.
    """

    units: int
    drop: int
    failure: float

    @property
    def energy(self) -> int:
        """Bound on the sum over edges of the squared integral flow."""
        return self.units * self.drop


def flow_bound(population: Population, units: int, chance: float) -> FlowBound | None:
    """A bound on the integral flow between the worst two survivors; None if growth stalls.

    Level sets of an optimal potential grow like neighbourhoods in the graph, minus the
    edges that carry flow, minus the lost neighbours; once both ends reach more than half
    of the survivors they meet. The first of them may be a party whose self-mask others
    recover: it stays outside the sets that grow from its neighbours.
    """
    growth = _Growth(population, units, chance / 2, chance / (2 * _MOST_STEPS))
    drop = growth.cheapest(1, _MOST_STEPS)
    return None if drop is None else FlowBound(units, 2 * drop, chance)


class _Growth:
    """The cheapest way for a level set to grow from one party to more than half."""

    def __init__(self, population: Population, units: int, first: float, later: float) -> None:
        self._population = population
        self._units = units
        self._chances = (first, later)

    def cheapest(self, size: int, steps: int) -> int | None:
        """The smallest total drop of potential found from sets of this size, greedily wide."""
        drop = 0
        while 2 * size <= self._population.honest:
            if steps == 0:
                return None
            step = self._step(size)
            if step is None:
                return None
            cost, size = step
            drop += cost
            steps -= 1
        return drop

    def _step(self, size: int) -> tuple[int, int] | None:
        """Cost and next size: the smallest drop among those that grow the set well.

        Edges that carry more than i units are at most units / (i + 1), and all others
        drop the potential by at most 2 i + 1.
        """
        population = self._population
        fresh = self._fresh(size) - min(population.loss * size, population.gone)
        start = size
        if size == 1 and population.opened:
            start, fresh = 0, fresh - population.opened
        best: tuple[float, int, int] | None = None
        for level in flow_levels(self._units):
            grown = start + fresh - self._units // (level + 1)
            if grown <= size:
                continue
            cost = 2 * level + 1
            reached = min(grown, population.honest // 2 + 1)
            rate = cost / math.log(reached / size)
            if best is None or rate < best[0] * _LESS:
                best = (rate, cost, grown)
            if population.honest < 2 * grown:
                break
        return None if best is None else best[1:]

    def _fresh(self, size: int) -> int:
        chance = self._chances[0] if size == 1 else self._chances[1]
        return neighbourhood(self._population, size, chance)


Positions: TypeAlias = npt.NDArray[np.int64]

ROUNDING: Final = 1e-14
"""Relative error granted to gammaln, several times its documented error."""

_MOST_TERMS: Final = 500_000
_MOST_COUNTS: Final = 500_000
_ALMOST_ALL: Final = 0.999
"""A larger chance is taken as this one, whose complement a float still holds well."""


def log_choose(total: Floats | int, part: Floats | int) -> Floats:
    """The logarithm of the number of ways to choose `part` of `total`; -inf for none.

    Rounded to nearest; callers add `log_slack` to what they build from it.
    """
    total_array = np.asarray(total, dtype=float)
    part_array = np.asarray(part, dtype=float)
    possible = (part_array >= 0) & (part_array <= total_array)
    safe_total = np.maximum(total_array, 0.0)
    safe_part = np.clip(part_array, 0.0, safe_total)
    value = gammaln(safe_total + 1) - gammaln(safe_part + 1) - gammaln(safe_total - safe_part + 1)
    return np.where(possible, value, -np.inf)


def log_avoiding(total: int, avoided: Floats | int, draws: int) -> Floats:
    """A bound on ln(C(total - avoided, draws) / C(total, draws)): all draws miss the avoided.

    A sum of logarithms of one sign has a small *relative* error, so the result may be
    multiplied by any number of parties and stays an upper bound; a difference of
    factorials may not. Long sums are replaced by their value at the mean, which is
    larger because ln(1 - a/x) is concave in x. At least -1e300, so that products with 0
    are 0.
    """
    missed = np.asarray(avoided, dtype=float)[..., None]
    if missed.size * draws <= _MOST_TERMS:
        left = total - np.arange(draws, dtype=float)
    else:
        left = np.array([total - (draws - 1) / 2])
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.minimum(missed / left, 1.0)).sum(axis=-1) * (draws / len(left))
    possible = missed[..., 0] <= total - draws
    return np.maximum(np.where(possible, logs * (1 - 1e-9), -np.inf), -1e300)


def log_slack(largest: int, terms: int) -> float:
    """A bound on the rounding of `terms` logarithms of factorials of numbers up to `largest`."""
    return float(terms * ROUNDING * (1 + gammaln(largest + 2.0)))


def log_sum(logs: Floats, axis: int = -1) -> Floats:
    """The logarithm of a sum of exponentials; -inf for an empty or impossible sum."""
    top = np.max(logs, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(logs - safe), axis=axis)) + np.squeeze(safe, axis=axis)
    return np.asarray(total)


def log_at_most(population: int, marked: Floats | int, draws: int, most: int) -> Floats:
    """ln P(at most `most` marked items among `draws` taken without replacement).

    Exact up to rounding; of too many cases together an upper bound, by Chernoff.
    """
    counts = np.arange(min(most, draws) + 1, dtype=float)
    if np.size(marked) * len(counts) > _MOST_COUNTS:
        chance = np.minimum(np.asarray(marked, dtype=float) / population, _ALMOST_ALL)
        sizes = np.full_like(chance, float(draws))
        return log_binomial_at_most(sizes, chance, np.full_like(chance, float(most)))
    marked_column = np.asarray(marked, dtype=float)[..., None]
    logs = (
        log_choose(marked_column, counts)
        + log_choose(population - marked_column, draws - counts)
        - log_choose(population, draws)
    )
    return np.minimum(log_sum(logs), 0.0)


def log_binomial_at_most(trials: Floats, chance: Floats, most: Floats) -> Floats:
    """A bound on ln P(Binomial <= most): exp(-trials KL), and 0 past the mean.

    It also bounds sums of hypergeometric counts with the same draws and chances, whose
    moment generating function is smaller (Hoeffding 1963, theorem 4).
    """
    share = np.clip(most / trials, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(share > 0, share * np.log(share / chance), 0.0)
        rest = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chance)), 0.0)
    divergence = np.maximum(first + rest - 1e-12, 0.0)
    return np.where(share < chance, -trials * divergence, 0.0)
