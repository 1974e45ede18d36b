"""Every lie once, with real proofs: the liar is named, nobody else is, the sum is exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from gopa.adversary.deeds import (
    accuse,
    another_input,
    another_nonce,
    copy_key,
    copy_proof,
    copy_seed,
    other_seed,
    spoil_proof,
    spoil_value,
    unproved_key,
    wrong_edge,
    wrong_key,
    wrong_recovery,
    wrong_seed,
    wrong_share,
)
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import Behaviour, RoundRecord, Script
from gopa.protocol.simulation.script import Garbage, PostsLate, Replay, Skip, Twice, TwiceLater
from tests.lies import lying
from tests.protocol.simulation.worlds import (
    FULL,
    RECOVERING,
    RECOVERING_VECTOR,
    SCALAR,
    SIGNED,
    VECTOR,
    culprits,
    inputs_for,
    require_checked,
    require_sound,
    simulate,
)

LIAR, LEAVER, VICTIM = 2, 6, 5
EVERYBODY = tuple(range(8))


@dataclass(frozen=True, slots=True)
class Case:
    """A lie, the rule that names the liar (or none), and how it leaves the final list."""

    lie: Behaviour
    rule: str | None
    phase: Phase | None
    cause: RemovalCause | None = None
    terms: Terms = RECOVERING
    setting: SessionSetting = FULL
    others: Callable[[Script], Script] = lambda script: script


def victim(terms: Terms = RECOVERING) -> bytes:
    return simulate(terms).parties[VICTIM].author


def leaves(script: Script) -> Script:
    return script.drop(LEAVER, before=Phase.PUBLISH)


def vetoes(script: Script) -> Script:
    return script.misbehave(VICTIM, Skip(Phase.UNMASK))


INVALID, STRUCK, CONVICTED, ABSENT = (
    RemovalCause.INVALID,
    RemovalCause.STRUCK,
    RemovalCause.CONVICTED,
    RemovalCause.ABSENT,
)
SEEDS = {
    "wrong share of a seed": Case(
        lying("commit", wrong_share()), "04-A4", Phase.PUBLISH, CONVICTED
    ),
    "false accusation, share of a seed": Case(
        lying("accuse", accuse(about=About.SHARE)), "04-A5", Phase.PUBLISH, CONVICTED
    ),
    "refuses to unmask, seed recovered": Case(Skip(Phase.UNMASK), None, None),
    "wrong seed, the right one recovered": Case(lying("unmask", wrong_seed()), "04-U1", None),
    "wrong share of a seed given out": Case(
        lying("recover", wrong_recovery()), "04-U3", None, others=vetoes
    ),
    "another seed dealt, its own opened": Case(lying("commit", other_seed()), None, None),
}
"""Where shares are of the seed."""

CASES = {
    "key without possession": Case(lying("join", unproved_key()), "04-J3", Phase.JOIN, INVALID),
    "copied key": Case(lying("join", copy_key(VICTIM)), "04-J3", Phase.JOIN, INVALID),
    "copied noise seed": Case(lying("join", copy_seed(VICTIM)), None, Phase.JOIN, INVALID),
    "wrong nonce": Case(lying("coins", another_nonce()), "04-V1", Phase.COINS, INVALID),
    "withheld nonce": Case(Skip(Phase.COINS), None, Phase.COINS, ABSENT),
    "bad proof": Case(lying("commit", spoil_proof()), "04-K3", Phase.COMMIT, INVALID),
    "bad proof, vectors": Case(
        lying("commit", spoil_proof()), "04-K3", Phase.COMMIT, INVALID, VECTOR
    ),
    "copied proof": Case(lying("commit", copy_proof(VICTIM)), "04-K3", Phase.COMMIT, INVALID),
    "edge that differs": Case(lying("commit", wrong_edge()), "04-A3", Phase.PUBLISH, CONVICTED),
    "edge that differs, signed": Case(
        lying("commit", wrong_edge()), "04-A3", Phase.PUBLISH, CONVICTED, SCALAR, SIGNED
    ),
    "edge that differs, vectors": Case(
        lying("commit", wrong_edge()), "04-A3", Phase.PUBLISH, CONVICTED, VECTOR
    ),
    "wrong share": Case(lying("commit", wrong_share()), "04-A4", Phase.PUBLISH, CONVICTED),
    "false accusation": Case(lying("accuse", accuse()), "04-A1", Phase.PUBLISH, CONVICTED),
    "accusation without proof": Case(
        lying("accuse", accuse(proved=False)), "04-A1", Phase.PUBLISH, CONVICTED
    ),
    "false accusation, share": Case(
        lying("accuse", accuse(about=About.SHARE)), "04-A5", Phase.PUBLISH, CONVICTED
    ),
    "false accusation, share unproved": Case(
        lying("accuse", accuse(about=About.SHARE, proved=False)), "04-A2", Phase.PUBLISH, CONVICTED
    ),
    "accusation about a share where none is dealt": Case(
        lying("accuse", accuse(about=About.SHARE)), "04-A1", Phase.PUBLISH, CONVICTED, SCALAR
    ),
    "wrong masked value": Case(lying("publish", spoil_value()), "04-P1", Phase.PUBLISH, INVALID),
    "wrong masked vector": Case(
        lying("publish", spoil_value()), "04-P1", Phase.PUBLISH, INVALID, VECTOR
    ),
    "wrong opening": Case(
        lying("rollback", wrong_key()), "04-O2", Phase.ROLLBACK, INVALID, others=leaves
    ),
    "wrong opening, signed": Case(
        lying("rollback", wrong_key()), "04-O2", Phase.ROLLBACK, INVALID, SCALAR, SIGNED, leaves
    ),
    "refuses to open": Case(Skip(Phase.ROLLBACK), None, Phase.ROLLBACK, ABSENT, others=leaves),
    "opens late": Case(PostsLate(Phase.ROLLBACK), None, Phase.ROLLBACK, ABSENT, others=leaves),
    "opens twice": Case(Twice(Phase.ROLLBACK), "04-E3", Phase.ROLLBACK, STRUCK, others=leaves),
    "refuses to confirm": Case(Skip(Phase.CONFIRM), None, None),
    "refuses to unmask, recovered": Case(Skip(Phase.UNMASK), None, None),
    "wrong seed, recovered": Case(lying("unmask", wrong_seed()), "04-U1", None),
    "wrong share given out": Case(lying("recover", wrong_recovery()), "04-U3", None, others=vetoes),
    **{
        f"{name}, {kind}": replace(case, terms=RECOVERING_VECTOR, setting=setting)
        for kind, setting in {"vectors": FULL, "words": SIGNED}.items()
        for name, case in SEEDS.items()
    },
    "two joins": Case(Twice(Phase.JOIN), "04-E3", Phase.JOIN, STRUCK),
    "two nonces": Case(Twice(Phase.COINS), "04-E3", Phase.COINS, STRUCK),
    "two commits": Case(Twice(Phase.COMMIT), "04-E3", Phase.COMMIT, STRUCK),
    "two values": Case(Twice(Phase.PUBLISH), "04-E3", Phase.PUBLISH, STRUCK),
    "two confirmations": Case(Twice(Phase.CONFIRM), "04-E3", None),
    "two seeds": Case(Twice(Phase.UNMASK), "04-E3", None),
    "second value after the final close": Case(
        TwiceLater(Phase.PUBLISH, Phase.PUBLISH), "04-E3", None
    ),
    "second commit after the close of publish": Case(
        TwiceLater(Phase.COMMIT, Phase.PUBLISH), "04-E3", None
    ),
    "no message, join": Case(Garbage(Phase.JOIN), "04-S4", Phase.JOIN, INVALID),
    "no message, coins": Case(Garbage(Phase.COINS), "04-S4", Phase.COINS, INVALID),
    "no message, publish": Case(Garbage(Phase.PUBLISH), "04-S4", Phase.PUBLISH, INVALID),
}


def run(case: Case) -> tuple[RoundRecord, dict[int, set[str]]]:
    script = case.others(Script()).misbehave(LIAR, case.lie)
    simulation, inputs = simulate(case.terms, case.setting, script), inputs_for(case.terms)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs, {LIAR})
    require_checked(simulation)
    return record, culprits(simulation, record)


VARIANTS = {
    name: case
    for name, case in CASES.items()
    if name.startswith(("two ", "second ", "no message, join", "no message, coins"))
    or name.endswith((", signed", ", vectors", ", words"))
}
"""Lies of which another case is of the same kind."""

LIES = {name: case for name, case in CASES.items() if name not in VARIANTS}


@pytest.mark.thirds(2)
@pytest.mark.parametrize("case", LIES.values(), ids=LIES)
def test_liar_is_named_and_nobody_else(case: Case) -> None:
    require_named(case)


@pytest.mark.thirds
@pytest.mark.parametrize("case", VARIANTS.values(), ids=VARIANTS)
def test_liar_is_named_elsewhere_too(case: Case) -> None:
    require_named(case)


def require_named(case: Case) -> None:
    """The liar alone is blamed and left out, for what it did and where it did it."""
    record, blamed = run(case)
    assert blamed == ({} if case.rule is None else {LIAR: {case.rule}})
    assert record.sums is not None
    left = {LEAVER} if case.others is leaves else set()
    gone = {LIAR} if case.phase is not None else set()
    assert set(record.included) == set(EVERYBODY) - left - gone
    author = simulate(case.terms, case.setting).parties[LIAR].author
    rows = [row for row in record.attempts[0].removals if row.author == author]
    assert [(row.phase, row.cause) for row in rows] == (
        [] if case.phase is None else [(case.phase, case.cause)]
    )


@pytest.mark.parametrize(
    "phase",
    [Phase.JOIN, Phase.COINS, Phase.COMMIT, Phase.PUBLISH, Phase.CONFIRM, Phase.UNMASK],
    ids=lambda phase: phase.name.lower(),
)
def test_replay_of_an_earlier_round_counts_for_nothing(phase: Phase) -> None:
    simulation = simulate(RECOVERING, FULL, Script().misbehave(LIAR, Replay(phase)))
    for number in range(2):
        inputs = inputs_for(RECOVERING, number)
        record = simulation.run_round(inputs)
        require_sound(simulation, record, inputs)
        assert record.sums is not None
        replayed = number == 1 and phase < Phase.ROLLBACK
        assert (LIAR in record.included) == (not replayed)
        seed_recovered = number == 1 and phase in {Phase.UNMASK, Phase.CONFIRM}
        assert record.attempts[0].recovered == (
            (LIAR,) if seed_recovered and phase is Phase.UNMASK else ()
        )


def test_convicted_party_is_barred_from_all_later_rounds() -> None:
    once = lying("commit", spoil_proof(), frozenset({1}))
    simulation = simulate(SCALAR, FULL, Script().misbehave(LIAR, once))
    for number in range(2):
        inputs = inputs_for(SCALAR, number)
        record = simulation.run_round(inputs)
        require_sound(simulation, record, inputs, {LIAR})
        assert LIAR not in record.included
    assert record.attempts[0].barred == (simulation.parties[LIAR].author,)


@pytest.mark.thirds
@pytest.mark.parametrize("setting", [FULL, SIGNED], ids=["vectors", "words"])
def test_dealer_of_another_seed_vetoes_one_attempt_of_the_session(setting: SessionSetting) -> None:
    script = Script().misbehave(LIAR, lying("commit", other_seed()), Skip(Phase.UNMASK))
    simulation = simulate(RECOVERING_VECTOR, setting, script)
    first, second = (
        simulation.run_round(inputs_for(RECOVERING_VECTOR, number)) for number in (1, 2)
    )
    assert [each.abort for each in first.attempts] == [AbortReason.NOT_UNMASKED, None]
    assert first.attempts[0].culprits == (LIAR,)
    assert [each.abort for each in second.attempts] == [None]
    for number, record in ((1, first), (2, second)):
        require_sound(simulation, record, inputs_for(RECOVERING_VECTOR, number), {LIAR})
        assert set(record.included) == set(EVERYBODY) - {LIAR}
    assert culprits(simulation, second) == {LIAR: {"04-U5"}}
    require_checked(simulation)


def test_refusal_to_unmask_without_recovery_vetoes_one_attempt() -> None:
    simulation = simulate(SCALAR, FULL, Script().misbehave(LIAR, Skip(Phase.UNMASK)))
    inputs = inputs_for(SCALAR)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    assert [each.abort for each in record.attempts] == [AbortReason.NOT_UNMASKED, None]
    assert record.attempts[0].culprits == (LIAR,)
    assert record.attempts[1].barred == (simulation.parties[LIAR].author,)


def test_input_is_the_same_in_every_attempt_and_a_changed_one_is_refused() -> None:
    script = Script().misbehave(VICTIM, Skip(Phase.UNMASK, frozenset({1})))
    script = script.misbehave(LIAR, lying("join", another_input(), frozenset({2})))
    simulation, inputs = simulate(SCALAR, FULL, script), inputs_for(SCALAR)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs, {LIAR})
    assert culprits(simulation, record) == {LIAR: {"04-J5"}}
    assert record.included == (0, 1, 3, 4, 6, 7)


@pytest.mark.slow
def test_vetoes_end_at_the_charged_limit() -> None:
    """charged = 1: two releases of one logical round, and no third attempt."""
    script = Script()
    for party, number in ((1, 1), (2, 2), (3, 3)):
        script = script.misbehave(party, Skip(Phase.UNMASK, frozenset({number})))
    simulation, inputs = simulate(SCALAR, FULL, script), inputs_for(SCALAR)
    record = simulation.run_round(inputs)
    require_sound(simulation, record, inputs)
    assert [each.releases for each in record.attempts] == [1, 2]
    assert record.sums is None
    again = simulation.run_round(inputs_for(SCALAR, 2))
    assert [each.logical for each in again.attempts] == [1, 1]
    assert again.sums is not None
