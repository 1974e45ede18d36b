"""Transcripts of parties that keep the rules are accepted in every mode."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gopa.contract.organiser import RemovalCause, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.rules import Fault, Role, check_log, outcome_of
from tests.protocol.rules.worlds import KINDS, baseline, make, require
from tests.randomness import seeded
from wire.errors import UsageError


@pytest.mark.thirds
@pytest.mark.parametrize("real", [False, True], ids=["doubles", "proofs"])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_rounds_are_accepted(kind: str, real: bool) -> None:
    world = make(kind, real=real, rounds=2)
    world.run()
    first = world.expected_sums(range(5))
    world.run()
    found = require(world, included=range(5), number=2)
    assert found.complete
    assert found.notes == ()
    assert [each.sums for each in found.rounds] == [first, world.expected_sums(range(5))]
    assert [(each.logical, each.attempt) for each in found.rounds] == [(0, 0), (1, 0)]
    assert world.ledger.state.over
    assert not world.ledger.state.failed
    assert world.ledger.next_control(len(world.log)) is None


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"curious"}))
def test_a_party_that_drops_out_is_rolled_back(kind: str) -> None:
    baseline(kind)
    world = make(kind)
    world.run(skip={Phase.PUBLISH: [2]})
    removed = [(2, Phase.PUBLISH, RemovalCause.ABSENT, "04-P2")]
    found = require(world, removed, included=[0, 1, 3, 4]).rounds[0]
    assert found.opened == ((0, 2), (1, 2), (2, 3), (2, 4))
    assert found.unmasked == (0, 1, 3, 4)


def test_masks_stay_in_the_sum_where_parties_are_trusted() -> None:
    baseline("curious")
    world = make("curious")
    world.run(skip={Phase.PUBLISH: [2]})
    found = world.check()
    assert found.faults == ()
    ended = found.rounds[0]
    assert ended.final == (0, 1, 3, 4)
    assert ended.sums is not None
    assert ended.sums != world.expected_sums([0, 1, 3, 4])
    assert all(
        abs(a - b) < 20_000
        for a, b in zip(ended.sums, world.expected_sums([0, 1, 3, 4]), strict=True)
    )


@pytest.mark.parametrize("phase", [Phase.JOIN, Phase.COINS, Phase.COMMIT])
def test_a_party_that_drops_out_early_is_left_out(phase: Phase) -> None:
    baseline()
    world = make()
    world.run(skip={phase: [2]})
    included = (0, 1, 2, 3) if phase is Phase.JOIN else (0, 1, 3, 4)
    rule = {Phase.COINS: "04-V1", Phase.COMMIT: "04-K4"}.get(phase, "")
    removed = [] if phase is Phase.JOIN else [(2, phase, RemovalCause.ABSENT, rule)]
    found = require(world, removed, included=included).rounds[0]
    assert found.opened == ()
    assert found.withheld == (phase is Phase.COINS)


def test_the_result_names_who_was_removed() -> None:
    baseline()
    world = make()
    world.run(skip={Phase.COMMIT: [4], Phase.PUBLISH: [1]})
    ended = world.view.ended
    assert isinstance(ended, ResultMessage)
    assert [(each.position, each.phase, each.cause) for each in ended.removed] == [
        (1, Phase.PUBLISH, RemovalCause.ABSENT),
        (4, Phase.COMMIT, RemovalCause.ABSENT),
    ]


def test_raw_entries_and_json() -> None:
    world = make()
    world.run()
    found = check_log(world.raws, world.toolkit, rng=seeded("check"))
    assert found == world.check()
    document = json.loads(json.dumps(found.to_json()))
    assert document["complete"] is True
    assert document["session"] == world.session.hex()
    assert document["rounds"][0]["sums"] == list(world.expected_sums(range(5)))
    assert len(document["rounds"][0]["graph"]) == 10


def test_outcomes_count_earlier_releases() -> None:
    world = make("scalar")
    world.run(skip={Phase.PUBLISH: [1], Phase.UNMASK: [3]})
    world.run()
    found = world.check()
    assert [each.released for each in found.rounds] == [True, True]
    outcome = outcome_of(found, 2)
    assert len(outcome.releases) == 2
    assert outcome.included == (0, 1, 2)
    assert outcome.earlier[0].opened == ((0, 1), (1, 2), (1, 3), (1, 4))
    assert outcome.earlier[0].unmasked == (0, 2, 4)
    assert not outcome.witnessed
    assert outcome_of(found, 1, corrupt=(2,)).corrupt == (2,)
    with pytest.raises(UsageError) as caught:
        outcome_of(found, 2, corrupt=(2,))  # of which roll?
    assert caught.value.field == "corrupt"


def test_only_rounds_with_a_final_close_have_an_outcome() -> None:
    world = make()
    world.run(until=Phase.PUBLISH)
    for findings, number in (
        (world.check(), 1),
        (baseline(), 2),
        (replace(baseline(), manifest=None), 1),
    ):
        assert outcome_of(baseline(), 1).included == tuple(range(5))
        with pytest.raises(UsageError) as caught:
            outcome_of(findings, number)
        assert caught.value.field == "number"


def test_faults_are_one_line_each() -> None:
    """Whom, what, against which rule, and the entries that show it."""
    proved = Fault(Role.PARTY, b"\xab" * 32, "04-E3", "two entries", (4, 7), 1)
    assert str(proved) == "party abababababababab: two entries [04-E3, entries 4, 7]"
    doubted = replace(proved, role=Role.BOARD, author=b"", entries=(), proved=False)
    assert str(doubted) == "board: two entries [04-E3, entries none; not proved]"


@pytest.mark.parametrize("kind", ["exact", "exact vector", "exact weights", "exact words"])
def test_without_noise_the_sum_is_that_of_the_values(kind: str) -> None:
    found = baseline(kind)
    world = make(kind)
    values = [party.values for party in world.parties]
    assert found.rounds[0].sums == tuple(map(sum, zip(*values, strict=True)))
    noisy = {"exact": "scalar", "exact words": "signed"}.get(kind, "vector")
    assert baseline(noisy).rounds[0].sums != found.rounds[0].sums
