"""Sessions refuse vectors that are proved row by row, before anything is said or stored."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gopa.party.policy import LocalPolicy
from gopa.rounds.toolkit import require_carried_out
from gopa.sessions.durable_party import DurableParty
from gopa.sessions.organising import DurableOrganiser, Schedule
from gopa.simulation import permissive
from tests.messages.samples import manifest, row_manifest, signing_key
from tests.randomness import seeded
from wire.errors import UsageError


def test_a_session_of_another_path_is_carried_out() -> None:
    require_carried_out(manifest())
    with pytest.raises(UsageError, match="path `rows`"):
        require_carried_out(row_manifest())


def test_no_organiser_begins_one() -> None:
    vault: Any = None  # it is not looked at
    given = row_manifest()
    with pytest.raises(UsageError, match="simulate it"):
        DurableOrganiser(vault, given, signing_key("organiser"), Schedule(), rng=seeded("rows"))


def test_no_party_joins_one_whatever_it_accepts() -> None:
    vault: Any = None
    given = row_manifest()
    for policy in (permissive(given.terms), LocalPolicy(Decimal(2), Decimal("0.001"))):
        with pytest.raises(UsageError, match="simulate it"):
            DurableParty(vault, given, signing_key("party 1"), policy, rng=seeded("rows"))
