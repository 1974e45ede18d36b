"""Strategies of Flower run unchanged on verified sums, and get what they would get without."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from flwr.app import Message
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAdam, FedAvg, FedProx, FedYogi, Strategy

import gopa
from bulletin_board import Submission
from bulletin_board.entry import sign_entry
from gopa.contract.phases import Phase
from gopa.plugins.flower import VerifiableGrid
from gopa.plugins.flower.home import NodeHome
from gopa.sessions.tunnel import LocalBoard
from tests.plugins.flower import digits
from tests.plugins.flower.worlds import FakeGrid, app_of, asking, planned, record
from wire.ed25519 import SigningKey
from wire.errors import ProtocolError

_LOG = logging.getLogger("tests")
MODEL: digits.Model = {"a": np.zeros((3, 4), np.float32), "b": np.ones(5), "steps": np.array([7])}
WIDTH = 18
GRID = 2.0**-20


def moved(number: int, model: digits.Model) -> tuple[digits.Model, dict[str, float]]:
    """Every client adds its own number, and knows a loss."""
    later = {name: each + (number + 1) / 100 for name, each in model.items() if name != "steps"}
    later["steps"] = model["steps"] + 1
    return later, {"num-examples": 10 * (number + 1), "loss": number / 2, "secret": 42.0}


def strategies(nodes: int) -> list[Strategy]:
    """Those that only average."""
    common: dict[str, Any] = {
        "fraction_evaluate": 0,
        "min_train_nodes": nodes,
        "min_available_nodes": nodes,
    }
    return [
        FedAvg(**common),
        FedProx(**common, proximal_mu=0.1),
        FedAdam(**common, eta=0.01),
        FedYogi(**common, eta=0.01),
    ]


def test_the_reply_is_the_weighted_average_of_models_and_metrics(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path), 5)
    plan = planned(5, WIDTH + 2)
    options: dict[str, Any] = {"mode": "signed", "max_weight": 64, "metrics": {"loss": (0, 10)}}
    with VerifiableGrid(grid, plan, **options) as verified:
        assert isinstance(verified, Grid)
        (reply,) = verified.send_and_receive(asking(grid, MODEL), timeout=9)
    weights = np.arange(1, 6) * 10
    mean = weights @ (np.arange(1, 6) / 100) / weights.sum()
    found = {name: each.numpy() for name, each in reply.content["arrays"].items()}
    assert {name: each.dtype for name, each in found.items()} == {
        name: each.dtype for name, each in MODEL.items()
    }
    assert found["a"] == pytest.approx(np.full((3, 4), mean), abs=1e-5)
    assert found["b"] == pytest.approx(1 + np.full(5, mean), abs=1e-5)
    assert found["steps"] == 8
    metrics = dict(reply.content["metrics"])
    assert metrics.pop("num-examples") == pytest.approx(150, abs=1e-4)
    assert metrics == {"loss": pytest.approx(weights @ (np.arange(5) / 2) / 150, abs=1e-4)}


def test_without_weights_all_count_the_same(tmp_path: Path) -> None:
    grid = FakeGrid(app_of(moved, tmp_path), 5)
    with VerifiableGrid(grid, planned(5, WIDTH), mode="signed") as verified:
        (reply,) = verified.send_and_receive(asking(grid, MODEL), timeout=9)
    assert dict(reply.content["metrics"]) == {"num-examples": 5}
    assert reply.content["arrays"]["a"].numpy() == pytest.approx(np.full((3, 4), 0.03), abs=1e-6)


@pytest.mark.parametrize("number", range(4), ids=["FedAvg", "FedProx", "FedAdam", "FedYogi"])
def test_a_strategy_ends_where_it_ends_in_the_clear(number: int, tmp_path: Path) -> None:
    ended = []
    for verified in (True, False):
        strategy = strategies(3)[number]
        grid: Any = FakeGrid(app_of(moved, tmp_path / "home", clear=not verified), 3)
        if verified:
            plan = planned(3, WIDTH + 1, rounds=2)
            grid = VerifiableGrid(grid, plan, mode="signed", max_weight=64)
        result = strategy.start(grid, record(MODEL), num_rounds=2)
        ended.append(result.arrays.to_numpy_ndarrays())
    for one, other in zip(*ended, strict=True):
        assert one == pytest.approx(other, abs=2e-4)


class LyingParty(LocalBoard):
    """A log into which one party has changed and signed what it commits to."""

    key: ClassVar[SigningKey]

    def submit_all(self, entries: Sequence[bytes]) -> list[int | ProtocolError]:
        return super().submit_all([self._changed(entry) for entry in entries])

    def _changed(self, entry: bytes) -> bytes:
        found = Submission.decode(entry).entry
        if found.author == self.key.public and found.phase == Phase.COMMIT:
            body = bytearray(found.body)
            body[-1] ^= 1
            return sign_entry(replace(found, body=bytes(body)), self.key)
        return entry


def test_a_liar_is_named_and_the_log_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = FakeGrid(app_of(moved, tmp_path / "home"), 5)
    LyingParty.key = NodeHome(tmp_path / "home" / "node-2").identity()
    monkeypatch.setattr("gopa.plugins.session.LocalBoard", LyingParty)
    plan = planned(5, WIDTH + 1, mode="full", dropout=0.05)
    with VerifiableGrid(grid, plan, max_weight=64) as verified:
        replies = list(verified.send_and_receive(asking(grid, MODEL), timeout=9))
        (report,) = verified.reports
        others = tmp_path / "logs" / "session-1.gopa"
        others.parent.mkdir()
        others.write_bytes(b"the log of another run")
        (log,) = verified.keep(tmp_path / "logs")
        assert verified.keep(tmp_path / "logs") == [log]
    assert others.read_bytes() == b"the log of another run"
    assert log.stem == report.session.hex()[:16]
    assert report.included == (1_000, 1_001, 1_003, 1_004)
    assert list(report.left_out) == [1_002]
    assert [each.has_error() for each in replies] == [False, True]
    assert replies[1].metadata.src_node_id == 1_002
    found = gopa.audit(log, anchors=log.with_suffix(".anchors"))
    assert found.verdict.value == "VALID"
    (fault,) = found.faults
    assert fault.author == LyingParty.key.public.data


@pytest.mark.parametrize("rounds", [6, pytest.param(20, marks=pytest.mark.soak)])
def test_digits_are_learnt_as_in_the_clear_while_clients_vanish(
    rounds: int, tmp_path: Path
) -> None:
    parts, test = digits.shares(10)

    def train(number: int, model: digits.Model) -> tuple[digits.Model, dict[str, float]]:
        own = parts[number]
        return digits.train(model, own), {"num-examples": len(own.y)}

    told: Counter[tuple[int, int]] = Counter()

    def vanish(node: int, message: Message) -> Message | None:
        """Two clients are gone in each round: one from the first message on, one from the third."""
        if not message.content["gopa"]["ticket"]:
            return message
        number = len(verified.reports)
        told[number, node] += 1
        early, late = 1_000 + number % 10, 1_000 + (number + 5) % 10
        gone = node == early or (node == late and told[number, node] > 2)
        return None if gone else message

    grid = FakeGrid(app_of(train, tmp_path), 10, ask=vanish, keep_seen=False)
    plan = planned(10, digits.WEIGHTS + 1, dropout=0.05, rounds=rounds)
    verified = VerifiableGrid(grid, plan, mode="signed", max_weight=256, patience=0.02)
    strategy = strategies(10)[0]
    begun = time.process_time()
    result = strategy.start(verified, record(digits.beginning()), num_rounds=rounds, timeout=0.02)
    spent = time.process_time() - begun
    plain = in_clear = digits.beginning()
    for report in verified.reports:
        assert len(report.included) == 8
        within = [parts[node - 1_000] for node in report.included]
        in_clear = averaged([digits.train(in_clear, own) for own in within], within)
        plain = averaged([digits.train(plain, own) for own in parts], parts)
    found = dict(zip(plain, result.arrays.to_numpy_ndarrays(), strict=True))
    off = max(float(np.abs(found[name] - in_clear[name]).max()) for name in found)
    scores = [digits.accuracy(each, test) for each in (found, in_clear, plain)]
    _LOG.info("accuracy %s, weights off by %.2g, %.2f s a round", scores, off, spent / rounds)
    assert off < 2e-4
    assert abs(scores[0] - scores[1]) <= 0.005
    assert min(scores) > 0.9


def averaged(models: Sequence[digits.Model], shares: Sequence[digits.Share]) -> digits.Model:
    """The mean that FedAvg takes."""
    weights = np.array([len(each.y) for each in shares], dtype=np.float64)
    return {
        name: sum(
            (part * each[name] for part, each in zip(weights / weights.sum(), models, strict=True)),
            start=np.zeros(()),
        ).astype(np.float32)
        for name in models[0]
    }
