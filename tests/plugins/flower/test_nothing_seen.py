"""The server learns the sum and nothing else; one that averages in the clear fails this test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message, MetricRecord, RecordDict

from gopa.plugins.flower import VerifiableGrid
from tests.plugins.flower import spying
from tests.plugins.flower.spying import FEW, MANY
from tests.plugins.flower.worlds import FakeGrid, app_of, asking, planned, record

NEAR_CHANCE = {FEW: 0.3, MANY: 0.1}
"""How far from one half a classifier comes by luck: three deviations for a few pairs of runs."""
STEPS = 2**24
MODEL = {"a": np.zeros(4)}
MARK, OTHER, THIRD = 0.123456789, -0.345678912, 0.25
COUNT, FEWER = 137.317171, 61.0

Held = Callable[[FakeGrid], Sequence[Message]]


class InClear:
    """The trap: every client's update arrives in the clear, and the server averages."""

    def __init__(self, grid: FakeGrid) -> None:
        self._grid = grid

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        replies = self._grid.send_and_receive(messages, timeout=timeout)
        counts = np.array([each.content["metrics"]["num-examples"] for each in replies])
        models = [each.content["arrays"]["a"].numpy() for each in replies]
        mean = (counts / counts.sum()) @ np.array(models)
        metrics = MetricRecord({"num-examples": float(counts.sum())})
        content = RecordDict({"arrays": record({"a": mean}), "metrics": metrics})
        return [Message(content, reply_to=next(iter(messages)))]


class Watched(FakeGrid):
    """Keeps the states of nodes beside all messages."""

    def call(self, message: Message) -> Message:
        reply = super().call(message)
        self.states.append(
            (
                message.metadata.dst_node_id,
                spying.states_of(self.contexts[message.metadata.dst_node_id]),
            )
        )
        return reply

    def __post_init__(self) -> None:
        super().__post_init__()
        self.states: list[tuple[int, bytes]] = []


def run(home: Path, swapped: int, *, clear: bool) -> tuple[list[bytes], Any]:
    """One round; what the server saw, by node, and the reply to the strategy."""
    told = [(MARK, COUNT), (OTHER, FEWER)]
    values = [*(told[::-1] if swapped else told), (THIRD, 80.0)]

    def train(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
        value, count = values[number]
        return {"a": model["a"] + value}, {"num-examples": count}

    fake = Watched(app_of(train, home, clear=clear), 3)
    verified = VerifiableGrid(fake, planned(3, 5), mode="signed", max_weight=256)
    grid: Any = InClear(fake) if clear else verified
    reply = next(iter(grid.send_and_receive(asking(fake, MODEL), timeout=30)))
    saw = {node: [state for owner, state in fake.states if owner == node] for node in fake.ids}
    for each in fake.seen:
        node = {each.metadata.src_node_id, each.metadata.dst_node_id}.intersection(saw).pop()
        saw[node].append(spying.bytes_of(each))
    return [each for node in fake.ids for each in saw[node]], reply


def runs(home: Path, pairs: int, *, clear: bool) -> tuple[list[list[bytes]], list[int], list[Any]]:
    classes = [number % 2 for number in range(2 * pairs)]
    held = [run(home, each, clear=clear) for each in classes]
    return [saw for saw, _ in held], classes, [reply for _, reply in held]


MARKS = {
    f"{name} {what}": mark
    for what, value, low, high in (
        ("of a value", MARK, -1, 1),
        ("of another", OTHER, -1, 1),
        ("of a count", COUNT, 0, 256),
    )
    for name, mark in spying.encodings(value, low, high, STEPS).items()
}


def right(reply: Any) -> bool:
    mean = (MARK * COUNT + OTHER * FEWER + THIRD * 80) / (COUNT + FEWER + 80)
    return bool(np.allclose(reply.content["arrays"]["a"].numpy(), mean, atol=1e-5))


@pytest.mark.parametrize("pairs", [FEW, MANY])
def test_a_server_that_averages_in_the_clear_is_right_and_found_out(
    pairs: int, tmp_path: Path
) -> None:
    saw, classes, replies = runs(tmp_path, pairs, clear=True)
    assert all(map(right, replies))
    assert spying.told_apart(saw, classes) > 0.95
    assert {"float64< of a value", "float64< of a count"} <= spying.seen(saw, MARKS)


@pytest.mark.parametrize("pairs", [FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_the_server_cannot_tell_how_a_total_is_split(pairs: int, tmp_path: Path) -> None:
    saw, classes, replies = runs(tmp_path, pairs, clear=False)
    assert all(map(right, replies))
    # By chance some four bytes occur in all that many runs say, but no eight.
    assert not spying.seen(saw[:2], MARKS)
    assert not spying.seen(saw, {name: mark for name, mark in MARKS.items() if len(mark) == 8})
    found = spying.told_apart(saw, classes)
    if abs(found - 0.5) > NEAR_CHANCE[pairs]:  # it may be by chance: as many pairs again decide
        saw, classes, _ = runs(tmp_path, pairs, clear=False)
        found = spying.told_apart(saw, classes)
    assert abs(found - 0.5) <= NEAR_CHANCE[pairs]


@pytest.mark.parametrize("pairs", [FEW, MANY])
def test_one_byte_that_tells_is_found(pairs: int) -> None:
    """In runs of nothing but random bytes beside it."""
    rng = np.random.default_rng(3)
    classes = [number % 2 for number in range(2 * pairs)]
    random = [[rng.bytes(400) for _ in range(12)] for _ in classes]
    assert abs(spying.told_apart(random, classes) - 0.5) < NEAR_CHANCE[pairs]
    telling = [[*run, bytes([each])] for run, each in zip(random, classes, strict=True)]
    assert spying.told_apart(telling, classes) > 0.5 + NEAR_CHANCE[pairs]


def test_a_state_that_is_not_sealed_would_be_seen(tmp_path: Path) -> None:
    """The states are among what is looked at: one with its value in the clear is found."""
    saw, _ = run(tmp_path, 0, clear=False)
    assert not spying.seen([saw], MARKS)
    assert spying.seen([[*saw, np.float64(MARK).tobytes()]], MARKS)
