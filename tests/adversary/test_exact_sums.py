"""The attacks on sessions, tried where nobody adds noise: none succeeds there either."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from gopa.adversary.attack import KNOWN, AttackRoles, SessionAttack
from gopa.adversary.malicious import NOISE, ROWS, require_met
from gopa.adversary.setup import SessionSetup
from gopa.adversary.trial import try_out
from gopa.protocol.simulation import Script
from zkp.noise import NoNoise

SESSIONS = {
    name: each
    for name, each in KNOWN.items()
    if isinstance(each, SessionAttack) and not {NOISE, ROWS} & set(each.needs)
}


def without_noise(setup: SessionSetup) -> SessionSetup:
    """The same session with exact sums, which need more than half of the honest parties."""
    terms = setup.terms
    survivors = max(terms.survivors, (terms.parties + terms.corrupt) // 2 + 1)
    exact = replace(
        terms,
        noise=NoNoise(),
        epsilon=None,
        delta=Decimal("0.999"),
        charged=0,
        mask="uniform",
        mask_deviation=0,
        survivors=survivors,
        loss=min(terms.loss, terms.parties - survivors),
    )
    return replace(setup, terms=exact)


@pytest.mark.soak
@pytest.mark.parametrize("name", SESSIONS)
def test_no_attack_succeeds_without_noise(name: str) -> None:
    attack = SESSIONS[name]
    setup = without_noise(attack.setup)
    require_met(attack.needs, setup.simulation(Script()).manifest)
    row = attack.judged_elsewhere(try_out(setup, attack.actors(AttackRoles())))
    assert not row.succeeded
    assert not row.harm


def test_attacks_on_noise_are_not_tried_without_it() -> None:
    noisy = [each for each in KNOWN.values() if NOISE in getattr(each, "needs", ())]
    assert {"zero-noise", "scale-noise", "copied-noise-seed"} <= {each.name for each in noisy}
    assert "oversized-message" in SESSIONS
