"""Attacks on keys and edges that need more than one wrong message."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from gopa.contract.beacon.coins import seed_of_choices
from gopa.contract.framing import party_id
from gopa.contract.organiser import RemovalCause
from gopa.contract.party import (
    ACCUSATION,
    COMMIT,
    JOIN,
    OPENING,
    Commit,
    EdgeOpenings,
    Join,
    OpenedEdge,
)
from gopa.contract.phases import Kind, Phase
from gopa.graph import all_choices
from gopa.protocol.rules import RoundPicture
from gopa.rounds.context import commit
from gopa.rounds.masks import EdgeContext, SharedPoint, UniformMask, edge_key, edge_mask
from tests.protocol import scribe
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import Change, ScribeParty, World
from tests.randomness import seeded
from wire.errors import MalformedMessage
from wire.secret import SecretBytes

OPENED = {(0, 3), (1, 3), (2, 3), (3, 4)}
SHOWN = {(0, 1)}


def two_rounds() -> World:
    """In round 1 one party drops out, so that its edges are opened; all come to round 2.

    There one of them also shows a point that it shared with another in round 1: too late
    to convict anybody, so that both ends of the edge go on.
    """
    world = make(rounds=2)
    world.run(until=Phase.PUBLISH)
    accusation = world.parties[0].accusation(world.view, 1)
    world.run(skip={Phase.PUBLISH: [3]})
    world.control()
    world.say(world.parties[0], Phase.ACCUSE, accusation, number=1)
    world.run()
    return world


def public_in(world: World, number: int) -> tuple[set[bytes], set[bytes]]:
    """What a round gives away: points, with those of accusations, and keys of edges."""
    points: set[bytes] = set()
    keys: set[bytes] = set()
    for posted in world.log:
        entry = posted.entry
        if entry.round != number:
            continue
        if entry.kind == Kind.JOIN:
            points.add(JOIN.decode(entry.body).key)
        elif entry.kind == Kind.COMMIT:
            content = COMMIT.decode(entry.body)
            points |= {content.self_mask, content.output, *content.edges}
        elif entry.kind == Kind.ACCUSATION:
            points.add(ACCUSATION.decode(entry.body).shared)
        elif entry.kind == Kind.OPENING:
            keys |= {edge.key for edge in OPENING.decode(entry.body).edges}
    return points, keys


def guesses(world: World, number: int, target: EdgeContext) -> Iterator[SecretBytes]:
    """What the key of an edge could be, if a round said anything about it."""
    points, keys = public_in(world, number)
    for key in keys:
        yield SecretBytes(key)
        yield SecretBytes(hashlib.sha256(target.session + target.to_bytes() + key).digest())
    for point in points:
        try:
            yield edge_key(SharedPoint(world.toolkit.group.decode_point(point)), target)
        except MalformedMessage:  # encodings are no points if their authors lie
            continue


def found_out(world: World, known: int, target: int) -> set[tuple[int, int]]:
    """Edges of round `target` whose commitments open with what round `known` gives away."""
    group, context = world.toolkit.group, replace(world.context, round=target)
    posted = {
        each.entry.author.data: COMMIT.decode(each.entry.body).edges
        for each in world.log
        if each.entry.round == target and each.entry.kind == Kind.COMMIT
    }
    broken = set()
    for one, other in combinations(range(len(world.parties)), 2):
        ids = [party_id(world.parties[each].author) for each in (one, other)]
        edge = EdgeContext.between(world.session, target, *ids)
        for key in guesses(world, known, edge):
            mask = edge_mask(group, key, UniformMask(), 1)
            data = commit(context.key, mask.values, mask.blinding).to_bytes()
            if data == posted[world.parties[one].author][other - 1]:  # everybody's neighbour
                broken.add((one, other))
    return broken


def with_static_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weak variant: the first thing that a party draws, its key, is the same in each round."""

    def joins(party: ScribeParty, view: RoundPicture) -> Join:
        rng, drawn = party.rng, [seeded(f"static {party.author.hex()}")]
        party.rng = lambda count: drawn.pop()(count) if drawn else rng(count)
        said = party.join(view)
        party.rng = rng
        return said

    monkeypatch.setitem(scribe._SAYS, Phase.JOIN, joins)


