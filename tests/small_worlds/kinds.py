"""Modes and limits of sessions, and all worlds that are acted out in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Final

from tests.small_worlds.faults import CATALOGUE, MAIN, Fault, catalogue
from tests.small_worlds.graphs import Edges, complete, connected_shapes, shapes
from tests.small_worlds.ways import covering, everybody, pairs, singles, with_a_third, worlds
from tests.small_worlds.world import World

SURVIVORS: Final = 3
"""The fewest that any session allows: so no session has fewer parties."""

WIDE: Final = 6
"""So many parties may lose two with recovery: four survive, and a mask is left to everybody."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A mode, whether self-masks can be recovered, and how strict the limits are."""

    full: bool = True
    threshold: Fraction | None = None
    strict: int = 0
    rollbacks: int = 8

    def bare(self, parties: int, edges: Edges) -> World:
        """A world in which nobody does anything wrong yet.

        With recovery no more may be lost than leaves whoever is recovered a mask after as
        many again: other terms are worth nothing.
        """
        survivors = SURVIVORS + (parties >= WIDE)
        loss = max(parties - survivors - self.strict, 0)
        if self.threshold is not None:
            loss = min(loss, survivors - 2)
        return World(
            parties=parties,
            edges=edges,
            survivors=survivors,
            loss=loss,
            full=self.full,
            threshold=self.threshold,
            rollbacks=self.rollbacks,
        )

    def faults(self, names: Sequence[str] = ()) -> list[Fault]:
        return catalogue(full=self.full, recovery=self.threshold is not None, names=names)


KINDS: Final = {
    "full": Kind(),
    "recovery": Kind(threshold=Fraction(1, 2)),
    "strict": Kind(threshold=Fraction(2, 3), strict=1, rollbacks=1),
    "signed": Kind(full=False),
}

SEVERAL: Final = {
    (3, "recovery"): (2807, 6072, 6079, 2719),
    (3, "signed"): (2389, 5027, 4893, 2204),
    (4, "full"): (4489, 8813, 10337, 3054, 6042, 1591),
    (4, "recovery"): (4882, 9552, 11271, 3306, 6590, 1741),
    (4, "strict"): (2323, 4524, 5200, 1616, 3078, 830),
    (4, "signed"): (3370, 6613, 7738, 2302, 4534, 1202),
    (5, "recovery"): (
        *(1035, 4206, 3264, 2690, 3301, 4248, 4218, 714, 4278, 1404, 4251),
        *(3335, 1374, 1404, 2359, 3370, 2697, 2731, 1404, 1408, 382),
    ),
    (6, "recovery"): (1196,),
    (5, "signed"): (
        *(732, 2966, 2312, 1892, 2331, 2987, 2974, 506, 3000, 989, 2990),
        *(2346, 976, 989, 1653, 2362, 1897, 1911, 989, 989, 264),
    ),
}
"""How many different worlds there are with several faulty parties, graph by graph."""

SINGLE: Final = {
    (5, "full"): 2805,
    (5, "recovery"): 2863,
    (5, "strict"): 2863,
    (5, "signed"): 2399,
}
"""How many there are with one faulty party at most, in all graphs."""


THIRDS: Final = (CATALOGUE["gone before publish"], CATALOGUE["no unmask"])
"""What a third party does, so that two others have an occasion."""

COVERED: Final = {"recovery": 1745, "signed": 1035}
"""How many pairs of faults can both matter in one world."""


def graphs_of(parties: int) -> tuple[Edges, ...]:
    """Of three parties all graphs, of more those that are connected, of six the complete one."""
    if parties == WIDE:
        return (complete(parties),)
    return shapes(parties) if parties == SURVIVORS else connected_shapes(parties)


def several(parties: int, kind: str, graph: int, every: int = 1) -> Iterator[World]:
    """Worlds with several faulty parties, some of them the same world.

    Of three parties any may be faulty, with any fault; of four any two. Of more any two,
    with one or two faults of each sort, and of six also a third one that is gone or does not
    unmask. Of `every` so many ways only one is taken.
    """
    bare = KINDS[kind].bare(parties, graphs_of(parties)[graph])
    faults = KINDS[kind].faults(MAIN if parties > SURVIVORS + 1 else ())
    way = everybody if parties == SURVIVORS else pairs
    ways = way(bare, faults)
    if parties == WIDE:
        ways = with_a_third(bare, ways, THIRDS)
    return worlds(bare, islice(ways, 0, None, every))


def single(parties: int, kind: str, graph: int) -> Iterator[World]:
    """Worlds with one faulty party, at any place, with any fault."""
    bare = KINDS[kind].bare(parties, graphs_of(parties)[graph])
    return worlds(bare, singles(bare, KINDS[kind].faults()))


@lru_cache
def covered(kind: str) -> tuple[World, ...]:
    """Every pair of faults once, in the graphs of four and five parties.

    A third party is gone or does not unmask where the pair needs that. What needs two
    lost neighbours besides has a world of six parties.
    """
    bares = [KINDS[kind].bare(n, edges) for n in (4, 5) for edges in graphs_of(n)]
    wide = [KINDS[kind].bare(WIDE, edges) for edges in graphs_of(WIDE)]
    return tuple(covering(bares, KINDS[kind].faults(), THIRDS, wide))
