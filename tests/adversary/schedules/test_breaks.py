"""The search finds out about builds in which something is broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.party import Refusal
from gopa.protocol.party.states import Confirmed
from gopa.sessions.vault.interface import StateDiverged
from tests.adversary.schedules.arena import Arena
from tests.adversary.schedules.breaks import BREAKS, unmasks_before_counting
from tests.adversary.schedules.deeds import LIES
from tests.adversary.schedules.judgement import require_everything
from tests.adversary.schedules.searching import search
from tests.adversary.schedules.worlds import WORLDS, World
from wire.errors import UsageError

NUMBER = 1

# A sum that is no sum has no encoding: then the organiser has nothing that it could post.
FOUND = (AssertionError, StateDiverged, UsageError)


def partitioned() -> Arena:
    """One party alone in a log of its own, whose organiser claims that everybody confirmed."""
    arena = Arena(WORLDS["four"], 1)
    for party in range(len(arena.parties)):
        arena.supply(party, 0)
    arena.until(Phase.COMMIT)
    arena.fork([3], two_organisers=True, hides=True)
    desk = arena.sides[1].desk
    assert desk is not None
    desk.behaviours += (LIES["goes on with all at confirm"](0, 4),)
    arena.finish()
    return arena


def test_who_unmasks_before_it_counts_is_exposed(monkeypatch: pytest.MonkeyPatch) -> None:
    require_everything(partitioned())
    unmasks_before_counting(monkeypatch)
    with pytest.raises(AssertionError):
        require_everything(partitioned())


def vetoed(world: World) -> Arena:
    """One party opens no mask while all others do; perhaps they sum up again without it."""
    arena = Arena(world, 1)
    for party in range(len(arena.parties)):
        arena.supply(party, 0)
    while not isinstance(arena.parties[0].state.stage, Confirmed):
        arena.fair_phase()
    arena.silence(0)
    arena.pending = [post for post in arena.pending if post.author != 0]
    arena.finish()
    return arena


def test_a_second_exact_sum_of_a_round_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be that of the first, which colluders of the silent party know, less one."""
    exact = WORLDS["four, exact"]
    require_everything(vetoed(exact))
    charged = replace(exact, terms=replace(exact.terms, charged=1))
    with pytest.raises(Refusal):
        vetoed(charged)
    monkeypatch.setattr(Terms, "releases_one_sum", property(lambda _: True))
    with pytest.raises(AssertionError, match="2 exact sums of logical round 0"):
        require_everything(vetoed(charged))


@pytest.mark.soak
@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_build_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = BREAKS[name]
    search(20, NUMBER, broken.worlds, deeds=broken.deeds)
    broken.patch(monkeypatch)
    with pytest.raises(FOUND):
        search(broken.examples, NUMBER, broken.worlds, deeds=broken.deeds, shrinks=False)
