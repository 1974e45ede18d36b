"""Sessions that prove vectors row by row: honest ones, departures in every phase, and lies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from gopa.adversary.deeds import add_to_the_sum, overlook
from gopa.auditing import Verdict, audit
from gopa.contract.manifest import TestCoins
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.contract.row_terms import origin
from gopa.contract.terms import Terms
from gopa.protocol.rules.rows import RowProving
from gopa.protocol.simulation import RoundRecord, Script, Simulation
from gopa.support.wording import ROW_NOISE
from tests.lies import lying
from tests.lies.table import LIES
from tests.protocol.simulation.row_worlds import (
    IN_ROWS,
    MANY_ROWS,
    RECOVERING,
    ROWS,
    WEIGHTED,
    in_turn,
    play,
    shifted,
    shifted_together,
    simulate_rows,
    sum_in_the_open,
    vectors_for,
)
from tests.protocol.simulation.worlds import culprits, require_checked
from wire.errors import UsageError
from zkp.noise import NoNoise

LIAR = 2
IDENTITY = bytes(32)

Played = tuple[Simulation, RoundRecord]


def require_sums(played: Played, *included: int) -> None:
    """The result is that of these parties, and nobody opened an edge between two of them."""
    simulation, record = played
    terms = simulation.manifest.terms
    assert record.included == included
    assert record.sums == sum_in_the_open(simulation, record, vectors_for(terms))
    for attempt in record.attempts:
        final = set(attempt.final or ())
        assert not [pair for pair in attempt.opened if final.issuperset(pair)]


def require_sums_of(simulation: Simulation, record: RoundRecord, vectors: list[list[int]]) -> None:
    assert record.sums == sum_in_the_open(simulation, record, vectors)


def removed(record: RoundRecord, attempt: int = -1) -> set[tuple[int, Phase, RemovalCause, str]]:
    return {
        (row.position, row.phase, row.cause, row.rule)
        for row in record.attempts[attempt].removals
        if row.position is not None
    }


def others(*gone: int, terms: Terms = ROWS) -> list[int]:
    return [each for each in range(terms.parties) if each not in gone]


def test_a_session_of_rows_has_the_sum_of_inputs_and_noise() -> None:
    played = play()
    require_sums(played, *range(5))
    simulation, record = played
    assert not record.findings.faults
    assert not record.halted
    assert [each.final for each in record.attempts[0].lists if each.phase is Phase.PROVE] == [True]
    require_checked(simulation)


@pytest.mark.slow
def test_eight_parties_of_whom_three_leave_in_three_phases() -> None:
    script = Script().drop(1, before=Phase.PUBLISH).drop(4, before=Phase.PROVE)
    played = play(script.drop(6, before=Phase.ROLLBACK), MANY_ROWS)
    require_sums(played, 0, 2, 3, 5, 7)
    assert not played[1].findings.faults


@pytest.mark.slow
def test_three_rounds_and_words_of_another_width() -> None:
    simulation = simulate_rows(ROWS)
    for seed in range(3):
        vectors = vectors_for(ROWS, seed)
        record = simulation.run_round(vectors)
        assert record.sums == sum_in_the_open(simulation, record, vectors)
    assert simulation.over
    assert record.findings.complete


@pytest.mark.slow
def test_a_private_weight_is_the_last_coordinate() -> None:
    vectors = [[*row[:-1], 10 + place] for place, row in enumerate(vectors_for(WEIGHTED))]
    simulation = simulate_rows(WEIGHTED, weighted=True)
    record = simulation.run_round(vectors)
    expected = sum_in_the_open(simulation, record, vectors)
    weights = expected[-1] + origin(WEIGHTED) * WEIGHTED.parties  # it has no origin
    assert record.sums == (*expected[:-1], weights)
    again: list[list[int]] = [[*row[:-1], -1] for row in vectors]
    with pytest.raises(UsageError, match="from 0 to"):
        simulation.run_round(again)


def test_a_vector_that_is_too_long_is_refused_before_anything_is_said() -> None:
    simulation = simulate_rows(ROWS)
    long = [[origin(ROWS)] * ROWS.dimension for _ in range(ROWS.parties)]
    long[LIAR][0] += 11
    with pytest.raises(UsageError, match="longer than the terms allow"):
        simulation.run_round(long)
    long[LIAR][0] -= 1
    simulation = simulate_rows(ROWS)
    require_sums_of(simulation, simulation.run_round(long), long)


@pytest.mark.slow
def test_coins_of_a_simulation_and_words_as_wide_as_can_be() -> None:
    setting = replace(IN_ROWS, beacon=TestCoins(), word_width=64)
    simulation = simulate_rows(ROWS, setting=setting)
    vectors = vectors_for(ROWS)
    require_sums_of(simulation, simulation.run_round(vectors), vectors)


@pytest.mark.slow
def test_an_exact_sum_of_vectors() -> None:
    terms = replace(
        MANY_ROWS,
        noise=NoNoise(),
        epsilon=None,
        charged=0,
        noise_square=1,
        spike=1,
    )
    simulation = simulate_rows(terms, Script().drop(LIAR, before=Phase.PROVE))
    vectors = vectors_for(terms)
    record = simulation.run_round(vectors)
    rows = [vectors[party] for party in others(LIAR, terms=terms)]
    assert record.sums == tuple(
        sum(column) - 7 * origin(terms) for column in zip(*rows, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("phase", [Phase.COMMIT, Phase.PUBLISH, Phase.PROVE])
def test_who_leaves_before_a_list_is_rolled_back(phase: Phase) -> None:
    played = play(Script().drop(LIAR, before=phase))
    require_sums(played, *others(LIAR))
    rules = {Phase.COMMIT: "04-K4", Phase.PUBLISH: "04-P2", Phase.PROVE: "14-P8"}
    assert removed(played[1]) == {(LIAR, phase, RemovalCause.ABSENT, rules[phase])}
    assert not played[1].findings.faults


@pytest.mark.slow
def test_who_refuses_to_open_an_edge_to_somebody_without_a_proof_is_gone() -> None:
    script = Script().drop(4, before=Phase.PROVE).drop(LIAR, before=Phase.ROLLBACK)
    played = play(script)
    require_sums(played, *others(LIAR, 4))
    assert [each.step for each in played[1].attempts[0].lists if each.step] == [1, 2]


@pytest.mark.slow
def test_more_may_not_leave_than_the_points_are_for() -> None:
    terms = replace(ROWS, late=1)
    both = Script().drop(1, before=Phase.PROVE).drop(LIAR, before=Phase.PROVE)
    one = play(Script().drop(LIAR, before=Phase.PROVE), terms)
    require_sums(one, *others(LIAR))
    _, record = play(both, terms)
    assert record.attempts[0].abort is AbortReason.TOO_FEW_LEFT
    assert record.attempts[0].culprits == (1, LIAR)


@pytest.mark.slow
def test_a_party_that_left_the_rounds_before_comes_back_with_the_same_rows() -> None:
    script = Script().drop(LIAR, before=Phase.CONFIRM, rounds=[1])
    played = play(script)
    require_sums(played, *others(LIAR))
    assert len(played[1].attempts) == 2


@pytest.mark.slow
def test_an_invalid_proof_of_lengths_bars_for_good_and_one_of_words_does_not() -> None:
    for lie, barred in (("another test", True), ("another test of carries", False)):
        script = Script().misbehave(LIAR, *LIES[lie].does)
        simulation, record = play(script)
        second = simulation.run_round(vectors_for(ROWS))
        author = simulation.parties[LIAR].author
        assert (author in second.attempts[0].barred) is barred, lie
        assert record.sums is not None


@pytest.mark.slow
@pytest.mark.parametrize("edges", [(3,), (3, 4)])
def test_who_lies_about_an_edge_is_convicted_by_its_key(edges: tuple[int, ...]) -> None:
    simulation, record = played = play(Script().misbehave(LIAR, shifted(*edges)))
    require_sums(played, *others(LIAR))
    assert culprits(simulation, record) == {LIAR: {"14-K6"}}
    (fault,) = record.findings.faults
    assert len(fault.entries) == 3
    assert removed(record) == {(LIAR, Phase.ROLLBACK, RemovalCause.CONVICTED, "14-K6")}
    second = simulation.run_round(vectors_for(ROWS))
    assert simulation.parties[LIAR].author in second.attempts[0].barred


@pytest.mark.slow
def test_a_silent_liar_about_an_edge_is_convicted_by_the_other_end() -> None:
    script = Script().misbehave(LIAR, shifted(3)).drop(LIAR, before=Phase.ROLLBACK)
    simulation, record = played = play(script)
    require_sums(played, *others(LIAR))
    assert culprits(simulation, record) == {LIAR: {"14-K6"}}


@pytest.mark.slow
def test_two_who_lie_alike_about_their_edge_are_found_by_their_own_masks() -> None:
    script = Script().misbehave(LIAR, shifted_together(3)).misbehave(3, shifted_together(LIAR))
    simulation, record = played = play(script)
    assert record.attempts[0].abort is AbortReason.NOT_UNMASKED
    assert record.attempts[0].released
    assert set(record.attempts[0].culprits) == {LIAR, 3}
    assert culprits(simulation, record) == {LIAR: {"14-K6"}, 3: {"14-K6"}}
    require_sums(played, *others(LIAR, 3))


@pytest.mark.slow
def test_a_seed_that_neighbours_recover_convicts_as_well() -> None:
    script = Script().misbehave(LIAR, shifted_together(3)).misbehave(3, shifted_together(LIAR))
    silent = script.drop(LIAR, before=Phase.UNMASK).drop(3, before=Phase.UNMASK)
    simulation, record = played = play(silent, RECOVERING)
    assert record.attempts[0].abort is AbortReason.NOT_UNMASKED
    assert culprits(simulation, record) == {LIAR: {"14-K6"}, 3: {"14-K6"}}
    require_sums(played, *others(LIAR, 3, terms=RECOVERING))


@pytest.mark.slow
def test_a_liar_about_an_edge_to_somebody_who_leaves_is_convicted_alone() -> None:
    script = Script().misbehave(LIAR, shifted(3)).drop(3, before=Phase.PROVE)
    simulation, record = played = play(script)
    require_sums(played, *others(LIAR, 3))
    assert culprits(simulation, record) == {LIAR: {"14-K6"}}


def lies_in_two_rollbacks() -> Script:
    """A key of the first rollback convicts a liar, and so would one of the second.

    Its accomplice has said the same about their edge, stays, and has to open it then.
    """
    edges = in_turn(shifted_together(3), shifted(0))
    script = Script().misbehave(LIAR, edges, lying("prove", overlook(3)))
    return script.misbehave(3, shifted_together(LIAR), lying("prove", overlook(LIAR)))


@pytest.mark.slow
def test_who_was_convicted_in_a_rollback_is_not_convicted_again_in_the_next() -> None:
    simulation, record = played = play(lies_in_two_rollbacks())
    require_sums(played, *others(LIAR, 3))
    steps = {row.position: (row.cause, row.step) for row in record.attempts[0].removals}
    convicted = RemovalCause.CONVICTED
    assert steps == {LIAR: (convicted, 1), 3: (convicted, 2)}
    found = [(fault.author, fault.rule) for fault in record.findings.faults]
    assert found == [(simulation.parties[each].author, "14-K6") for each in (LIAR, 3)]


@pytest.mark.parametrize("neighbour", [None, 3])
def test_without_these_rules_the_sum_would_be_another_one(
    neighbour: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowProving, "liars_about_seeds", lambda *_: {})
    monkeypatch.setattr("gopa.protocol.rules.rows.disputed_edges", lambda *_: ())
    simulation, record = play(
        Script().misbehave(LIAR, lying("publish", add_to_the_sum(1000, neighbour)))
    )
    first, *rest = sum_in_the_open(simulation, record, vectors_for(ROWS))
    assert record.sums == (first + 1000, *rest)
    assert not record.findings.faults


@pytest.mark.slow
def test_an_audit_says_valid_and_names_the_liar(tmp_path: Path) -> None:
    terms = replace(ROWS, rounds=1)
    simulation, record = play(Script().misbehave(LIAR, shifted(3)), terms)
    assert record.findings.complete
    archive = tmp_path / "session.gopa"
    with archive.open("wb") as out:
        simulation.archive(out)
    report = audit(archive, trust_embedded=True)
    assert report.verdict is Verdict.VALID
    text = report.to_json().decode()
    assert simulation.parties[LIAR].author.hex() in text
    assert "14-K6" in text
    assert "noise that nobody could aim" in report.summary
    assert ROW_NOISE in report.limits
    step = Fraction(terms.high - terms.low) / terms.steps
    assert record.sums is not None
    assert Fraction(report.rounds[0].total[0]) == step * record.sums[0]
    require_checked(simulation)
