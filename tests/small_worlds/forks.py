"""A log that forks after publish: what honest parties give away on all branches together.

An independent and very small model of sections 9 to 11 of `specs/04-protocol.md`. Every
party publishes on the common part of the log. Then the organiser and the board show each
honest party one branch of their choice; on each they close as parties let them. Corrupt
parties confirm on all branches. Whatever anybody gives away anywhere is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from tests.small_worlds.graphs import Edges, pair

Some = frozenset[int]
NOBODY: Some = frozenset()


@dataclass(frozen=True, slots=True)
class Forked:
    """Numbers of a session whose log forks. Edges with a corrupt end hide nothing."""

    parties: int
    edges: Edges
    survivors: int
    loss: int
    corrupt: Some = NOBODY
    threshold: Fraction | None = None

    @property
    def everybody(self) -> Some:
        return frozenset(range(self.parties))

    @property
    def honest(self) -> Some:
        return self.everybody - self.corrupt

    @property
    def fewest(self) -> int:
        """What a plan promises: no sum of fewer honest values becomes known."""
        return self.survivors - len(self.corrupt)

    def neighbours(self, u: int) -> Some:
        return _neighbours(self.parties, self.edges)[u]

    def lost(self, u: int, inside: Some) -> int:
        """lost_u of a list, and with the confirmed in place of it miss_u."""
        return len(self.neighbours(u) - inside)

    def needed(self, u: int) -> int:
        """T_u."""
        assert self.threshold is not None
        return int(self.threshold * len(self.neighbours(u))) + 1


@lru_cache(maxsize=4096)
def _neighbours(parties: int, edges: Edges) -> tuple[Some, ...]:
    return tuple(
        frozenset(v for v in range(parties) if pair(u, v) in edges and u != v)
        for u in range(parties)
    )


@dataclass(frozen=True, slots=True)
class Branch:
    """Who is shown it, and the list that its closes have."""

    shown: Some
    listed: Some


@dataclass(frozen=True, slots=True)
class Gained:
    """What honest parties gave away: edges, seeds, and shares as (who gave it, whose)."""

    opened: Edges = frozenset()
    seeds: Some = NOBODY
    shares: frozenset[tuple[int, int]] = frozenset()

    def __or__(self, other: Gained) -> Gained:
        return Gained(
            self.opened | other.opened, self.seeds | other.seeds, self.shares | other.shares
        )

    def __le__(self, other: Gained) -> bool:
        return (self | other) == other


@dataclass(frozen=True, slots=True)
class Rules:
    """What parties check. `of_everybody`: 04-F2 for all of the final list, not for oneself."""

    of_everybody: bool = True


RULES = Rules()
OWN_COUNT = Rules(of_everybody=False)


def follow(world: Forked, branch: Branch, rules: Rules = RULES) -> Gained:
    """What those who are shown a branch give away on it, as far as they go along."""
    listed, most = branch.listed, world.loss
    if len(listed) < world.survivors:
        return Gained()
    here = frozenset(u for u in branch.shown & listed if world.lost(u, listed) <= most)
    opened = frozenset(pair(u, v) for u in here for v in world.neighbours(u) - listed)
    confirmed = here | (world.corrupt & listed)
    if len(confirmed) < world.survivors:
        return Gained(opened)
    around = {u for u in listed if world.lost(u, confirmed) <= most}
    seeds = here & around
    if rules.of_everybody and around != listed:
        seeds = NOBODY
    missing = (world.honest & around) - seeds if world.threshold is not None else NOBODY
    shares = frozenset((w, u) for u in missing for w in world.neighbours(u) & seeds)
    return Gained(opened, seeds, shares)


def bare(world: Forked, gained: Gained) -> Some:
    """The honest parties whose self-masks are known."""
    if world.threshold is None:
        return gained.seeds
    held = {
        u: len({w for w, dealer in gained.shares if dealer == u})
        + len(world.neighbours(u) & world.corrupt)
        for u in {dealer for _, dealer in gained.shares}
    }
    return gained.seeds | {u for u, number in held.items() if number >= world.needed(u)}


def known_sums(world: Forked, gained: Gained) -> list[Some]:
    """The smallest sets of honest parties whose sum of x + eta is known.

    These are the sets, joined by masks that are not known, in which all self-masks are.
    """
    open_to_all, honest = bare(world, gained), world.honest
    hidden = {edge for edge in world.edges - gained.opened if honest.issuperset(edge)}
    found, left = [], set(open_to_all)
    while left:
        group, grown = {left.pop()}, True
        while grown:
            beside = {v for edge in hidden if group.intersection(edge) for v in edge}
            grown = not beside <= group
            group |= beside
        left -= group
        if group <= open_to_all:
            found.append(frozenset(group))
    return found


def branches(world: Forked, rules: Rules = RULES) -> Iterator[tuple[Some, Gained]]:
    """All that a branch can give, for each set of honest parties that go along with it.

    Only what no other list for the same parties gives as well, and more.
    """
    for shown in subsets(world.honest):
        best: list[Gained] = []
        for rest in subsets(world.everybody - shown):
            listed = shown | rest
            if shown and all(world.lost(u, listed) <= world.loss for u in shown):
                gained = follow(world, Branch(shown, listed), rules)
                if not any(gained <= other for other in best):
                    best = [other for other in best if not other <= gained] + [gained]
        yield from ((shown, gained) for gained in best if gained != Gained())


def forks(world: Forked, rules: Rules = RULES, most: int = 3) -> Iterator[Gained]:
    """All that up to so many branches can give together, if somebody unmasks on the first."""
    every = list(branches(world, rules))
    for shown, gained in every:
        if gained.seeds:
            yield from _beside(every, world.honest - shown, gained, most - 1)


def _beside(
    every: list[tuple[Some, Gained]], left: Some, gained: Gained, more: int
) -> Iterator[Gained]:
    yield gained
    if more:
        fits = [each for each in every if each[0] <= left]
        for number, (shown, there) in enumerate(fits):
            if not there <= gained:
                yield from _beside(fits[number + 1 :], left - shown, gained | there, more - 1)


def holes(world: Forked, rules: Rules = RULES, most: int = 3) -> Iterator[Some]:
    """Sums of fewer values than the plan promises, that a fork makes known."""
    for gained in forks(world, rules, most):
        for group in known_sums(world, gained):
            if len(group) < world.fewest:
                yield group


def is_planned(world: Forked) -> bool:
    """Whether the graph has what 03-V23 asks: no allowed removal cuts it.

    With recovery also that corrupt neighbours alone do not reach a threshold.
    """
    gone = world.parties - world.survivors
    for number in range(min(gone, len(world.honest)) + 1):
        for removed in combinations(sorted(world.honest), number):
            left = world.honest.difference(removed)
            few = all(len(world.neighbours(u).intersection(removed)) <= world.loss for u in left)
            if few and not _joined(world, left):
                return False
    return world.threshold is None or all(
        len(world.neighbours(u) & world.corrupt)
        <= world.threshold * (len(world.neighbours(u)) - world.loss)
        for u in world.honest
    )


def has_spare_edges(world: Forked) -> bool:
    """What a plan with recovery grants besides: more than 2 r honest neighbours for each."""
    honest = world.honest
    return all(len(world.neighbours(u) & honest) > 2 * world.loss for u in honest)


def _joined(world: Forked, left: Some) -> bool:
    reached, edge = set(sorted(left)[:1]), set(sorted(left)[:1])
    while edge:
        edge = {v for u in edge for v in world.neighbours(u) & left} - reached
        reached |= edge
    return reached == left


def subsets(whole: Iterable[int]) -> Iterator[Some]:
    """Every part, small ones first."""
    items = sorted(whole)
    for number in range(len(items) + 1):
        yield from map(frozenset, combinations(items, number))
