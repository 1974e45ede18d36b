"""Graphs, losses and peeling against loops that follow the text word by word."""

from __future__ import annotations

import hashlib
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import ristretto255
from gopa.contract.beacon.coins import graph_seed, seed_of_choices
from gopa.contract.manifest import CommitReveal, DrandBeacon
from gopa.contract.organiser import Coins, Roll, RollEntry, pack_members
from gopa.graph import Graph, chosen_by, from_edges
from gopa.rounds.context import RoundContext
from gopa.rounds.toolkit import Toolkit, graph_of_round, losses, peel
from tests.contract.samples import manifest as manifest_over
from tests.contract.samples import manifests, terms
from tests.pace import examples

LEAF = b"\x41" * 32
JOINT = b"\x42" * 32
Edges = set[tuple[int, int]]


def context(k: int, *, reveals: bool, number: int = 1) -> RoundContext:
    agreed = terms(parties=12, survivors=3, k=k)
    made = manifest_over(agreed, beacon=CommitReveal()) if reveals else manifest_over(agreed)
    return RoundContext(made, made.session, number, ristretto255())


def roll_of(parties: int) -> Roll:
    enrolled = RollEntry(bytes(32), bytes(32), bytes(32))
    return Roll((enrolled,) * parties, 0)


def nonce(party: int) -> bytes:
    return hashlib.sha256(b"nonce %d" % party).digest()


def coins_of(members: list[int], parties: int, *, reveals: bool) -> Coins:
    nonces = tuple(map(nonce, members)) if reveals else ()
    return Coins(pack_members(members, parties), nonces, b"", b"")


def drawn(at: RoundContext, parties: int, members: list[int]) -> Graph:
    reveals = isinstance(at.manifest.beacon, CommitReveal)
    coins = coins_of(members, parties, reveals=reveals)
    return graph_of_round(at, roll_of(parties), LEAF, members, coins, JOINT)


def edges_of(graph: Graph) -> Edges:
    low, high = graph.edges()
    return set(zip(low.tolist(), high.tolist(), strict=True))


def naive_revealed(at: RoundContext, parties: int, members: list[int]) -> Edges:
    """04-V2: every member chooses over the whole roll; both ends have to be members."""
    found = set()
    for u in members:
        seed = seed_of_choices(at.session, at.round, LEAF, nonce(u))
        for v in chosen_by(seed, u, parties, min(at.manifest.terms.k, parties - 1)):
            if v in members:
                found.add((min(u, v), max(u, v)))
    return found


def naive_public(at: RoundContext, parties: int) -> Edges:
    """04-V4: everybody is a member, and one seed serves all."""
    found = set()
    for u in range(parties):
        for v in chosen_by(graph_seed(JOINT), u, parties, min(at.manifest.terms.k, parties - 1)):
            found.add((min(u, v), max(u, v)))
    return found


