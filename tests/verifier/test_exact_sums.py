"""Sessions without noise in which a party lies: both verifiers name the same rule."""

from __future__ import annotations

import io
from dataclasses import replace
from hashlib import sha256

import pytest

from gopa.adversary.deeds import spoil_proof, spoil_weighing
from gopa.adversary.malicious import Deed, Malicious, script_of
from gopa.adversary.setup import EXACT, SessionSetup
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.simulation import Script
from tests.protocol.rules.test_exact_sums import LIES, POINT, SIX, with_more
from tests.verifier.answers import anchors_of, first, second

VECTORS = replace(
    EXACT,
    terms=replace(SIX, parties=5, k=4, loss=1, dimension=3, squared_sensitivity=48),
    setting=SessionSetting(weighted=True),
)


def rules_of(setup: SessionSetup, script: Script) -> set[str]:
    """Which rules are broken in a session, by both verifiers."""
    simulation = setup.simulation(script)
    simulation.run_round(setup.inputs())
    out = io.BytesIO()
    simulation.archive(out)
    manifest = simulation.manifest
    digest = sha256(manifest.to_bytes()).hexdigest()
    archive, anchors = out.getvalue(), anchors_of(manifest.log.decode(), digest)
    found, expected = second(archive, anchors), first(archive, anchors)
    assert (found.verdict, found.faults) == (expected.verdict, expected.faults)
    assert found.rounds == expected.rounds
    return {rule for *_, rule in found.faults}


@pytest.mark.slow
def test_both_find_nothing_where_nobody_lies() -> None:
    assert rules_of(EXACT, Script()) == set()
    assert rules_of(VECTORS, Script()) == set()


@pytest.mark.thirds
@pytest.mark.parametrize(("rule", "deeds"), LIES.values(), ids=LIES)
def test_both_name_the_same_rule(rule: str, deeds: tuple[tuple[str, Deed], ...]) -> None:
    script = script_of([Malicious(3, at=phase, do=deed) for phase, deed in deeds])
    assert rules_of(EXACT, script) == {rule}


@pytest.mark.parametrize("deed", [spoil_proof(), spoil_weighing()], ids=["proof", "weighing"])
def test_both_want_proofs_about_vectors(deed: Deed) -> None:
    assert rules_of(VECTORS, script_of([Malicious(3, at="commit", do=deed)])) == {"04-K3"}


def test_both_want_no_output_where_there_is_room_for_one() -> None:
    setup = replace(EXACT, terms=SIX)
    liar = Malicious(3, at="commit", do=with_more(Phase.COMMIT, output=POINT))
    assert rules_of(setup, script_of([liar]).drop(5, before=Phase.JOIN)) == {"04-K1"}
