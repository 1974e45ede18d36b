"""Parties are shown the heads of commits and prove messages, and no proofs of others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import pytest

from bulletin_board import Entry, Submission
from bulletin_board.note import open_checkpoint
from gopa.contract.cutting import is_head
from gopa.contract.phases import Phase
from gopa.sessions.tunnel import Unguarded
from gopa.sessions.tunnel.messages import REPLY, REQUEST, TunnelEntry, TunnelRequest, Want
from tests.board.tools import log_key
from tests.protocol.simulation.row_worlds import IN_ROWS, ROWS
from tests.sessions.tunnel.test_requests import proved
from tests.sessions.tunnel.test_rows import InRows
from tests.sessions.tunnel.worlds import Caller


@cache
def held() -> InRows:
    """A round in which one party leaves behind publish; every call can be made again."""
    world = InRows(ROWS, IN_ROWS, guard=Unguarded(), leaving=(2,))
    world.run(until=world.published)
    return world.run()


def own(caller: Caller) -> bytes:
    """The party's key."""
    return REPLY.decode(caller.seen[0][2]).party


def of_others(caller: Caller, request: bytes) -> list[Entry]:
    """Entries of commits and prove messages that a request shows, but for the party's own."""
    shown = REQUEST.decode(request).shown
    entries = [Submission.decode(e.raw).entry for e in shown if isinstance(e, TunnelEntry)]
    proofs = {int(Phase.COMMIT), int(Phase.PROVE)}
    return [e for e in entries if e.phase in proofs and e.author.data != own(caller)]


@pytest.mark.slow
def test_no_party_is_shown_proofs_of_others() -> None:
    world = held()
    findings = world.findings()
    assert findings.faults == ()
    assert findings.rounds[0].final == (0, 1, 3, 4)
    assert any(Submission.decode(raw).entry.chunk for raw in world.raws())
    for number in (0, 1, 3, 4):
        caller = world.caller(number)
        seen = [each for _, request, _ in caller.seen for each in of_others(caller, request)]
        assert {each.phase for each in seen} == {Phase.COMMIT, Phase.PROVE}
        assert all(map(is_head, seen))


def answering(phase: Phase) -> tuple[Caller, bytes, TunnelRequest, bytes]:
    """Party 0, its state, and the request that shows it heads of this phase, and its reply."""
    caller = held().caller(0)
    for state, request, reply in caller.seen:
        if any(each.phase == phase for each in of_others(caller, request)):
            return caller, state, REQUEST.decode(request), reply
    raise AssertionError


def with_entries(shown: TunnelRequest, indexes: Iterable[int]) -> TunnelRequest:
    """The same with these entries of the log in the place of those of others in the phase."""
    raws = held().raws()
    given = {each.index: each for each in shown.shown}
    given |= {at: TunnelEntry(at, raws[at]) for at in indexes}
    return proved(held(), replace(shown, shown=tuple(given[at] for at in sorted(given))))


def streams(phase: Phase, shown: TunnelRequest) -> dict[bytes, list[int]]:
    """Where the entries of each party in a phase stand, in the log of the request."""
    size = open_checkpoint(shown.checkpoint, log_key()).size
    found: dict[bytes, list[int]] = {}
    for index, raw in enumerate(held().raws()[:size]):
        entry = Submission.decode(raw).entry
        if entry.phase == phase:
            found.setdefault(entry.author.data, []).append(index)
    return found


PHASES = {Phase.COMMIT: Phase.PUBLISH, Phase.PROVE: Phase.ROLLBACK}
"""What a party says when it has read heads of each kind."""


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_more_than_heads_changes_nothing(phase: Phase) -> None:
    caller, state, shown, reply = answering(phase)
    posts = REPLY.decode(reply).posts
    assert {Submission.decode(raw).entry.phase for raw in posts} == {PHASES[phase]}
    more = with_entries(shown, [at for each in streams(phase, shown).values() for at in each])
    assert len(more.shown) > len(shown.shown)
    said = REPLY.decode(caller.party().answer(state, REQUEST.encode(more), caller.supply)[1])
    phases = [Submission.decode(raw).entry.phase for raw in said.posts]
    assert phases == [Submission.decode(raw).entry.phase for raw in posts]
    assert said.want is Want.NOTHING


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_a_proof_without_its_head_is_no_answer(phase: Phase) -> None:
    """The party says nothing, blames nobody, and asks for the log."""
    caller, state, shown, _ = answering(phase)
    (author, (head, tail)), *_ = (
        each for each in streams(phase, shown).items() if each[0] != own(caller)
    )
    assert author
    rest = replace(shown, shown=tuple(each for each in shown.shown if each.index != head))
    assert len(rest.shown) == len(shown.shown) - 1
    lacking = with_entries(rest, [tail])
    said = REPLY.decode(caller.party().answer(state, REQUEST.encode(lacking), caller.supply)[1])
    assert (said.want, said.posts) == (Want.LOG, ())
    whole = tuple(held().raws()[: said.fetch.cut if said.fetch else 0])
    assert whole
