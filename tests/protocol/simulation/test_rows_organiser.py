"""A lying organiser where vectors are proved row by row: parties stop, and it is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from bulletin_board import Submission
from gopa.adversary.deeds.organising import ClosedAnyway, CutsOff, GivesUp
from gopa.contract.organiser import (
    AbortReason,
    Released,
    RemovalCause,
)
from gopa.contract.phases import Phase
from gopa.contract.rows import PROVE, TESTS_SIZE, Prove
from gopa.protocol.party import Post
from gopa.protocol.simulation import RoundRecord, Script, Simulation
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.script import Honest
from tests.protocol.simulation.row_worlds import (
    MANY_ROWS,
    ROWS,
    simulate_rows,
    vectors_for,
)
from wire.errors import FaultyParty

LIAR = 2


def play(script: Script) -> tuple[Simulation, RoundRecord]:
    simulation = simulate_rows(ROWS, script)
    return simulation, simulation.run_round(vectors_for(ROWS))


@pytest.mark.slow
def test_parties_stop_when_more_are_gone_than_the_points_are_for() -> None:
    terms = replace(ROWS, late=1)
    script = Script().drop(1, before=Phase.PROVE).drop(LIAR, before=Phase.PROVE)
    script = script.organise(ClosedAnyway(Phase.PROVE, (0, 3, 4), 5))
    simulation = simulate_rows(terms, script)
    record = simulation.run_round(vectors_for(terms))
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
    simulation, record = play(Script().misbehave(LIAR, ProvesAnyway(missed)))
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
