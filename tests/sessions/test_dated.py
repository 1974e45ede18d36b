"""A runner says when its party knew the roll, where coins come from a beacon (04-V4)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest
from gopa.protocol.party import Dated, Event, Party
from gopa.protocol.party.states import BetweenRounds, Enrolled, PartyState
from gopa.sessions.board_access import RoundPatience as Patience
from gopa.sessions.party_runner import PartyRunner
from tests.contract.samples import POLICY, manifest
from tests.protocol.rules.worlds import small_terms

ENROLLED = Enrolled(cast("Any", None), cast("Any", None), bytes(32), 7)


@dataclass
class Told:
    """A party that keeps what it is told."""

    manifest: Manifest
    state: PartyState
    events: list[Event] = field(default_factory=list)
    wanted: None = None

    def step(self, event: Event) -> tuple[()]:
        self.events.append(event)
        party = cast("Any", SimpleNamespace(_context=None))
        self.state, _ = Party._step(party, self.state, event)
        return ()


def told(agreed: Manifest, stage: Any, *dates: float) -> list[Event]:
    """What the party is told while the clock shows these dates."""
    state = PartyState(cast("Any", None), stage)
    party = Told(agreed, state)
    shown = iter(dates)
    waiting = Patience(date=lambda: next(shown))
    runner = object.__new__(PartyRunner)
    runner._party, runner._waiting, runner._executor = cast("Any", party), waiting, None
    for _ in dates:
        asyncio.run(runner._date())
    return party.events


DRAND = manifest(small_terms(beacon="drand"), beacon=DrandBeacon(QUICKNET), policy=POLICY)


def test_the_first_time_counts_and_is_rounded_up() -> None:
    assert told(DRAND, ENROLLED, 1_700_000_000.2, 1_700_000_009.0) == [Dated(1_700_000_001)]


@pytest.mark.parametrize(
    "stage", [BetweenRounds(), replace(ENROLLED, noted=5)], ids=["waits", "told"]
)
def test_nothing_is_said_where_no_time_is_wanted(stage: Any) -> None:
    assert told(DRAND, ENROLLED, 3.0)
    assert told(DRAND, stage, 3.0) == []


def test_nonces_need_no_clock() -> None:
    plain = manifest(small_terms(), beacon=CommitReveal(), policy=POLICY)
    assert told(plain, ENROLLED, 3.0) == []