@given(st.integers(2, 12), st.integers(1, 6), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_graphs_from_nonces_follow_the_text(parties: int, k: int, data: st.DataObject) -> None:
    members = sorted(data.draw(st.sets(st.integers(0, parties - 1), min_size=1)))
    at = context(k, reveals=True)
    assert edges_of(drawn(at, parties, members)) == naive_revealed(at, parties, members)


@given(st.integers(2, 12), st.integers(1, 6))
@settings(max_examples=examples(40), deadline=None)
def test_graphs_from_public_coins_follow_the_text(parties: int, k: int) -> None:
    at = context(k, reveals=False)
    assert edges_of(drawn(at, parties, list(range(parties)))) == naive_public(at, parties)


def test_a_withheld_nonce_moves_nothing_but_the_own_choices() -> None:
    at, everybody = context(3, reveals=True), list(range(10))
    whole = edges_of(drawn(at, 10, everybody))
    for gone in everybody:
        rest = edges_of(drawn(at, 10, [u for u in everybody if u != gone]))
        assert rest == {edge for edge in whole if gone not in edge}


def test_the_graph_depends_on_session_round_and_leaf() -> None:
    everybody = list(range(12))
    at = context(2, reveals=True)
    first = edges_of(drawn(at, 12, everybody))
    assert first == edges_of(drawn(context(2, reveals=True), 12, everybody))
    later = context(2, reveals=True, number=2)
    assert first != edges_of(drawn(later, 12, everybody))
    coins = coins_of(everybody, 12, reveals=True)
    moved = graph_of_round(at, roll_of(12), b"\x43" * 32, everybody, coins, JOINT)
    assert first != edges_of(moved)
    other = RoundContext(at.manifest, b"\x44" * 32, 1, at.group)
    assert first != edges_of(drawn(other, 12, everybody))


def test_public_coins_alone_decide_where_there_are_no_nonces() -> None:
    at, everybody = context(2, reveals=False), list(range(12))
    first = edges_of(drawn(at, 12, everybody))
    coins = coins_of(everybody, 12, reveals=False)
    again = graph_of_round(at, roll_of(12), b"\x43" * 32, everybody, coins, JOINT)
    assert first == edges_of(again)
    other = graph_of_round(at, roll_of(12), LEAF, everybody, coins, b"\x45" * 32)
    assert first != edges_of(other)
    drand = manifests()["full with drand and witnesses"]
    assert isinstance(drand.beacon, DrandBeacon)
    by_drand = RoundContext(drand, drand.session, 1, at.group)
    assert edges_of(drawn(by_drand, 5, list(range(5)))) == naive_public(by_drand, 5)


@pytest.mark.parametrize("reveals", [True, False])
def test_a_small_roll_gives_a_complete_graph(reveals: bool) -> None:
    at = context(6, reveals=reveals)
    for parties in (1, 2, 3, 6):
        everybody = list(range(parties))
        graph = drawn(at, parties, everybody)
        assert graph.parties == parties
        assert edges_of(graph) == set(combinations(everybody, 2))


def test_the_toolkit_of_real_sessions_draws_these_graphs() -> None:
    assert Toolkit().graph is graph_of_round


# Losses


def naive_losses(graph: Graph, inside: set[int], withheld: int) -> list[int]:
    """04-L1."""
    found = []
    for u in range(graph.parties):
        lost = withheld
        for v in graph.neighbours(u).tolist():
            if v not in inside:
                lost += 1
        found.append(lost)
    return found


def naive_peel(graph: Graph, inside: set[int], withheld: int, most: int) -> tuple[int, ...]:
    """04-L2: all at once, and again."""
    kept = set(inside)
    while True:
        lost = naive_losses(graph, kept, withheld)
        gone = {u for u in kept if lost[u] > most}
        if not gone:
            return tuple(sorted(kept))
        kept -= gone


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph: without edges, with isolated parties at both ends and in between."""
    parties = draw(st.integers(1, 9))
    pairs = list(combinations(range(parties), 2))
    if not pairs:
        return from_edges(parties, [])
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True))
    return from_edges(parties, chosen)


@given(graphs(), st.integers(0, 3), st.data())
@settings(max_examples=examples(120), deadline=None)
def test_losses_follow_the_text(graph: Graph, withheld: int, data: st.DataObject) -> None:
    inside = data.draw(st.sets(st.integers(0, graph.parties - 1)))
    assert losses(graph, inside, withheld).tolist() == naive_losses(graph, inside, withheld)


@given(graphs(), st.integers(0, 2), st.integers(0, 4), st.data())
@settings(max_examples=examples(120), deadline=None)
def test_peeling_follows_the_text(
    graph: Graph, withheld: int, most: int, data: st.DataObject
) -> None:
    inside = data.draw(st.sets(st.integers(0, graph.parties - 1)))
    assert peel(graph, inside, withheld, most) == naive_peel(graph, inside, withheld, most)


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], [0, 0, 0, 0]),
        ([(0, 1)], [0, 1, 0, 0]),
        ([(2, 3)], [0, 0, 0, 0]),
        ([(0, 3)], [0, 0, 0, 1]),
        ([(0, 1), (0, 2), (0, 3)], [0, 1, 1, 1]),
    ],
)
def test_isolated_parties_lose_nobody(edges: list[tuple[int, int]], expected: list[int]) -> None:
    """Party 0 is gone. The isolated ones stand first, last and in between."""
    assert losses(from_edges(4, edges), [1, 2, 3], 0).tolist() == expected
    assert losses(from_edges(4, edges), [1, 2, 3], 2).tolist() == [n + 2 for n in expected]


def test_peeling_goes_on_until_nobody_lost_too_many() -> None:
    """On a path the loss of one end removes everybody, one after the other."""
    path = from_edges(6, [(i, i + 1) for i in range(5)])
    assert peel(path, range(6), 0, 0) == tuple(range(6))
    assert peel(path, range(1, 6), 0, 0) == ()
    assert peel(path, range(1, 6), 0, 1) == (1, 2, 3, 4, 5)


def test_peeling_is_at_once() -> None:
    """Both ends of an edge go in one step: neither is saved by the other's going first."""
    star = from_edges(5, [(0, 1), (0, 2), (3, 4), (1, 3), (2, 3)])
    assert peel(star, [0, 3], 0, 1) == naive_peel(star, {0, 3}, 0, 1) == ()
    everybody = tuple(range(5))
    assert peel(star, everybody, 0, 0) == everybody
    assert peel(star, everybody, 1, 0) == ()


def test_losses_are_integers_of_one_type() -> None:
    assert losses(from_edges(3, [(0, 1)]), [0], 1).dtype == np.int64
