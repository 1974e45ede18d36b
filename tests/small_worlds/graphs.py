"""All graphs on few vertices, one of each shape, and their symmetries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from typing import TypeAlias

from gopa.contract.organiser import Coins, Roll
from gopa.contract.parameters import Roster
from gopa.graph import Graph, from_edges
from gopa.rounds.context import RoundContext
from gopa.rounds.toolkit import GraphOfRound

Edges: TypeAlias = frozenset[tuple[int, int]]
"""Pairs of parties, the smaller number first."""

Permutation: TypeAlias = tuple[int, ...]


def pair(one: int, other: int) -> tuple[int, int]:
    """An edge, named from either end."""
    return min(one, other), max(one, other)


def moved(edges: Edges, permutation: Permutation) -> Edges:
    """The same graph with other names."""
    return frozenset(pair(permutation[u], permutation[v]) for u, v in edges)


@lru_cache
def shapes(parties: int) -> tuple[Edges, ...]:
    """One graph of each isomorphism class, by number of edges."""
    every = list(combinations(range(parties), 2))
    names = list(permutations(range(parties)))
    seen: set[Edges] = set()
    found: list[Edges] = []
    for count in range(len(every) + 1):
        for chosen in combinations(every, count):
            edges = frozenset(chosen)
            if edges not in seen:
                seen |= {moved(edges, each) for each in names}
                found.append(edges)
    return tuple(found)


def is_connected(parties: int, edges: Edges) -> bool:
    """Whether every party reaches every other one."""
    reached, grown = {0}, True
    while grown:
        beside = {v for edge in edges if reached.intersection(edge) for v in edge}
        grown = not beside <= reached
        reached |= beside
    return len(reached) == parties


@lru_cache
def connected_shapes(parties: int) -> tuple[Edges, ...]:
    """One connected graph of each isomorphism class."""
    return tuple(each for each in shapes(parties) if is_connected(parties, each))


def complete(parties: int) -> Edges:
    """Everybody is everybody's neighbour."""
    return frozenset(combinations(range(parties), 2))


@lru_cache
def symmetries(parties: int, edges: Edges) -> tuple[Permutation, ...]:
    """Every renaming that leaves the graph as it is."""
    names = permutations(range(parties))
    return tuple(each for each in names if moved(edges, each) == edges)


def distinct_pairs(parties: int, edges: Edges) -> Iterator[tuple[tuple[int, int], bool]]:
    """A pair of parties of each orbit, and whether a symmetry swaps the two."""
    seen: set[tuple[int, int]] = set()
    every = symmetries(parties, edges)
    for one, other in combinations(range(parties), 2):
        if (one, other) in seen:
            continue
        images = {(each[one], each[other]) for each in every}
        seen |= {pair(*image) for image in images}
        yield (one, other), (other, one) in images


def distinct_parties(parties: int, edges: Edges) -> Iterator[int]:
    """A party of each orbit."""
    seen: set[int] = set()
    for party in range(parties):
        if party not in seen:
            seen |= {each[party] for each in symmetries(parties, edges)}
            yield party


def degrees(parties: int, edges: Edges) -> list[int]:
    """How many neighbours each party has."""
    return [sum(party in edge for edge in edges) for party in range(parties)]


def drawn_as(edges: Edges) -> GraphOfRound:
    """Instead of chance: these edges, between the numbers of parties on the roster.

    As everywhere, both ends have to be members.
    """

    def draw(  # noqa: PLR0917 - the signature of `toolkit.GraphOfRound`
        context: RoundContext,
        roll: Roll,
        roll_leaf: bytes,
        members: Sequence[int],
        coins: Coins,
        joint: bytes,
    ) -> Graph:
        del roll_leaf, coins, joint
        admission = context.manifest.admission
        assert isinstance(admission, Roster)
        places = {each.author: place for place, each in enumerate(roll.parties)}
        numbered = {
            number: places.get(key, -1) for number, key in enumerate(sorted(admission.keys))
        }
        both = [(numbered[u], numbered[v]) for u, v in sorted(edges)]
        kept = [pair(u, v) for u, v in both if u in members and v in members]
        return from_edges(len(roll.parties), kept)

    return draw
