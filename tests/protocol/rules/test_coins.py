"""The close of coins: nonces, withheld ones, wrong closes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gopa.contract.organiser import Abort, AbortReason, RemovalCause
from gopa.contract.party import REVEAL, Reveal
from gopa.contract.phases import Phase
from gopa.graph import Graph
from gopa.rounds.context import RoundContext
from gopa.rounds.toolkit import graph_of_round
from tests.protocol.rules.worlds import baseline, make, require
from tests.protocol.scribe import changed
from wire.errors import UsageError


def test_a_nonce_fits_its_hash() -> None:
    baseline()
    world = make()
    world.run(change={Phase.COINS: {3: changed(nonce=bytes(32))}})
    removed = [(3, Phase.COINS, RemovalCause.INVALID, "04-V1")]
    found = require(world, removed, [(3, "04-V1")], [0, 1, 2, 4])
    assert found.rounds[0].withheld == 1


def test_a_stage_is_read_behind_the_close_that_reaches_it() -> None:
    names = ("enrolled", "drawn", "committed", "matched", "final")
    for until, reached in ((Phase.JOIN, 0), (Phase.COINS, 1), (Phase.COMMIT, 2), (None, 5)):
        world = make()
        world.run(until=until)
        state = world.ledger._session_rounds()._state
        assert state is not None
        for name in names[:reached]:
            assert getattr(state, name)
        for name in names[reached:]:
            with pytest.raises(UsageError):
                getattr(state, name)


def sparse(context: RoundContext, *rest: Any) -> Graph:
    """The graph of the round with two choices for each party."""
    agreed = context.manifest
    fewer = replace(agreed, terms=replace(agreed.terms, k=2))
    return graph_of_round(replace(context, manifest=fewer), *rest)


def test_withholding_takes_away_ones_own_choices_only() -> None:
    """The graph over the others is the same whether or not party 3 reveals (04-V2)."""
    baseline()
    world = make(graph=sparse)
    world.run(until=Phase.COMMIT)
    other = make(graph=sparse)
    other.run(skip={Phase.COINS: [3]}, until=Phase.COMMIT)
    graphs = world.view.graph, other.view.graph
    assert graphs[0] is not None
    assert graphs[1] is not None
    keep = [0, 1, 2, 4]
    assert world.view.roll == other.view.roll
    with_choices = {(int(u), int(v)) for u, v in zip(*graphs[0].induced(keep).edges(), strict=True)}
    without = {(int(u), int(v)) for u, v in zip(*graphs[1].induced(keep).edges(), strict=True)}
    assert without == with_choices
    assert graphs[1].degrees[3] == 0


def test_too_many_withheld_nonces_abort() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.COINS: [0, 1, 4]})
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits) == (AbortReason.TOO_MANY_WITHHELD, (0, 1, 4))
    removed = [(place, Phase.COINS, RemovalCause.ABSENT, "04-V1") for place in (0, 1, 4)]
    require(world, removed)


def test_too_few_members_abort() -> None:
    baseline()
    world = make(survivors=4, loss=1, parties=5)
    world.run(skip={Phase.JOIN: [0], Phase.COINS: [1]})
    ended = world.view.ended
    assert isinstance(ended, Abort)
    assert (ended.reason, ended.culprits) == (AbortReason.TOO_FEW_LEFT, (0,))
    require(world, [(0, Phase.COINS, RemovalCause.ABSENT, "04-V1")])


def test_nonces_of_parties_outside_the_roll_change_nothing() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.JOIN: [4]}, until=Phase.COINS)
    body = REVEAL.encode(Reveal(world.view.acts_on, bytes(32)))
    world.post(world.parties[4].key, Phase.COINS, body)
    world.run()
    found = require(world, included=range(4))
    assert [note.rule for note in found.notes] == ["04-J6"]
