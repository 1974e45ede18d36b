"""What has to be true of a world that was acted out, to whoever sees all secrets.

`require_predicted` holds the findings against the model; the rest looks at the log and at
the secrets alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from gopa.contract.framing import party_id
from gopa.contract.party import ACCUSATION, OPENING
from gopa.contract.phases import Phase
from gopa.protocol.rules import Ledger, RoundFindings, check, check_log
from gopa.protocol.rules.findings import Role
from gopa.protocol.simulation.party import SimulatedParty
from gopa.rounds.masks import EdgeContext, SharedPoint, edge_key
from tests.protocol.simulation.prying import edge_of
from tests.randomness import seeded
from tests.small_worlds.graphs import pair
from tests.small_worlds.play import Played
from tests.small_worlds.world import Outcome, Row, World
from wire.errors import MalformedMessage, UsageError

_LEAF: Final = 32


def as_it_began(played: Played, attempt: int, barred: Collection[int]) -> World:
    """The world of one attempt: the log says who tried to join, the model who was barred."""
    found, parties = played.record.attempts[attempt], played.simulation.parties
    board = parties[0].access.board
    joining = frozenset(
        each.index for each in parties if board.stream(each.author, Phase.JOIN, found.number)
    )
    honest = set(range(played.world.parties)) - set(played.world.faults)
    assert {played.index(author) for author in found.barred} == set(barred)
    assert honest.difference(barred) <= joining
    return replace(played.world, joining=joining, barred=joining.intersection(barred))


def require_predicted(played: Played, outcome: Outcome, attempt: int = 0) -> None:
    """Lists, removals, blame, openings and the end are those of the model."""
    found = played.record.attempts[attempt]
    assert _removals(played, found) == outcome.removals
    assert blamed(played, found.number) == outcome.faults
    assert _pairs(played, found, found.void) == outcome.void
    assert _pairs(played, found, found.opened) == outcome.opened
    assert _parties(played, found, found.unmasked) == outcome.unmasked
    assert _parties(played, found, found.recovered) == outcome.recovered
    assert found.abort == outcome.abort
    assert _parties(played, found, found.culprits) == outcome.culprits
    assert bool(found.veto) == outcome.vetoed
    assert found.veto[:1] == ((found.ended_at,) if outcome.vetoed else ())
    final = None if found.final is None else frozenset(_parties(played, found, found.final))
    assert final == outcome.final
    assert found.released == (outcome.final is not None)
    assert (found.sums is None) == (outcome.abort is not None)
    for actor in played.simulation.parties:
        if actor.index not in played.world.faults:
            assert posted_in(actor, found.number) == outcome.phases_of(actor.index)


def require_exact(played: Played, outcome: Outcome, attempt: int = 0) -> None:
    """The result is what the included put in, plus their noise, in integers."""
    found = played.record.attempts[attempt]
    if found.sums is None or outcome.moved & (outcome.final or frozenset()):
        return
    noise = played.simulation.noise_for_tests
    included = sorted(_parties(played, found, found.final or ()))
    rows = [
        [x + n for x, n in zip(played.inputs[u], noise[found.number, u], strict=True)]
        for u in included
    ]
    assert found.sums == tuple(map(sum, zip(*rows, strict=True)))


def require_just(played: Played) -> None:
    """Nobody but liars is blamed or stopped, each with proof, and the organiser is honest."""
    liars = set(played.world.faults)
    for fault in played.record.findings.faults:
        assert fault.role is Role.PARTY
        assert fault.proved
        if fault.round in {each.number for each in played.record.attempts}:
            assert played.index(fault.author) in liars
    assert played.record.halted.keys() <= liars


def require_hidden(played: Played, attempt: int = 0) -> None:
    """No honest party gave away too much, by what stands in the log.

    An edge between two parties of the final list is open only if one of its ends told it
    behind the final close. Outside the final list nobody's self-mask is open. Of a party
    in it some edge stays shut that nobody tells, unless there are no more of these than
    the loss bound r lets go: plans are for graphs in which everybody has more.
    """
    found = played.record.attempts[attempt]
    public, seeds = _public(played, found)
    final = _parties(played, found, found.final or ())
    honest = final - set(played.world.faults)
    assert not [edge for edge in public if honest.issuperset(edge)]
    tellers = {u for u, fault in played.world.faults.items() if fault.tells}
    assert not [e for e in public if final.issuperset(e) and tellers.isdisjoint(e)]
    assert not (seeds - final) - set(played.world.faults)
    listed = _listed(played, found)
    void = _pairs(played, found, found.void)
    for u in honest & (seeds | _parties(played, found, found.unmasked)):
        around = (_around(played, found, u) & listed) - tellers
        live = {v for v in around if pair(u, v) not in void}
        shut = {v for v in live if pair(u, v) not in public}
        assert shut or len(live) <= played.world.loss


def require_checked(played: Played, *, thoroughly: bool = False) -> None:
    """Any other evaluation of the log finds the same, in whatever steps it goes."""
    simulation = played.simulation
    expected = simulation.findings()
    board = simulation.parties[0].access.board
    toolkit = simulation.parties[0].access.toolkit
    assert check(board.entries, toolkit, rng=seeded("another reader")) == expected
    if not thoroughly:
        return
    found = check_log(simulation.log().entries(), toolkit, rng=seeded("an auditor"))
    assert found.to_json() == expected.to_json()
    ledger = Ledger(toolkit, rng=seeded("somebody who asks all the time"))
    for posted in board.entries:
        ledger.observe(posted)
        for cut in (posted.index, posted.index + 1):
            _ask(ledger, cut)
    assert ledger.findings() == expected


def posted_in(actor: SimulatedParty, number: int) -> frozenset[Phase]:
    """The phases of a round in which a party posted something; accusations aside."""
    board = actor.access.board
    phases = frozenset(Phase) - {Phase.ACCUSE}
    return frozenset(each for each in phases if board.stream(actor.author, each, number))


def blamed(played: Played, number: int) -> set[tuple[int, str]]:
    """Parties with the rules that they broke in a round."""
    faults = played.record.findings.faults
    return {(played.index(each.author), each.rule) for each in faults if each.round == number}


def _ask(ledger: Ledger, cut: int) -> None:
    """What is demanded with a cut that lies too far back, or before there is a session."""
    try:
        ledger.next_control(cut)
    except UsageError:
        return


def _public(played: Played, found: RoundFindings) -> tuple[set[tuple[int, int]], set[int]]:
    """Edges and self-masks that the log opens to everybody, by messages of any kind."""
    edges: set[tuple[int, int]] = set()
    seeds: set[int] = set()
    for actor in played.simulation.parties:
        board, author, number = actor.access.board, actor.author, found.number
        opened = [
            each
            for posted in board.stream(author, Phase.ROLLBACK, number)
            for each in _opened(posted.entry.body)
        ]
        shown = [
            _shown(played, found, author, posted.entry.body)
            for posted in board.stream(author, Phase.ACCUSE, number)
        ]
        for place, key in [*opened, *shown]:
            other = found.roll[place]
            right = played.secrets.keys.get(edge_of(number, author, other))
            if right is not None and right.reveal() == key:
                edges.add(pair(actor.index, played.index(other)))
        seed = played.secrets.seeds.get((number, author))
        for posted in board.stream(author, Phase.UNMASK, number):
            if seed is not None and posted.entry.body[_LEAF:] == seed.reveal():
                seeds.add(actor.index)
    return edges, seeds


def _opened(body: bytes) -> list[tuple[int, bytes]]:
    """Neighbours and keys of an opening; nothing of what is none."""
    try:
        return [(each.neighbour, each.key) for each in OPENING.decode(body).edges]
    except MalformedMessage:
        return []


def _shown(played: Played, found: RoundFindings, author: bytes, body: bytes) -> tuple[int, bytes]:
    """Whoever shows the shared point shows the key of the edge."""
    accusation = ACCUSATION.decode(body)
    group = played.simulation.parties[0].access.toolkit.group
    ends = party_id(author), party_id(found.roll[accusation.accused])
    context = EdgeContext.between(played.simulation.session, found.number, *ends)
    shared = SharedPoint.from_revealed(group.decode_point(accusation.shared))
    return accusation.accused, edge_key(shared, context).reveal()


def _removals(played: Played, found: RoundFindings) -> set[Row]:
    return {
        Row(played.index(each.author), each.phase, each.step, each.cause, each.rule)
        for each in found.removals
    }


def _parties(played: Played, found: RoundFindings, places: Iterable[int]) -> set[int]:
    return {played.index(found.roll[place]) for place in places}


def _pairs(
    played: Played, found: RoundFindings, places: Iterable[tuple[int, int]]
) -> set[tuple[int, int]]:
    index = [played.index(author) for author in found.roll]
    return {pair(index[u], index[v]) for u, v in places}


def _listed(played: Played, found: RoundFindings) -> set[int]:
    """The list of commit."""
    members = [each.members for each in found.lists if each.phase is Phase.COMMIT]
    return _parties(played, found, members[0]) if members else set()


def _around(played: Played, found: RoundFindings, u: int) -> set[int]:
    """Neighbours that are on the roll of the round."""
    return played.world.neighbours(u) & _parties(played, found, range(len(found.roll)))
