"""Parties that leave, before and after each phase, alone and in pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import RoundRecord, Script
from gopa.protocol.simulation.script import PostsLate, Skip
from tests.protocol.simulation.doubles import SWIFT
from tests.protocol.simulation.worlds import (
    CURIOUS,
    FULL,
    LENIENT,
    RECOVERING,
    RECOVERING_VECTOR,
    SCALAR,
    SIGNED,
    inputs_for,
    require_sound,
    simulate,
)

SPOKEN = [
    Phase.JOIN,
    Phase.COINS,
    Phase.COMMIT,
    Phase.PUBLISH,
    Phase.ROLLBACK,
    Phase.CONFIRM,
    Phase.UNMASK,
]
LEFT = Script().drop(6, before=Phase.PUBLISH)
"""Somebody has left already, so that edges have to be opened."""


def run(
    script: Script, terms: Terms = RECOVERING, setting: SessionSetting = FULL, *, real: bool = False
) -> RoundRecord:
    simulation = simulate(terms, setting, script, toolkit=None if real else SWIFT)
    inputs = inputs_for(terms)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    return record


def removed(record: RoundRecord) -> dict[int, tuple[Phase, RemovalCause]]:
    """Who is on the roll and not in the final list."""
    rows = record.attempts[0].removals
    return {row.position: (row.phase, row.cause) for row in rows if row.position is not None}


RECOVERIES = {
    "masks": (RECOVERING, FULL),
    "seeds, vectors": (RECOVERING_VECTOR, FULL),
    "seeds, words": (RECOVERING_VECTOR, SIGNED),
    "seeds, one word": (RECOVERING, SIGNED),
}
"""Every way in which self-masks are shared."""


@pytest.mark.thirds
@pytest.mark.parametrize("phase", SPOKEN, ids=lambda phase: phase.name.lower())
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", RECOVERIES)
def test_one_dropout(kind: str, when: str, phase: Phase) -> None:
    """It counts as gone in the phase in which it was missed, and nobody is blamed."""
    script = LEFT.drop(2, before=phase) if when == "before" else LEFT.drop(2, after=phase)
    record = run(script, *RECOVERIES[kind], real=kind == "masks")
    missed = phase if when == "before" else following(phase)
    assert record.sums is not None
    expected = {6: (Phase.PUBLISH, RemovalCause.ABSENT)}
    if missed <= Phase.ROLLBACK and missed is not Phase.JOIN:
        expected[2] = (missed, RemovalCause.ABSENT)
    if missed is Phase.JOIN:
        expected = {5: (Phase.PUBLISH, RemovalCause.ABSENT)}  # positions are those of the roll
    assert removed(record) == expected
    assert (2 in record.included) == (missed > Phase.ROLLBACK)
    assert record.attempts[0].recovered == ((2,) if missed in {Phase.CONFIRM, Phase.UNMASK} else ())


def following(phase: Phase) -> Phase:
    later = [each for each in SPOKEN if each > phase]
    return later[0] if later else Phase.RECOVER


PAIRS = [
    (first, second)
    for first, second in product(SPOKEN, SPOKEN)
    if first <= second and first is not Phase.JOIN
]


@pytest.mark.thirds
@pytest.mark.parametrize("kind", RECOVERIES)
@pytest.mark.parametrize("phase", [Phase.CONFIRM, Phase.UNMASK], ids=["confirm", "unmask"])
def test_two_late_dropouts_end_no_round(kind: str, phase: Phase) -> None:
    script = Script().drop(1, before=phase).drop(2, before=Phase.UNMASK)
    record = run(script, *RECOVERIES[kind], real=True)
    assert len(record.attempts) == 1
    assert record.included == (0, 1, 2, 3, 4, 5, 6, 7)
    assert record.attempts[0].recovered == (1, 2)


@pytest.mark.thirds
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda phase: phase.name.lower())
def test_two_dropouts(first: Phase, second: Phase) -> None:
    record = run(LEFT.drop(1, before=first).drop(2, before=second))
    assert record.sums is not None
    assert (1 in record.included, 2 in record.included) == (
        first > Phase.ROLLBACK,
        second > Phase.ROLLBACK,
    )


@pytest.mark.parametrize("phase", SPOKEN[1:], ids=lambda phase: phase.name.lower())
def test_too_many_dropouts_abort_and_release_nothing_or_masked_values(phase: Phase) -> None:
    script = Script()
    for party in range(4):
        script = script.drop(party, before=phase)
    record = run(script, SCALAR)
    first = record.attempts[0]
    assert first.sums is None
    final = phase in {Phase.CONFIRM, Phase.UNMASK} or phase is Phase.ROLLBACK
    assert first.released == final
    reasons = {
        Phase.COINS: AbortReason.TOO_MANY_WITHHELD,
        Phase.CONFIRM: AbortReason.NOT_CONFIRMED,
        Phase.UNMASK: AbortReason.NOT_UNMASKED,
        Phase.ROLLBACK: AbortReason.NOT_CONFIRMED,  # missed one phase later
    }
    assert first.abort is reasons.get(phase, AbortReason.TOO_FEW_LEFT)
    if phase is not Phase.COINS:
        assert not first.unmasked or phase is Phase.UNMASK


@pytest.mark.parametrize("phase", SPOKEN, ids=lambda phase: phase.name.lower())
def test_late_message_counts_as_none(phase: Phase) -> None:
    record = run(LEFT.misbehave(2, PostsLate(phase)))
    assert record.sums is not None
    assert (2 in record.included) == (phase > Phase.ROLLBACK)


def test_who_confirms_late_gives_no_shares() -> None:
    """They would not count, and posting them is a fault: the machine keeps them."""
    record = run(LEFT.misbehave(2, PostsLate(Phase.CONFIRM)).drop(3, before=Phase.UNMASK))
    assert record.attempts[0].recovered == (3,)
    assert record.findings.faults == ()


def test_neighbours_of_dropouts_drop_too_until_the_list_stays() -> None:
    """Each rollback loses one more party; then everybody that is left confirms."""
    script = LEFT.misbehave(1, Skip(Phase.ROLLBACK))
    record = run(script, SCALAR, real=True)
    rollbacks = [each for each in record.attempts[0].lists if each.phase is Phase.ROLLBACK]
    assert [(each.step, each.final) for each in rollbacks] == [(1, False), (2, True)]
    assert record.included == (0, 2, 3, 4, 5, 7)
    opened = {pair for pair in record.attempts[0].opened if 1 in pair and 6 not in pair}
    assert opened == {tuple(sorted((1, other))) for other in record.included}


def test_dropout_in_signed_mode() -> None:
    assert run(LEFT, SCALAR, SIGNED).included == (0, 1, 2, 3, 4, 5, 7)


def test_dropout_without_recovery_costs_an_attempt() -> None:
    """The values were masked; whoever vetoed is barred from the second attempt."""
    record = run(Script().drop(2, before=Phase.UNMASK, rounds={1}), SCALAR)
    assert [attempt.abort for attempt in record.attempts] == [AbortReason.NOT_UNMASKED, None]
    assert record.attempts[0].released
    assert record.included == (0, 1, 3, 4, 5, 6, 7)


def test_lenient_session_keeps_masks_towards_dropouts_as_noise() -> None:
    """Masks that found no partner stay in the sum, and no key is ever opened."""
    terms = replace(CURIOUS, survivors=7, loss=1)
    simulation = simulate(terms, LENIENT, Script().drop(6, before=Phase.PUBLISH))
    inputs = inputs_for(terms)
    record = simulation.run_round(inputs)
    assert record.sums is not None
    plain = sum(inputs[i][0] + simulation.noise_for_tests[1, i][0] for i in record.included)
    assert record.included == (0, 1, 2, 3, 4, 5, 7)
    assert 0 < abs(record.sums[0] - plain) < 7 * 6 * terms.mask_deviation
    assert not record.attempts[0].opened
