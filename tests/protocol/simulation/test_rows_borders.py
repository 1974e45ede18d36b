"""Borders of rounds of long vectors: void edges, losses, liars that are struck, wrong closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import pytest

from bulletin_board import Submission
from gopa.adversary.deeds import add_to_the_sum, instead, other_seed, overlook
from gopa.adversary.deeds.organising import ClosedAnyway, CutsOff, GivesUp
from gopa.contract.organiser import AbortReason, Released, RemovalCause
from gopa.contract.party import OPENING
from gopa.contract.phases import Phase
from gopa.contract.rows import PROVE, TESTS_SIZE, Prove
from gopa.contract.terms import Terms
from gopa.protocol.party import Post
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.access import PartyAccess, body_of, first_entry
from gopa.protocol.simulation.script import Drop, Honest, Skip, Twice
from tests.lies import lying, says
from tests.protocol.simulation.row_worlds import (
    IN_ROWS,
    MANY_ROWS,
    RECOVERING,
    ROWS,
    play,
    shifted,
    shifted_together,
    sum_in_the_open,
    vectors_for,
    without_proofs,
)
from tests.protocol.simulation.worlds import culprits
from wire.errors import FaultyParty

LIAR, GONE = 2, 4
PHASES = [
    Phase.JOIN,
    Phase.COINS,
    Phase.COMMIT,
    Phase.PUBLISH,
    Phase.PROVE,
    Phase.ROLLBACK,
    Phase.CONFIRM,
    Phase.UNMASK,
]
LEAVES = Drop(Phase.PROVE, before=True)


def first_for_zeros(content: Prove) -> Prove:
    """Says about edges that mask nothing what it says about its own mask."""
    edges = tuple(each if any(each) else content.self_mask for each in content.edges)
    return replace(content, edges=edges)


def same(content: Prove) -> Prove:
    return content


@pytest.mark.parametrize(("alter", "blamed"), [(same, False), (first_for_zeros, True)])
def test_nothing_is_said_about_an_edge_that_masks_nothing(
    alter: Callable[[Prove], Prove], blamed: bool
) -> None:
    script = Script().drop(GONE, before=Phase.COMMIT)
    simulation, record = without_proofs(script.misbehave(LIAR, says(Phase.PROVE, alter)))
    assert record.included == ((0, 1, 3) if blamed else (0, 1, 2, 3))
    assert culprits(simulation, record) == ({LIAR: {"14-P6"}} if blamed else {})


@pytest.mark.slow
@pytest.mark.parametrize("late", [1, 2])
def test_losses_behind_the_proofs_count_with_those_before(late: int) -> None:
    """14-P11: one stays away from prove, another one opens nothing."""
    script = Script().misbehave(GONE, LEAVES).drop(LIAR, before=Phase.ROLLBACK)
    _, record = without_proofs(script, replace(ROWS, late=late))
    first = record.attempts[0]
    if late == 2:
        assert record.included == (0, 1, 3)
        return
    assert first.abort is AbortReason.TOO_FEW_LEFT
    assert first.culprits == (LIAR,)
    assert not first.released


@pytest.mark.slow
def test_who_proves_or_opens_nothing_sits_out_the_retry() -> None:
    """04-X5: else a few could end every attempt behind publish."""
    script = Script().misbehave(GONE, replace(LEAVES, rounds=frozenset({1})))
    script = script.drop(LIAR, before=Phase.ROLLBACK, rounds={1})
    simulation, record = without_proofs(script, replace(ROWS, late=1))
    first, second = record.attempts
    assert first.abort is AbortReason.TOO_FEW_LEFT
    assert not first.barred
    assert set(second.barred) == {simulation.parties[each].author for each in (LIAR, GONE)}
    assert record.included == (0, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("terms", [ROWS, RECOVERING], ids=["veto", "recovered as well"])
def test_who_lied_about_its_own_mask_is_convicted_once_and_barred_for_good(terms: Terms) -> None:
    """14-P10: its seed shows it in unmask, and with recovery its neighbours' shares once more."""
    simulation, record = without_proofs(
        Script().misbehave(LIAR, lying("publish", add_to_the_sum(7))), terms
    )
    assert record.attempts[0].abort is AbortReason.NOT_UNMASKED
    found = [(fault.author, fault.rule) for fault in record.findings.faults]
    author = simulation.parties[LIAR].author
    assert found == [(author, "14-K6")]
    assert record.sums is not None
    second = simulation.run_round(vectors_for(terms))
    assert second.attempts[0].barred == (author,)


