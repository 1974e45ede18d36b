"""The same code over a simulation and over a session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gopa.aggregation import Aggregator, LocalAggregator
from gopa.contract.manifest import OpenAdmission
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Refusal
from gopa.protocol.simulation.setup import permissive
from gopa.sessions.aggregator import SessionAggregator, _position
from gopa.sessions.board_access import Together
from gopa.sessions.client import Client
from gopa.sessions.organising import Deadlines
from gopa.sessions.parties.runner import SessionOver
from tests.board.waiting import LONG
from tests.contract.samples import manifest, roster
from tests.protocol.simulation.worlds import SCALAR, VECTOR
from tests.sessions.live.worlds import Gathering, gathering
from wire.brief import MOST
from wire.ed25519 import SigningKey
from wire.errors import UsageError

TWICE = replace(SCALAR, rounds=2)
HURRY = Deadlines(join=5, phase=30)
VALUES = [i / 10 for i in range(8)]


def two_means(aggregator: Aggregator) -> list[float]:
    """What learning code does: it knows the interface and nothing else."""
    means = [aggregator.average(VALUES).mean for _ in range(2)]
    assert aggregator.rounds_left == 0
    return means


@contextmanager
def opened(world: Gathering, *, to_the_end: bool = True) -> Iterator[None]:
    """The organiser runs in a thread of its own; not longer than the block, if it may stop."""
    stop = threading.Event()
    work = world.open() if to_the_end else _open_until(world, stop)
    thread = threading.Thread(target=lambda: asyncio.run(work))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(LONG)
    assert not thread.is_alive()


@pytest.mark.slow
def test_learning_code_moves_by_changing_one_object(tmp_path: Path) -> None:
    with LocalAggregator(TWICE) as local:
        assert all(abs(mean - 0.35) < 3 for mean in two_means(local))
    with gathering(tmp_path, TWICE) as world, opened(world):
        together = Together()
        clients = [world.member(i, connect=together) for i in range(8)]
        with SessionAggregator(world.ticket, *clients) as aggregator:
            assert isinstance(aggregator, Aggregator)
            assert aggregator.terms == TWICE
            assert sorted(aggregator.own) == list(range(8))
            assert aggregator.rounds_left == 2
            assert repr(aggregator) == "<SessionAggregator: 8 parties, 2 rounds left>"
            shown = repr(aggregator._members[0])
            assert "\n" not in shown
            assert len(shown) < MOST
            means = two_means(aggregator)
            with pytest.raises(SessionOver):
                aggregator.average(VALUES)
        aggregator.close()
        assert all(abs(mean - 0.35) < 3 for mean in means)


@pytest.mark.slow
def test_a_result_is_what_the_audited_log_says(tmp_path: Path) -> None:
    once = replace(SCALAR, rounds=1)
    with gathering(tmp_path, once, deadlines=HURRY) as world, opened(world):
        together = Together()
        clients = [world.member(i, connect=together) for i in range(8)]
        with SessionAggregator(world.ticket, *clients) as aggregator:
            result = asyncio.run(aggregator.average_async([0.5] * 6 + [None, 0.5]))
        findings = result.transcript.check()
        absent = aggregator.own[6]
    assert findings.faults == ()
    assert result.count == 7
    assert absent not in result.included
    assert [(each.party, each.phase, each.cause) for each in result.excluded] == [
        (absent, "JOIN", "ABSENT")
    ]
    assert result.privacy is not None
    assert not result.simulation
    assert result.mode == "full"
    sums = findings.rounds[0].sums
    assert sums is not None
    assert result.sum == pytest.approx(sums[0] / 20)


def test_weights_come_with_every_value(tmp_path: Path) -> None:
    """Wrong ones are refused before anything is said. Whether sums of few weights can be told
    from noise is chance, so no round is run."""
    weighted = replace(VECTOR, rounds=1)
    values = [[0.25, 0.75]] * 8
    with (
        gathering(tmp_path, weighted, setting=SessionSetting(weighted=True)) as world,
        opened(world, to_the_end=False),
    ):
        together = Together()
        clients = [world.member(i, connect=together) for i in range(8)]
        with SessionAggregator(world.ticket, *clients, max_weight=4) as aggregator:
            for weights in (None, [], [1.0] * 7, [1.0] * 9):
                with pytest.raises(UsageError) as caught:
                    aggregator.average(values, weights=weights)
                assert caught.value.field == "weights"
            weights = [4.0, *[2.0] * 7]
            assert aggregator._given(values, weights) == list(zip(values, weights, strict=True))
            assert aggregator.rounds_left == 1


def test_positions_are_those_of_a_roster() -> None:
    keys = roster(5).keys
    assert [_position(manifest(), key) for key in keys] == list(range(5))
    with pytest.raises(UsageError) as caught:
        _position(manifest(admission=OpenAdmission(5)), keys[0])
    assert caught.value.field == "session"


def test_wrong_values_and_strangers_are_refused(tmp_path: Path) -> None:
    with gathering(tmp_path, TWICE) as world, opened(world, to_the_end=False):
        together = Together()
        clients = [world.member(i, connect=together) for i in range(8)]
        with SessionAggregator(world.ticket, *clients) as aggregator:
            assert aggregator.average(VALUES).count == 8
            assert aggregator.rounds_left == 1
            for values in ([], VALUES[1:], [*VALUES, 0.5], [None] * 8, 0.5, {"a": 0.5}):
                with pytest.raises(UsageError):
                    aggregator.average(values)  # type: ignore[arg-type]
            with pytest.raises(UsageError):
                aggregator.average(VALUES, weights=[1.0] * 8)
            assert aggregator.rounds_left == 1
        with pytest.raises(UsageError):
            SessionAggregator(world.ticket)
        stranger = Client(SigningKey.generate(lambda size: b"s" * size), permissive(TWICE))
        with pytest.raises(Refusal) as refusal:
            SessionAggregator(world.ticket, stranger)
        assert refusal.value.field == "admission"


async def _open_until(world: Gathering, stop: threading.Event) -> None:
    organiser = asyncio.create_task(world.open())
    await asyncio.to_thread(stop.wait)
    organiser.cancel()
    await asyncio.wait({organiser})


@pytest.mark.slow
def test_a_value_that_does_not_fit_costs_no_round(tmp_path: Path) -> None:
    """Values of the other clients of the process are not given either."""
    once = replace(SCALAR, rounds=1)
    with gathering(tmp_path, once) as world, opened(world, to_the_end=False):
        together = Together()
        clients = [world.member(i, connect=together) for i in range(8)]
        with SessionAggregator(world.ticket, *clients) as aggregator:
            for wrong in (1.5, float("nan"), [0.5, 0.5]):
                with pytest.raises(UsageError):
                    aggregator.average([*VALUES[1:], wrong])
            assert aggregator.rounds_left == 1
            assert not [each for each in world.entries() if each.phase == Phase.JOIN and each.round]
            assert aggregator.average(VALUES).count == 8
