"""That the worlds are as many as they are said to be: none can go missing unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest

from gopa.contract.party import About
from gopa.contract.phases import Phase
from tests.small_worlds.faults import CATALOGUE, MAIN, ORDER, REPLAYS, Fault
from tests.small_worlds.graphs import Permutation, symmetries
from tests.small_worlds.kinds import (
    COVERED,
    KINDS,
    SEVERAL,
    SINGLE,
    SURVIVORS,
    THIRDS,
    WIDE,
    covered,
    graphs_of,
    several,
    single,
)
from tests.small_worlds.play import play, terms_of
from tests.small_worlds.ways import Different, everybody, pairs, singles
from tests.small_worlds.world import World
from wire.errors import UsageError

EVERY = {3: 2999, 4: 499}


def sizes_of_cycles(permutation: Permutation) -> list[int]:
    left, sizes = set(range(len(permutation))), []
    while left:
        start = left.pop()
        size, at = 1, permutation[start]
        while at != start:
            left.discard(at)
            size, at = size + 1, permutation[at]
        sizes.append(size)
    return sizes


def orbits(bare: World, faults: int, faulty: int) -> int:
    """Ways to give so many parties a fault each, up to symmetry: Burnside's lemma.

    A symmetry leaves alone what is the same along each of its cycles.
    """
    every = symmetries(bare.parties, bare.edges)
    fixed = 0
    for permutation in every:
        sizes = sizes_of_cycles(permutation)
        for count in range(len(sizes) + 1):
            chosen = [each for each in combinations(sizes, count) if sum(each) == faulty]
            fixed += len(chosen) * faults**count
    return fixed // len(every)


def bares(kind: str, *parties: int) -> list[World]:
    return [KINDS[kind].bare(n, edges) for n in parties for edges in graphs_of(n)]


def size(ways: Iterable[Any]) -> int:
    return sum(1 for _ in ways)


@pytest.mark.parametrize("parties", [1, 2])
def test_no_session_is_smaller_than_three(parties: int) -> None:
    """So three parties are all that n <= 3 comes to, and whoever is gone ends the round."""
    assert terms_of(SURVIVORS, SURVIVORS, 0, None).parties == SURVIVORS
    for survivors in range(parties + 1):
        with pytest.raises(UsageError):
            terms_of(parties, survivors, 0, None)
    with pytest.raises(UsageError):
        terms_of(SURVIVORS, SURVIVORS - 1, 0, None)


def test_faults_are_of_all_sorts() -> None:
    """Leaving at every phase; refusals; lies; repetitions, in all phases."""
    faults = CATALOGUE.values()
    assert {each.silent_from for each in faults} - {None} == {*ORDER, Phase.ACCUSE}
    assert {each.echo for each in faults} - {None} == set(ORDER)
    assert {each.twice for each in faults} - {None} == set(ORDER)
    assert {each.wrong for each in faults} - {None} == set(ORDER)
    assert {each.replays for each in REPLAYS} == set(ORDER[:-1])
    refused = {Phase.COMMIT, Phase.PUBLISH, Phase.ROLLBACK, Phase.CONFIRM, Phase.UNMASK}
    assert {each.absent for each in faults} - {None} == refused
    told = {(each.accuses, each.proved) for each in faults if each.accuses is not None}
    assert told == {(about, proved) for about in About for proved in (True, False)}
    sorts = ("edge", "share", "tells", "spoils", "behind")
    assert all(any(getattr(each, sort) for each in faults) for sort in sorts)
    convicting = {each.rule for each in faults} - {""}
    expected = ["J2", "J3", "V1", "K1", "K3", "P1", "P2", "O1", "O2", "S4", "U1", "U3"]
    assert convicting == {f"04-{rule}" for rule in expected}


def test_numbers_of_faults() -> None:
    counts = {name: len(kind.faults()) for name, kind in KINDS.items()}
    assert counts == {"full": 57, "recovery": 59, "strict": 59, "signed": 48}
    assert (len(CATALOGUE), len(MAIN), len(REPLAYS)) == (59, 25, 7)


@pytest.mark.parametrize("kind", ["recovery", "signed"])
def test_enumerations_leave_nothing_out(kind: str) -> None:
    faults = KINDS[kind].faults()
    for bare in bares(kind, 4, 5):
        assert size(singles(bare, faults)) == orbits(bare, len(faults), 1)
        assert size(pairs(bare, faults)) == orbits(bare, len(faults), 2)
    for bare in bares(kind, 3):
        some: list[Fault] = [each for each in faults if each.echo is None][::4]
        most = bare.parties + 1
        every = sum(orbits(bare, len(some), faulty) for faulty in range(most))
        assert size(everybody(bare, some)) == every


@pytest.mark.soak
@pytest.mark.parametrize("kind", COVERED)
def test_numbers_of_pairs_of_faults(kind: str) -> None:
    """As many pairs have a world as can meet in one, and no world is there twice."""
    assert len(covered(kind)) == COVERED[kind]
    assert size(Different().among(covered(kind))) == COVERED[kind]
    parties = Counter(world.parties for world in covered(kind))
    graphs = {(world.parties, world.edges) for world in covered(kind)}
    assert parties.keys() == ({4, 5, WIDE} if kind == "recovery" else {4, 5})
    assert len(graphs) == sum(len(graphs_of(n)) for n in parties)


@pytest.mark.soak
def test_pairs_that_need_two_lost_neighbours_have_wide_worlds() -> None:
    """Somebody fails at coins and another one leaves: then a third one owes an opening."""
    wide = [world for world in covered("recovery") if world.parties == WIDE]
    assert {world.loss for world in wide} == {2}
    met = {frozenset(fault.name for fault in world.faults.values()) for world in wide}
    coins = ("wrong nonce", "two of coins", "echo of coins", "unreadable coins")
    owing = ("wrong opening", "two of rollback", "echo of rollback", "unreadable rollback")
    assert met >= {frozenset({one, other, THIRDS[0].name}) for one in coins for other in owing}


@pytest.mark.thirds(9)
@pytest.mark.parametrize(("parties", "kind"), [each for each in SEVERAL if each[0] > SURVIVORS])
def test_numbers_of_worlds_of_several_faulty_parties(parties: int, kind: str) -> None:
    counts = [
        size(Different().among(several(parties, kind, graph)))
        for graph in range(len(graphs_of(parties)))
    ]
    assert counts == list(SEVERAL[parties, kind])


@pytest.mark.soak
def test_number_of_worlds_in_which_everybody_may_be_faulty() -> None:
    """Another test counts the other graphs and kinds."""
    assert size(Different().among(several(3, "recovery", 3))) == SEVERAL[3, "recovery"][3]


@pytest.mark.parametrize(("parties", "kind"), SINGLE)
def test_numbers_of_worlds_of_one_faulty_party(parties: int, kind: str) -> None:
    graphs = range(len(graphs_of(parties)))
    count = sum(size(Different().among(single(parties, kind, graph))) for graph in graphs)
    assert count == SINGLE[parties, kind]


@pytest.mark.thirds
@pytest.mark.parametrize(("parties", "kind"), [(3, "recovery"), (4, "strict"), (4, "signed")])
def test_faults_without_occasion_change_nothing(parties: int, kind: str) -> None:
    """Byte for byte: so the world without them is enough."""
    different, compared = Different(), 0
    for world in several(parties, kind, 2, EVERY[parties]):
        shorter = different.reduced(world)
        if len(shorter.faults) < len(world.faults):
            logs = [list(play(each).simulation.log().entries()) for each in (world, shorter)]
            assert logs[0] == logs[1]
            compared += 1
    assert compared > 3