@pytest.mark.slow
def test_who_dealt_another_seed_is_convicted_of_that_alone() -> None:
    """14-P10: a seed that has another hash shows nothing about M_b."""
    script = Script().misbehave(LIAR, lying("commit", other_seed()))
    assert culprits(*without_proofs(script, RECOVERING)) == {}
    simulation, record = without_proofs(script.misbehave(LIAR, Skip(Phase.UNMASK)), RECOVERING)
    found = [(fault.author, fault.rule) for fault in record.findings.faults]
    assert found == [(simulation.parties[LIAR].author, "04-U5")]


@pytest.mark.slow
def test_losses_in_front_of_the_close_of_publish_are_none_behind_it() -> None:
    """14-P11 counts from the list of publish, and not from the roll."""
    script = Script().drop(GONE, before=Phase.PUBLISH)
    assert without_proofs(script, replace(ROWS, late=1))[1].included == (0, 1, 2, 3)
    _, record = without_proofs(script.misbehave(LIAR, LEAVES), replace(ROWS, late=1))
    assert record.attempts[0].abort is None
    assert record.included == (0, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("gone", [1, 2])
def test_who_lost_too_many_neighbours_without_a_proof_is_off_the_list(gone: int) -> None:
    """14-P8: as all are neighbours here, that is everybody."""
    script = Script()
    for each in (GONE, LIAR)[:gone]:
        script = script.misbehave(each, LEAVES)
    _, record = without_proofs(script, replace(ROWS, loss=1))
    first = record.attempts[0]
    if gone == 1:
        assert record.included == (0, 1, 2, 3)
        return
    assert first.abort is AbortReason.TOO_FEW_LEFT
    assert [each.phase for each in first.lists][-1] is Phase.PUBLISH
    lost = {row.position for row in first.removals if row.cause is RemovalCause.LOST}
    assert lost == {0, 1, 3}


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 1])
def test_a_session_without_rollbacks_ends_where_one_is_needed(steps: int) -> None:
    setting = replace(IN_ROWS, max_rollbacks=steps)
    assert without_proofs(Script(), setting=setting)[1].included == (0, 1, 2, 3, 4)
    _, record = without_proofs(Script().misbehave(GONE, LEAVES), setting=setting)
    if steps:
        assert record.included == (0, 1, 2, 3)
        return
    assert record.attempts[0].abort is AbortReason.TOO_MANY_ROLLBACKS
    assert record.attempts[0].culprits == (GONE,)


@pytest.mark.slow
@pytest.mark.parametrize("struck", [False, True])
def test_who_is_struck_in_rollback_is_convicted_by_the_other_end(struck: bool) -> None:
    """04-K6: the list names the strike as the cause; what the key shows convicts all the same."""
    lies = [shifted(3), *([Twice(Phase.ROLLBACK)] if struck else [])]
    simulation, record = without_proofs(Script().misbehave(LIAR, *lies).misbehave(GONE, LEAVES))
    assert record.included == (0, 1, 3)
    assert "14-K6" in culprits(simulation, record)[LIAR]
    (removal,) = (row for row in record.attempts[0].removals if row.phase is Phase.ROLLBACK)
    cause = (RemovalCause.STRUCK, "04-E3") if struck else (RemovalCause.CONVICTED, "14-K6")
    assert (removal.position, removal.cause, removal.rule) == (LIAR, *cause)


def names_another_first(access: PartyAccess, post: Post) -> list[Post]:
    """Says first that what it opens is its edge to party 0, and opens what it owes then."""
    body, seq = body_of(post.entries), first_entry(post.entries).seq
    said = OPENING.decode(body)
    wrong = replace(said, edges=tuple(replace(each, neighbour=0) for each in said.edges))
    bodies = OPENING.encode(wrong), body
    return [access.sign(post.phase, each, seq + at) for at, each in enumerate(bodies)]


@pytest.mark.slow
@pytest.mark.parametrize("counts", [True, False])
def test_a_key_convicts_in_an_opening_that_counts(counts: bool) -> None:
    """04-K6: of two openings of an author the first one does, whatever is wrong with it."""
    lies = [] if counts else [lying("rollback", instead(names_another_first))]
    script = Script().misbehave(LIAR, shifted(3)).drop(LIAR, before=Phase.ROLLBACK)
    simulation, record = without_proofs(script.misbehave(3, *lies))
    assert record.included == ((0, 1, 3, 4) if counts else (0, 1, 4))
    assert culprits(simulation, record) == ({LIAR: {"14-K6"}} if counts else {3: {"04-O1"}})