def with_unbound_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weaker one: besides, the keys of edges do not depend on the round."""
    with_static_keys(monkeypatch)
    bound = ScribeParty._edge_context
    monkeypatch.setattr(
        ScribeParty, "_edge_context", lambda party, other: replace(bound(party, other), round=1)
    )


@pytest.mark.parametrize(
    ("weak", "broken"), [(with_static_keys, SHOWN), (with_unbound_keys, OPENED)]
)
def test_attack_succeeds_where_keys_are_static(
    weak: Callable[[pytest.MonkeyPatch], None],
    broken: set[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the attack is one."""
    weak(monkeypatch)
    world = two_rounds()
    assert found_out(world, 1, 2) == broken


def test_edge_that_is_open_in_one_round_says_nothing_about_another() -> None:
    """Opened edges and shown points of a round give its own edges and no others."""
    world = two_rounds()
    assert found_out(world, 1, 1) == OPENED | SHOWN
    assert found_out(world, 1, 2) == set()
    assert found_out(world, 2, 1) == set()
    found = world.check()
    assert found.complete
    assert found.faults == ()
    assert found.rounds[1].final == (0, 1, 2, 3, 4)


# Edges that are not what they should be


def same_edge_twice(message: Commit) -> Commit:
    return replace(message, edges=(message.edges[1], *message.edges[1:]))


@pytest.mark.parametrize("kind", ["scalar", "signed"])
def test_an_edge_that_is_committed_twice_is_void_once(kind: str) -> None:
    """It cannot serve two neighbours: the one that finds another edge than its own accuses."""
    baseline(kind)
    world = make(kind)
    world.run(until=Phase.COMMIT)
    world.phase(change={2: same_edge_twice})
    world.control()
    assert world.view.void == {(0, 2)}
    world.say(world.parties[0], Phase.ACCUSE, world.parties[0].accusation(world.view, 2))
    world.run()
    row = (2, Phase.PUBLISH, RemovalCause.CONVICTED, "04-A3")
    require(world, [row], [(2, "04-A3")], [0, 1, 3, 4])


@pytest.mark.parametrize("accused", [0, 5, 2**32 - 1], ids=["itself", "nobody", "far away"])
def test_who_accuses_itself_or_nobody_is_convicted(accused: int) -> None:
    baseline()
    world = make()
    world.run(until=Phase.PUBLISH)
    accuser = world.parties[0]
    accusation = replace(accuser.accusation(world.view, 1), accused=accused)
    world.say(accuser, Phase.ACCUSE, accusation)
    world.run()
    row = (0, Phase.PUBLISH, RemovalCause.CONVICTED, "04-A1")
    require(world, [row], [(0, "04-A1")], [1, 2, 3, 4])


@pytest.mark.parametrize("neighbour", [0, 5, 2**32 - 1], ids=["itself", "nobody", "far away"])
def test_who_opens_an_edge_to_itself_or_nobody_opens_nothing(neighbour: int) -> None:
    baseline()
    world = make()

    def change(message: EdgeOpenings) -> EdgeOpenings:
        return replace(message, edges=(OpenedEdge(neighbour, message.edges[0].key),))

    changes: dict[Phase, dict[int, Change]] = {Phase.ROLLBACK: {0: change}}
    world.run(skip={Phase.PUBLISH: [3]}, change=changes)
    rows = [
        (0, Phase.ROLLBACK, RemovalCause.INVALID, "04-O1"),
        (3, Phase.PUBLISH, RemovalCause.ABSENT, "04-P2"),
    ]
    require(world, rows, [(0, "04-O1")], [1, 2, 4])


# Who chooses whose neighbours


def test_no_nonce_makes_a_victim_choose_other_neighbours() -> None:
    """Grinding moves the grinder's own choices only: over 200 nonces the rest stays the same."""
    parties, k, grinder, victim = 40, 5, 0, 7
    nonces = [bytes([number]) * 32 for number in range(parties)]
    session, leaf = bytes(32), b"\x01" * 32

    def chosen(nonce: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.integer]]:
        seeds = [seed_of_choices(session, 1, leaf, each) for each in [nonce, *nonces[1:]]]
        return np.asarray(all_choices(seeds, parties, k))

    before, seen = chosen(nonces[grinder]), set()
    for attempt in range(200):
        after = chosen(attempt.to_bytes(32))
        assert (after[grinder + 1 :] == before[grinder + 1 :]).all()
        assert grinder not in after[grinder]
        seen.add(victim in after[grinder])
    assert seen == {True, False}
