"""Sessions without noise: which manifests are valid, and that a logical round releases one sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bulletin_board import Submission
from commitments import ristretto255
from gopa.adversary.deeds.kinds import change, only_at
from gopa.adversary.deeds.organising import GivesUp
from gopa.adversary.malicious import Deed, Malicious, script_of
from gopa.adversary.setup import EXACT, FOUR, SMALL, VECTOR, SessionSetup
from gopa.contract.manifest import MANIFEST, CommitReveal, Manifest, OpenAdmission
from gopa.contract.organiser import AbortReason, Released
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.admission.view import Sessions
from gopa.protocol.rules import RoundFindings
from gopa.protocol.rules.ledger import require_one_sum
from gopa.protocol.rules.mailbox import BreaksRule
from gopa.protocol.simulation import Script
from gopa.support.wording import EXACT as WORDS
from gopa.support.wording import sentence
from tests.contract.samples import manifest
from tests.verifier.answers import first, second
from tests.verifier.test_sessions import archive_of
from wire.errors import MalformedMessage, UsageError
from zkp.noise import binomial

TERMS = EXACT.terms
SIX = replace(TERMS, parties=6, k=5, survivors=4, loss=2)
LONG = replace(TERMS, dimension=3, squared_sensitivity=48)


def offered(*, most: int | None = None, **changes: Any) -> Manifest:
    """A manifest with these terms, for a roster or for anybody."""
    agreed = manifest(replace(TERMS, **changes), beacon=CommitReveal())
    return agreed if most is None else replace(agreed, admission=OpenAdmission(most))


TWO_SUMS: dict[str, dict[str, Any]] = {
    "a charged retry": {"charged": 1},
    "Gaussian masks": {"mask": "gaussian", "mask_deviation": 1000},
    "half of the honest parties": {"parties": 5, "k": 4, "survivors": 3, "loss": 1},
    "two attempts for anybody": {"attempts": 2, "most": 4},
}
ONE_SUM: dict[str, dict[str, Any]] = {
    "several attempts": {"attempts": 5},
    "just more than half": {"parties": 6, "k": 5, "survivors": 4, "loss": 1},
    "one attempt for anybody": {"attempts": 1, "most": 4},
}


@pytest.mark.parametrize("changes", ONE_SUM.values(), ids=ONE_SUM)
def test_manifests_that_release_one_sum(changes: dict[str, Any]) -> None:
    agreed = offered(**changes)
    require_one_sum(agreed)
    assert MANIFEST.decode(agreed.to_bytes()) == agreed


@pytest.mark.parametrize("changes", TWO_SUMS.values(), ids=TWO_SUMS)
def test_manifests_that_could_release_two_sums(changes: dict[str, Any]) -> None:
    require_one_sum(offered())
    agreed = offered(**changes)
    with pytest.raises(BreaksRule) as refused:
        require_one_sum(agreed)
    assert refused.value.rule == "04-S5"
    noisy = {name: value for name, value in changes.items() if name != "most"}
    require_one_sum(manifest(replace(FOUR, **noisy), beacon=CommitReveal()))


def test_an_epsilon_and_a_law_come_together() -> None:
    """Neither stands in for the other: not an empty epsilon, and not a law of nothing."""
    for wrong in ({"epsilon": TERMS.delta}, {"noise": binomial(8)}):
        with pytest.raises(UsageError) as refused:
            replace(TERMS, **wrong)
        assert refused.value.field == "epsilon"
    body = offered().to_bytes()
    again = MANIFEST.decode(body)
    assert again.terms.epsilon is None
    named = body.replace(b"\x03\x01" + bytes(8) + b"\x00", b"\x03\x01" + bytes(8) + b"\x011", 1)
    assert len(named) == len(body) + 1
    with pytest.raises((MalformedMessage, UsageError)):
        MANIFEST.decode(named)


def played(setup: SessionSetup, script: Script) -> tuple[RoundFindings, ...]:
    """The attempts of one logical round."""
    simulation = setup.simulation(script)
    return simulation.run_round(setup.inputs()).attempts


def test_after_a_veto_there_is_no_second_sum() -> None:
    """An organiser that ends a round behind the final close gets no other set to compare with."""
    veto = Script().organise(GivesUp(Phase.CONFIRM, Released.MASKED))
    (only,) = played(EXACT, veto)
    assert only.abort is AbortReason.ORGANISER
    assert only.released
    first, second = played(SMALL, veto)
    assert first.released
    assert second.sums is not None


def test_an_attempt_that_released_nothing_is_followed_by_another() -> None:
    early = Script().organise(GivesUp(Phase.COMMIT))
    first, second = played(EXACT, early)
    assert not first.released
    assert second.sums == (sum(row[0] for row in EXACT.inputs()),)


@pytest.mark.parametrize(("exact", "noisy"), [(TERMS, FOUR), (LONG, VECTOR)], ids=["one", "three"])
def test_nothing_about_noise_is_posted(exact: Terms, noisy: Terms) -> None:
    """No seed, no output, and a proof about the range alone."""
    logs = []
    for terms in (exact, noisy):
        setup = replace(EXACT, terms=terms)
        simulation = setup.simulation(Script())
        simulation.run_round(setup.inputs())
        logs.append(simulation.parties[0].access.board.entries)
    for phase in (Phase.JOIN, Phase.COMMIT):
        ours, theirs = (
            max(len(each.entry.body) for each in log if each.entry.phase == phase) for log in logs
        )
        assert ours <= theirs - 32


def with_more(phase: Phase, **more: Any) -> Deed:
    """Posts fields that only sessions with noise have."""
    return only_at(phase, change(lambda content: replace(content, **more)))


POINT = ristretto255().generator.to_bytes()


def test_an_output_is_none_where_there_is_room_for_one() -> None:
    """With fewer neighbours than there could be a commit may be longer, and says no more.

    Both verifiers cite the rule.
    """
    setup = replace(EXACT, terms=SIX)
    liar = Malicious(3, at="commit", do=with_more(Phase.COMMIT, output=POINT))
    for actors, blamed in (((), set()), ((liar,), {"04-K1"})):
        script = script_of(actors).drop(5, before=Phase.JOIN)
        simulation = setup.simulation(script)
        record = simulation.run_round(setup.inputs())
        assert {fault.rule for fault in record.findings.faults} == blamed
        found = second(*archive_of(simulation))
        assert found == first(*archive_of(simulation))
        assert {rule for *_, rule in found.faults} == blamed


@pytest.mark.parametrize("setup", [EXACT, SMALL], ids=["exact", "noisy"])
def test_the_page_of_a_board_says_it_from_the_beginning(setup: SessionSetup) -> None:
    simulation = setup.simulation(Script())
    said = []
    for played in (False, True):
        if played:
            simulation.run_round(setup.inputs())
        sessions = Sessions()
        policy = sessions.policy()
        log = simulation.parties[0].access.board
        for index, raw in enumerate(log.reader().entries()):
            entry = Submission.decode(raw).entry
            policy.admit(entry)
            policy.observe(index, entry)
        picture = sessions.picture(simulation.manifest.session)
        assert picture is not None
        said.append(sentence(WORDS) in picture.state)
    assert said == [setup is EXACT] * 2