@pytest.mark.slow
def test_who_is_off_the_list_is_convicted_and_not_removed_again() -> None:
    """A liar that opens nothing is out; its accomplice has to open their edge in the next step."""
    told = shifted_together(3), lying("prove", overlook(3))
    alike = shifted_together(LIAR), lying("prove", overlook(LIAR))
    script = Script().misbehave(LIAR, *told).misbehave(3, *alike)
    script = script.misbehave(GONE, LEAVES).drop(LIAR, before=Phase.ROLLBACK)
    simulation, record = without_proofs(script, MANY_ROWS)
    assert culprits(simulation, record) == {LIAR: {"14-K6"}, 3: {"14-K6"}}
    removals = sorted(record.attempts[0].removals, key=lambda row: row.step)
    assert [(row.position, row.step, row.cause) for row in removals] == [
        (GONE, 0, RemovalCause.ABSENT),
        (LIAR, 1, RemovalCause.ABSENT),
        (3, 2, RemovalCause.CONVICTED),
    ]


@pytest.mark.slow
def test_of_two_keys_that_convict_the_first_in_the_log_is_evidence() -> None:
    simulation, record = without_proofs(Script().misbehave(LIAR, shifted(3, 4)))
    (fault,) = record.findings.faults
    entries = [Submission.decode(each).entry for each in simulation.log().entries()]
    phases = [entries[at].phase for at in fault.entries]
    assert phases == [Phase.COMMIT, Phase.PROVE, Phase.ROLLBACK]
    shown = [at for at, entry in enumerate(entries) if entry.phase == Phase.ROLLBACK]
    authors = {simulation.parties[place].author for place in (3, 4)}
    assert fault.entries[2] == min(at for at in shown if entries[at].author.data in authors)


@pytest.mark.slow
@pytest.mark.thirds(9)
@pytest.mark.parametrize(
    ("first", "second"), list(product(PHASES, repeat=2)), ids=lambda phase: phase.name.lower()
)
def test_two_leave_and_three_have_their_sum(first: Phase, second: Phase) -> None:
    """Who stays away from confirm or unmask costs an attempt, and sits out the next one."""
    script = Script().drop(1, before=first).drop(3, before=second)
    simulation, record = without_proofs(script)
    assert record.included == (0, 2, 4)
    assert record.sums == sum_in_the_open(simulation, record, vectors_for(ROWS))
    assert not record.findings.faults
    assert not record.halted
    late = {Phase.CONFIRM, Phase.UNMASK}
    gone = {Phase.PUBLISH, Phase.PROVE}
    # Who stays away from rollback is missed there only if an edge of somebody else's leads out.
    silent = Phase.ROLLBACK in {first, second} and not gone & {first, second}
    assert (len(record.attempts) > 1) == (silent or bool(late & {first, second}))


@pytest.mark.slow
def test_parties_stop_when_more_are_gone_than_the_points_are_for() -> None:
    terms = replace(ROWS, late=1)
    script = Script().drop(1, before=Phase.PROVE).drop(LIAR, before=Phase.PROVE)
    script = script.organise(ClosedAnyway(Phase.PROVE, (0, 3, 4), 5))
    simulation, record = without_proofs(script, terms)
    faults = record.findings.faults
    assert {(each.author, each.rule) for each in faults} == {
        (simulation.manifest.organiser, "04-L3")
    }
    assert {place: type(error) for place, error in record.halted.items()} == dict.fromkeys(
        (0, 3, 4), FaultyParty
    )


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
    simulation, record = without_proofs(Script().misbehave(LIAR, ProvesAnyway(missed)))
    assert record.included == (0, 1, 3, 4)
    assert not record.findings.faults
    assert not record.halted.keys() - {LIAR}
    posted = [
        each for each in simulation.log().entries() if Submission.decode(each).entry.phase == 10
    ]
    assert len(posted) == 2 * 5


@pytest.mark.slow
def test_who_is_late_by_the_cut_is_out_and_not_blamed() -> None:
    script = Script().drop(1, before=Phase.PROVE).organise(CutsOff(Phase.PROVE))
    simulation, record = play(script, MANY_ROWS)
    assert not record.findings.faults
    late = [row for row in record.attempts[0].removals if row.rule == "04-C6"]
    assert {(row.phase, row.cause) for row in late} == {(Phase.PROVE, RemovalCause.ABSENT)}
    assert all(row.entry is not None for row in late)
    assert (len(late), len(record.included)) == (1, 6)
    simulation.run_round(vectors_for(MANY_ROWS))
    assert not {row.author for row in late} & set(simulation.findings().rounds[-1].barred)


@pytest.mark.slow
def test_an_abort_behind_the_proofs_is_a_veto() -> None:
    _, record = without_proofs(Script().organise(GivesUp(Phase.CONFIRM, Released.MASKED)))
    assert record.attempts[0].veto
    assert record.attempts[0].abort is AbortReason.ORGANISER
    assert record.attempts[1].sums is not None
