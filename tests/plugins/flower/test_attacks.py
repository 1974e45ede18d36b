"""What hostile servers and clients try on nodes, servers and each other, beyond the protocol."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message

import gopa
from gopa.contract.manifest import Mode
from gopa.plugins.flower import VerifiableGrid
from gopa.plugins.flower.home import NodeHome
from gopa.protocol.party import Refusal
from tests.plugins.flower.worlds import FakeGrid, app_of, asking, planned

MODEL = {"a": np.zeros(6)}
Change = Callable[[int, Any], None]


def moved(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    return {"a": model["a"] + (number + 1) / 100}, {"num-examples": 10, "loss": 1.5}


def verified(grid: FakeGrid, **options: Any) -> VerifiableGrid:
    plan = planned(len(grid.ids), 7, dropout=0.05, rounds=3)
    return VerifiableGrid(grid, plan, mode="signed", max_weight=64, patience=0.02, **options)


def asks(change: Change) -> Callable[[int, Message], Message]:
    """A server that asks something else."""

    def changed(node: int, message: Message) -> Message:
        if "gopa" in message.content:
            change(node, message.content["gopa"])
        return message

    return changed


def says(change: Change) -> Callable[[int, Message], Message]:
    """A node that says something else."""
    return asks(change)


def test_nodes_of_one_session_are_told_one_layout(tmp_path: Path) -> None:
    """Else a server has the weights of all others rounded to nothing, and keeps one update."""

    def lighter(node: int, asked: Any) -> None:
        if asked["layout"] and node != 1_001:
            layout = json.loads(asked["layout"])
            asked["layout"] = json.dumps({**layout, "max_weight": "1e15"})

    honest = FakeGrid(app_of(moved, tmp_path / "honest"), 5)
    (reply,) = verified(honest).send_and_receive(asking(honest, MODEL), timeout=0.02)
    assert reply.content["arrays"]["a"].numpy() == pytest.approx(np.full(6, 0.03), abs=1e-5)
    grid = FakeGrid(app_of(moved, tmp_path / "lied"), 5, ask=asks(lighter))
    out = verified(grid)
    with pytest.raises(gopa.Aborted):
        out.send_and_receive(asking(grid, MODEL), timeout=0.02)
    told = {node: out.reports[0].left_out[node] for node in grid.ids if node != 1_001}
    assert all(each.startswith("Refusal: layout") for each in told.values())


def test_what_an_app_raises_stays_with_its_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that sends a model of another shape would read the number of rows off the error."""

    def failing(number: int, model: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
        if number == 1:
            _ = np.zeros((57, 6)) + np.zeros((31, 1))
        return moved(number, model)

    grid = FakeGrid(app_of(failing, tmp_path), 5)
    out = verified(grid)
    replies = list(out.send_and_receive(asking(grid, MODEL), timeout=0.02))
    assert out.reports[0].left_out == {1_001: "UsageError: see the log of this node"}
    assert all("57" not in str(each.error) for each in replies if each.has_error())
    assert all(
        b"57,6" not in repr(each.content).encode() for each in grid.seen if not each.has_error()
    )
    assert "(57,6)" in caplog.text


def test_two_messages_at_once_do_not_begin_two_sessions_where_one_may(tmp_path: Path) -> None:
    begun = []

    def slowly(size: int) -> bytes:
        time.sleep(0.05)
        return os.urandom(size)

    def begin(number: int) -> None:
        with suppress(Refusal):
            NodeHome(tmp_path, slowly).seal(bytes([number]) * 32, 1)
            begun.append(number)

    for each in range(20):
        NodeHome(tmp_path).spare(bytes([each]) * 32)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(begin, range(20)))
    assert len(begun) == 1
    NodeHome(tmp_path).seal(bytes([begun[0]]) * 32, 1)


def test_a_session_that_was_refused_does_not_count(tmp_path: Path) -> None:
    """Else a careless plan, or a stranger's ticket, would keep a node out of the right session."""
    policy = gopa.LocalPolicy(
        epsilon=Decimal(8), delta=Decimal("1e-5"), modes=frozenset({Mode.SIGNED})
    )
    grid = FakeGrid(app_of(moved, tmp_path, policy=policy), 3)
    for epsilon, taken in ((9, False), (8, True), (8, False)):
        plan = planned(3, 6, epsilon=epsilon, delta=1e-5, steps=None)
        out = VerifiableGrid(grid, plan, mode="signed", patience=0.02, skip_aborted=True)
        replies = list(out.send_and_receive(asking(grid, MODEL), timeout=0.02))
        assert any(each.has_content() for each in replies) == taken


@pytest.mark.parametrize("key", [b"", bytes(31), b"\xff" * 32, bytes(32)])
def test_a_node_that_tells_no_key_does_not_end_the_run(
    key: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def nonsense(node: int, said: Any) -> None:
        if node == 1_005 and said["key"]:
            said["key"], said["error"] = key, "none\x1b[2J\nnode 1000 has lied" * 10**5

    grid = FakeGrid(app_of(moved, tmp_path), 6, lose=says(nonsense))
    out = VerifiableGrid(grid, planned(5, 6), mode="signed", patience=0.02)
    assert next(iter(out.send_and_receive(asking(grid, MODEL), timeout=0.02))).has_content()
    (line,) = [each.getMessage() for each in caplog.records if "1005" in each.getMessage()]
    assert line.isprintable()
    assert len(line) < 5_000


def test_a_reply_of_another_node_counts_as_none(tmp_path: Path) -> None:
    def posing(node: int, message: Message) -> Message:
        if node == 1_001:
            message.metadata.__dict__["_src_node_id"] = 1_003
        return message

    grid = FakeGrid(app_of(moved, tmp_path), 6, lose=posing)
    out = VerifiableGrid(grid, planned(5, 6), mode="signed", patience=0.02)
    (reply,) = out.send_and_receive(asking(grid, MODEL), timeout=0.02)
    assert reply.has_content()
    assert 1_001 not in out.reports[0].included


def test_a_node_that_takes_the_key_of_another_is_named(tmp_path: Path) -> None:
    keys: list[bytes] = []

    def copied(node: int, said: Any) -> None:
        if said["key"]:
            keys.append(said["key"])
            said["key"] = keys[0] if node == 1_003 else said["key"]

    grid = FakeGrid(app_of(moved, tmp_path), 5, lose=says(copied))
    with pytest.raises(gopa.UsageError) as error:
        verified(grid).send_and_receive(asking(grid, MODEL), timeout=0.02)
    assert "1000" in str(error.value)
    assert "1003" in str(error.value)


def test_the_secret_of_a_session_is_destroyed_also_where_its_end_is_not_understood(
    tmp_path: Path,
) -> None:
    def garbled(_: int, asked: Any) -> None:
        asked["request"] = b"nonsense" if asked["last"] else asked["request"]

    grid = FakeGrid(app_of(moved, tmp_path), 3, ask=asks(garbled))
    with verified(grid) as out:
        out.send_and_receive(asking(grid, MODEL), timeout=0.02)
        sealed = [each.read_bytes() for each in tmp_path.glob("*/sessions/*")]
        assert list(map(len, sealed)) == [32] * 3
    assert [each.read_bytes() for each in tmp_path.glob("*/sessions/*")] == [b""] * 3
    assert all(not context.state for context in grid.contexts.values())
