"""No message of the server holds a client's numbers, in any form; a server that adds up clear
updates trains as well, and fails the same tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
from declearn.messaging import TrainReply
from declearn.training import TrainingManager
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from gopa.plugins.declearn import GopaEncrypter
from gopa.plugins.fixed_point import FixedPoint
from tests.plugins.declearn.worlds import Federation

CODING = FixedPoint.finest(64, 1e5, 32 + 1)
"""Of 30 coefficients, an intercept, the weight, and the number of steps."""


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    """What each client has computed, in its own process so to speak."""
    kept: list[list[float]] = []
    train = TrainingManager.training_round

    def noting(self: TrainingManager, message: Any) -> Any:
        reply = train(self, message)
        assert isinstance(reply, TrainReply)
        kept.append([*reply.updates.updates.flatten()[0], float(reply.updates.weights)])
        return reply

    monkeypatch.setattr(TrainingManager, "training_round", noting)
    return kept


def encodings(values: list[float]) -> Iterator[bytes]:
    """Every form in which a number could stand in a message, five bytes or more of it."""
    for value in values:
        if value == round(value):  # a count of steps is the same for many
            continue
        integer = int(CODING.integers(value))
        for order in "<>":
            yield np.array(value, f"{order}f8").tobytes()
            yield np.array(integer, f"{order}i8").tobytes()
        yield msgpack.packb(integer)
        yield str(integer).encode()
        yield repr(value).encode()
    for order in "<>":
        floats = np.array(values, f"{order}f4")
        for row in (floats, CODING.integers(values).astype(f"{order}u4")):
            yield from (row[start : start + 2].tobytes() for start in range(0, len(row) - 1, 2))


def found(world: Federation, updates: list[list[float]]) -> int:
    """How many encodings of a client's numbers the server has in its messages."""
    assert len(updates) == world.clients
    heard = b"\n".join(world.network.record)
    patterns = [each for values in updates for each in encodings(values)]
    assert len(patterns) > 100 * world.clients
    return sum(each in heard for each in patterns if any(each.strip(b"\0")))


def test_no_message_holds_a_number_of_a_client(updates: list[list[float]]) -> None:
    world = Federation(evaluates=2)
    world.run()
    assert found(world, updates) == 0


def test_a_server_that_adds_up_clear_updates_is_seen(updates: list[list[float]]) -> None:
    world = Federation(server=None, evaluates=2)
    world.run()
    assert found(world, updates) >= 30 * world.clients


def test_a_client_that_sends_its_integers_is_seen(
    updates: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = GopaEncrypter.wrap_into_secure_aggregate

    def telling(self: Any, encrypted: Any, enc_specs: Any, cleartext: Any, agg_cls: Any) -> Any:
        numbers = [CODING.integers(each).tolist() for real, each in self._parts if real]
        cleartext = {**(cleartext or {}), "numbers": numbers}
        return honest(self, encrypted, enc_specs, cleartext, agg_cls)

    monkeypatch.setattr(GopaEncrypter, "wrap_into_secure_aggregate", telling)
    world = Federation(evaluates=2)
    with pytest.raises(Exception, match="numbers"):
        world.run()
    assert found(world, updates) >= 30 * world.clients


# Who holds which part of one total

STEP = FixedPoint.finest(64, 1e5, 8 + 1 + 2).step
HALF, FAR, NEAR = 2**14 * STEP, 2**13 * STEP, 2**6 * STEP
"""All on the grid: a total that is rounded in another way is another total."""
PAIRS = 200


def heard(split: float, *, clear: bool, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """What a server hears of three clients, two of which share a total: all its messages."""
    shares = [HALF + split, HALF - split, HALF]
    train = TrainingManager.training_round

    def given(self: TrainingManager, message: Any) -> Any:
        reply = train(self, message)
        reply.updates.updates = reply.updates.updates * 0 + shares.pop()
        reply.t_spent = 0.0
        return reply

    with monkeypatch.context() as patched:
        patched.setattr(TrainingManager, "training_round", given)
        world = Federation(
            clients=3, rows=60, evaluates=2, features=8, server=None if clear else {"dropout": 0.0}
        )
        world.run()
    assert not shares
    return b"".join(world.network.record)


def profile(message: bytes) -> np.ndarray[Any, Any]:
    """How often bytes and pairs of bytes stand in it, and how long it is."""
    data = np.frombuffer(message, np.uint8)
    pairs = (data[:-1].astype(np.int64) * 256 + data[1:]) * 40_503 % 65_536 // 64
    counts = np.bincount(data, minlength=256), np.bincount(pairs, minlength=1024)
    return np.array([*counts[0], *counts[1], len(data)], dtype=float)


def auc(*, clear: bool, pairs: int, monkeypatch: pytest.MonkeyPatch) -> float:
    splits = [FAR, NEAR] * pairs
    rows = np.array([profile(heard(each, clear=clear, monkeypatch=monkeypatch)) for each in splits])
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    labels = np.array(splits) == FAR
    guess = cross_val_predict(
        LogisticRegression(C=0.001, max_iter=500), rows, labels, cv=5, method="decision_function"
    )
    return float(roc_auc_score(labels, guess))


def test_a_classifier_tells_splits_of_a_clear_total(monkeypatch: pytest.MonkeyPatch) -> None:
    assert auc(clear=True, pairs=20, monkeypatch=monkeypatch) > 0.95


@pytest.mark.soak
def test_no_classifier_tells_how_a_total_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.4 < auc(clear=False, pairs=PAIRS, monkeypatch=monkeypatch) < 0.6
