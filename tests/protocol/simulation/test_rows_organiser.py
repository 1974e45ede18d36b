"""A lying organiser where vectors are proved row by row: parties stop, and it is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from bulletin_board import Submission
from gopa.adversary.deeds.organising import AlteredClose, ClosedAnyway, CutsOff, GivesUp
from gopa.contract.organiser import (
    AbortReason,
    Close,
    Members,
    Released,
    RemovalCause,
    pack_members,
    unpack_members,
)
from gopa.contract.phases import Phase
from gopa.contract.rows import PROVE, TESTS_SIZE, Prove
from gopa.protocol.party import Post
from gopa.protocol.rules import Role
from gopa.protocol.simulation import RoundRecord, Script, Simulation
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.script import Honest, PostsLate
from tests.protocol.simulation.row_worlds import (
    MANY_ROWS,
    ROWS,
    shifted,
    simulate_rows,
    vectors_for,
)
from wire.errors import FaultyParty

LIAR = 2


def play(script: Script) -> tuple[Simulation, RoundRecord]:
    simulation = simulate_rows(ROWS, script)
    return simulation, simulation.run_round(vectors_for(ROWS))


def listing(
    change: Callable[[set[int]], set[int]], *, flip: bool = False
) -> Callable[[Close], Close]:
    """A close with another list, or another word about whether it is final."""

    def changed(close: Close) -> Close:
        content = close.content
        assert isinstance(content, Members)
        members = change(set(unpack_members(content.members, ROWS.parties)))
        packed = pack_members(members, ROWS.parties)
        return replace(close, content=Members(packed, content.final is not flip))

    return changed


def without(position: int) -> Callable[[set[int]], set[int]]:
    return lambda members: members - {position}


def same(members: set[int]) -> set[int]:
    return members


def organiser_faults(record: RoundRecord) -> set[str]:
    return {fault.rule for fault in record.findings.faults if fault.role is Role.ORGANISER}


LIES: dict[str, tuple[Script, str, str]] = {
    "the close of publish is final": (
        Script().organise(AlteredClose(Phase.PUBLISH, listing(same, flip=True))),
        "04-P3",
        "nothing is proved yet",
    ),
    "a party with words is not listed": (
        Script().organise(AlteredClose(Phase.PUBLISH, listing(without(1)))),
        "04-C3",
        "it left out a message",
    ),
    "the close of prove is final while an edge leads out": (
        Script()
        .drop(1, before=Phase.PROVE)
        .organise(AlteredClose(Phase.PROVE, listing(same, flip=True))),
        "14-P8",
        "a final close while edges are owed",
    ),
    "the close of prove is not final though it could be": (
        Script().organise(AlteredClose(Phase.PROVE, listing(same, flip=True))),
        "14-P8",
        "",
    ),
    "the close of prove is final while an edge is disputed": (
        Script()
        .misbehave(LIAR, shifted(3))
        .organise(AlteredClose(Phase.PROVE, listing(same, flip=True))),
        "14-P8",
        "",
    ),
    "a party with a proof is not listed": (
        Script().organise(AlteredClose(Phase.PROVE, listing(without(1)))),
        "04-C3",
        "it left out a message",
    ),
    "a party without a proof is listed": (
        Script()
        .drop(1, before=Phase.PROVE)
        .organise(AlteredClose(Phase.PROVE, listing(lambda members: members | {1}))),
        "04-C3",
        "it lists a party without a proof",
    ),
    "somebody comes back to publish": (
        Script()
        .drop(4, before=Phase.COMMIT)
        .organise(AlteredClose(Phase.PUBLISH, listing(lambda members: members | {4}))),
        "04-C3",
        "a list grew",
    ),
    "who lied about an edge stays": (
        Script()
        .misbehave(LIAR, shifted(3))
        .organise(AlteredClose(Phase.ROLLBACK, listing(lambda members: members | {LIAR}))),
        "04-C3",
        "somebody stays who lied about an edge",
    ),
}


@pytest.mark.thirds
@pytest.mark.parametrize("lie", LIES)
def test_a_list_that_the_log_does_not_make_ends_the_session(lie: str) -> None:
    script, rule, words = LIES[lie]
    simulation, record = play(script)
    assert organiser_faults(record) == {rule}
    assert simulation.over
    assert record.sums is None
    said = [str(error) for error in record.halted.values()]
    assert any(words in each for each in said) if words else True
    if words:
        assert all(isinstance(error, FaultyParty) for error in record.halted.values())


def test_an_honest_list_is_accepted_by_the_same_code() -> None:
    simulation, record = play(Script().organise(AlteredClose(Phase.PROVE, listing(same))))
    assert record.sums is not None
    assert not record.findings.faults
    assert not record.halted
    assert not simulation.over


@pytest.mark.slow
def test_parties_stop_when_more_are_gone_than_the_points_are_for() -> None:
    terms = replace(ROWS, late=1)
    script = Script().drop(1, before=Phase.PROVE).drop(LIAR, before=Phase.PROVE)
    script = script.organise(ClosedAnyway(Phase.PROVE, (0, 3, 4), 5))
    simulation = simulate_rows(terms, script)
    record = simulation.run_round(vectors_for(terms))
    assert organiser_faults(record) == {"04-L3"}
    for place in (0, 3, 4):
        assert "too many are gone" in str(record.halted[place])


@dataclass(frozen=True, slots=True)
class ProvesAnyway(Honest):
    """Stays away from one phase, and posts a well-formed proof all the same."""

    missed: Phase

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        del access
        return [post] if post.phase.place < self.missed.place else []

    def after(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        if phase is not Phase.PUBLISH:
            return []
        point = access.toolkit.group.generator.to_bytes()
        edges = (point,) * (ROWS.parties - 1)
        proof = Prove(access.state.chain.leaf, edges, point, bytes(TESTS_SIZE), b"")
        return [access.sign(Phase.PROVE, PROVE.encode(proof))]


@pytest.mark.slow
@pytest.mark.parametrize("missed", [Phase.COMMIT, Phase.PUBLISH])
def test_a_proof_of_somebody_without_words_is_nothing(missed: Phase) -> None:
    simulation, record = play(Script().misbehave(LIAR, ProvesAnyway(missed)))
    assert record.included == (0, 1, 3, 4)
    assert not record.findings.faults
    assert not record.halted.keys() - {LIAR}
    posted = [
        each for each in simulation.log().entries() if Submission.decode(each).entry.phase == 10
    ]
    assert len(posted) == 2 * 5


@pytest.mark.slow
def test_a_proof_behind_its_close_changes_no_list() -> None:
    _, record = play(Script().misbehave(LIAR, PostsLate(Phase.PROVE)))
    assert record.included == (0, 1, 3, 4)
    assert not record.findings.faults


@pytest.mark.slow
def test_who_is_late_by_the_cut_is_out_and_not_blamed() -> None:
    script = Script().drop(1, before=Phase.PROVE).organise(CutsOff(Phase.PROVE))
    simulation = simulate_rows(MANY_ROWS, script)
    record = simulation.run_round(vectors_for(MANY_ROWS))
    assert not record.findings.faults
    late = [row for row in record.attempts[0].removals if row.rule == "04-C6"]
    assert {(row.phase, row.cause) for row in late} == {(Phase.PROVE, RemovalCause.ABSENT)}
    assert all(row.entry is not None for row in late)
    assert (len(late), len(record.included)) == (1, 6)
    simulation.run_round(vectors_for(MANY_ROWS))
    assert not {row.author for row in late} & set(simulation.findings().rounds[-1].barred)


@pytest.mark.slow
def test_an_abort_behind_the_proofs_is_a_veto() -> None:
    _, record = play(Script().organise(GivesUp(Phase.CONFIRM, Released.MASKED)))
    assert record.attempts[0].veto
    assert record.attempts[0].abort is AbortReason.ORGANISER
    assert record.attempts[1].sums is not None
