"""Which worlds there are: every way to place faults, and which of these differ.

A world in which a fault has no occasion is, byte for byte, the one without this fault:
behaviours change nothing but posts of their own party. So a world is acted out only if
every one of its faults has an occasion in the world without it, as the model tells; what
the model says of who speaks is held against every world that is acted out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, islice, product
from typing import Final, TypeAlias

from gopa.contract.phases import Phase
from tests.small_worlds.faults import Fault
from tests.small_worlds.graphs import Edges, distinct_pairs, distinct_parties, symmetries
from tests.small_worlds.model import predict
from tests.small_worlds.world import World, with_faults, without

Assigned: TypeAlias = Mapping[int, Fault]
Name: TypeAlias = tuple[int, Edges, tuple[tuple[int, str, int], ...]]


TRIED: Final = 24
"""Places at which a pair of faults is tried."""


def singles(bare: World, faults: Sequence[Fault]) -> Iterator[Assigned]:
    """One faulty party, at every place that no symmetry makes another's."""
    for party in distinct_parties(bare.parties, bare.edges):
        for fault in faults:
            yield {party: fault}


def pairs(bare: World, faults: Sequence[Fault]) -> Iterator[Assigned]:
    """Two faulty parties, at all places that no symmetry makes others'."""
    for (one, other), swapped in distinct_pairs(bare.parties, bare.edges):
        both = combinations_with_replacement(faults, 2) if swapped else product(faults, repeat=2)
        for first, second in both:
            yield {one: first, other: second}


def everybody(bare: World, faults: Sequence[Fault]) -> Iterator[Assigned]:
    """Every set of faulty parties with every fault each, up to symmetry.

    Somebody honest is left for those who repeat what others say.
    """
    every = symmetries(bare.parties, bare.edges)
    for chosen in product(range(-1, len(faults)), repeat=bare.parties):
        if any(tuple(chosen[u] for u in each) < chosen for each in every):
            continue
        assigned = {u: faults[n] for u, n in enumerate(chosen) if n >= 0}
        if len(assigned) < bare.parties or not any(each.echo for each in assigned.values()):
            yield assigned


def worlds(bare: World, ways: Iterable[Assigned]) -> Iterator[World]:
    """Faults about somebody honest and, where that is another world, about a liar."""
    for assigned in ways:
        yield with_faults(bare, assigned)
        if len(assigned) > 1 and any(each.is_about_another for each in assigned.values()):
            yield with_faults(bare, assigned, towards_liars=True)


@dataclass(slots=True)
class Different:
    """Remembers which worlds there were, all in one mode."""

    _seen: set[Name] = field(default_factory=set)
    _spoke: dict[Name, Mapping[int, frozenset[Phase]]] = field(default_factory=dict)

    def among(self, every: Iterable[World]) -> Iterator[World]:
        """Each world once, with no fault that has no occasion."""
        for world in every:
            shorter = self.reduced(world)
            name = named(shorter)
            if name not in self._seen:
                self._seen.add(name)
                yield shorter

    def reduced(self, world: World) -> World:
        """The same world without faults that have no occasion."""
        for party, fault in world.faults.items():
            fewer = without(world, party)
            if not fault.phases & self._phases(fewer)[party]:
                return self.reduced(fewer)
        return world

    def is_reduced(self, world: World) -> bool:
        """Whether every fault has an occasion."""
        return self.reduced(world) is world

    def _phases(self, world: World) -> Mapping[int, frozenset[Phase]]:
        name = named(world)
        if name not in self._spoke:
            outcome = predict(world)
            self._spoke[name] = {u: outcome.phases_of(u) for u in range(world.parties)}
        return self._spoke[name]


def named(world: World) -> Name:
    """Two worlds of one mode with the same name are the same."""
    faults = tuple(
        (party, fault.name, world.about[party] if fault.is_about_another else -1)
        for party, fault in sorted(world.faults.items(), key=lambda item: item[0])
    )
    return world.parties, world.edges, faults


def with_a_third(
    bare: World, ways: Iterable[Assigned], others: Sequence[Fault]
) -> Iterator[Assigned]:
    """Each way as it is, and with a third party that does one of `others`."""
    for assigned in ways:
        for third in (None, *others):
            yield _and_a_third(bare, assigned, third)


def covering(
    bares: Sequence[World],
    faults: Sequence[Fault],
    others: Sequence[Fault],
    wide: Sequence[World] = (),
) -> Iterator[World]:
    """All pairs of faults that can both matter in one world, each in one: graphs take turns.

    Where nobody else's fault gives both an occasion, a third party has one of `others`; where
    that is not enough either, the world is a `wide` one.
    """
    places, last = _places(bares), _places(wide)
    different = Different()
    for number, chosen in enumerate(combinations_with_replacement(faults, 2)):
        turn = number % len(places)
        beside = [*places[turn:], *places[:turn]][:TRIED]
        found = (
            world
            for tried in (beside, last)
            for third in (None, *others)
            for bare, both in tried
            for assigned in (dict(zip(both, chosen, strict=True)),)
            for world in worlds(bare, [_and_a_third(bare, assigned, third)])
            if different.is_reduced(world)
        )
        yield from islice(found, 1)


def _places(bares: Sequence[World]) -> list[tuple[World, tuple[int, int]]]:
    """Where two parties can be, up to symmetry."""
    return [(bare, both) for bare in bares for both, _ in distinct_pairs(bare.parties, bare.edges)]


def _and_a_third(bare: World, assigned: Assigned, third: Fault | None) -> Assigned:
    if third is None:
        return assigned
    return {**assigned, max(set(range(bare.parties)) - assigned.keys()): third}
