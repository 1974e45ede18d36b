"""Flower's older API trains over verified sums, with its own workflow and strategies."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict
from flwr.client import NumPyClient
from flwr.clientapp import ClientApp
from flwr.common import ndarrays_to_parameters
from flwr.server import LegacyContext, ServerConfig
from flwr.server.strategy import (
    DPFedAvgFixed,
    FedAdam,
    FedAvg,
    FedMedian,
    FedProx,
    FedYogi,
    Krum,
    QFedAvg,
    Strategy,
)
from flwr.server.workflow import DefaultWorkflow

import gopa
from gopa.auditing.report import Verdict
from gopa.plugins.flower.strategies import UnfitStrategy
from gopa.plugins.flower_legacy import GopaWorkflow, gopa_legacy_mod
from tests.plugins.flower.worlds import RUN, FakeGrid, exact

NODES = 4
MODEL = [np.zeros((3, 2)), np.zeros(3)]


class LegacyGrid(FakeGrid):
    """Says besides which run it is, as the older API asks; `heard` is all that went through."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.heard = b""

    def record(self, message: Message) -> None:
        """Write it down at once: Flower empties what it has read."""
        self.heard += pickle.dumps(message.content) if message.has_content() else b""

    @property
    def run(self) -> Any:
        return SimpleNamespace(run_id=RUN)


class Trainer(NumPyClient):  # type: ignore[misc, unused-ignore]
    """Moves each number by an amount of its own, and has rows of its own number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def get_parameters(self, config: Any) -> Any:
        del config
        return updated(MODEL, self.number)

    def fit(self, parameters: Any, config: Any) -> Any:
        del config
        return updated(parameters, self.number), 10 + 10 * self.number, {"secret": 0.123456789}


def updated(model: Any, number: int) -> list[Any]:
    moves = np.random.default_rng(number)
    return [each + moves.normal(size=each.shape) for each in model]


def averaged(model: Any, numbers: Any) -> list[Any]:
    """FedAvg in the clear."""
    weights = [10 + 10 * number for number in numbers]
    models = [updated(model, number) for number in numbers]
    return [
        sum(w * each for w, each in zip(weights, layer, strict=True)) / sum(weights)
        for layer in zip(*models, strict=True)
    ]


def app(home: Path, *, clear: bool = False, **options: Any) -> ClientApp:
    def client(context: Context) -> Any:
        return Trainer(int(context.node_config["partition-id"])).to_client()

    mods = [] if clear else [gopa_legacy_mod(exact(), home=home, **options)]
    return ClientApp(client, mods=mods)


def fedavg(kind: Any = FedAvg, **options: Any) -> Any:
    return kind(
        min_fit_clients=NODES,
        min_available_clients=NODES,
        fraction_evaluate=0.0,
        initial_parameters=ndarrays_to_parameters(MODEL),
        **options,
    )


def train(grid: FakeGrid, strategy: Strategy, workflow: Any, rounds: int = 1) -> list[Any]:
    """The model behind so many rounds."""
    context = Context(run_id=RUN, node_id=0, node_config={}, state=RecordDict(), run_config={})
    legacy = LegacyContext(context, config=ServerConfig(num_rounds=rounds), strategy=strategy)
    DefaultWorkflow(fit_workflow=workflow)(grid, legacy)
    (record,) = legacy.state.array_records.values()
    return [each.numpy() for each in record.values()]


def signed(**options: Any) -> GopaWorkflow:
    return GopaWorkflow(
        **{"epsilon": None, "mode": "signed", "corrupt": 0.25, "patience": 0.3, **options}
    )


def test_two_rounds_are_those_of_plain_averaging(tmp_path: Path) -> None:
    workflow = signed(logs=tmp_path / "logs")
    found = train(LegacyGrid(app(tmp_path / "home"), NODES), fedavg(), workflow, rounds=2)
    wanted = averaged(averaged(MODEL, range(NODES)), range(NODES))
    for ours, theirs in zip(found, wanted, strict=True):
        assert np.allclose(ours, theirs, atol=1e-5)
        assert not np.array_equal(ours, theirs)
    (log,) = (tmp_path / "logs").glob("*.gopa")
    report = gopa.audit(log, anchors=log.with_suffix(".anchors"))
    assert report.verdict is Verdict.SIGNED_ONLY
    plain = train(LegacyGrid(app(tmp_path, clear=True), NODES), fedavg(), None, rounds=2)
    assert all(np.allclose(a, b) for a, b in zip(plain, wanted, strict=True))


@pytest.mark.parametrize("kind", [FedAdam, FedYogi, FedProx])
def test_strategies_that_use_averages_need_no_change(kind: Any, tmp_path: Path) -> None:
    options = {"proximal_mu": 0.1} if kind is FedProx else {}
    clear = train(LegacyGrid(app(tmp_path, clear=True), NODES), fedavg(kind, **options), None)
    ours = train(LegacyGrid(app(tmp_path / "home"), NODES), fedavg(kind, **options), signed())
    for one, other in zip(clear, ours, strict=True):
        assert np.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", [Krum, FedMedian, QFedAvg])
def test_strategies_that_compare_clients_are_refused(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(UnfitStrategy, match=kind.__name__):
        train(LegacyGrid(app(tmp_path), NODES), fedavg(kind), signed())


def test_a_strategy_with_noise_of_its_own_is_refused(tmp_path: Path) -> None:
    strategy = DPFedAvgFixed(fedavg(), num_sampled_clients=NODES, clip_norm=1.0)
    with pytest.raises(UnfitStrategy, match="DPFedAvgFixed"):
        train(LegacyGrid(app(tmp_path), NODES), strategy, signed())


# What the server gets to see


def marks(number: int) -> Iterator[bytes]:
    """What would show a client's numbers: its model, its update, its count."""
    for model in (updated(MODEL, number), [np.float32(each) for each in updated(MODEL, number)]):
        for layer in model:
            for order in "<>":
                written = layer.astype(f"{order}{layer.dtype.str[1:]}")
                yield from (value.tobytes() for value in written.reshape(-1))


def seen(grid: LegacyGrid) -> int:
    found = [each for number in range(NODES) for each in marks(number) if len(each) == 8]
    assert len(found) == NODES * 9 * 2
    return sum(each in grid.heard for each in found)


def test_no_message_holds_a_number_of_a_client(tmp_path: Path) -> None:
    grid = LegacyGrid(app(tmp_path), NODES)
    train(grid, fedavg(), signed())
    assert seen(grid) == 0
    assert np.array(0.123456789).tobytes() not in grid.heard  # nor its other metrics
    clear = LegacyGrid(app(tmp_path, clear=True), NODES)
    train(clear, fedavg(), None)
    assert seen(clear) >= NODES * 9


def test_a_server_that_asks_for_models_gets_none(tmp_path: Path) -> None:
    grid = LegacyGrid(app(tmp_path), NODES)
    strategy = FedAvg(min_fit_clients=NODES, min_available_clients=NODES, fraction_evaluate=0.0)
    with pytest.raises(gopa.UsageError, match="initial_parameters"):
        train(grid, strategy, signed())
    assert seen(grid) == 0
    clear = LegacyGrid(app(tmp_path, clear=True), NODES)
    train(clear, strategy, None)
    assert seen(clear) > 0


def test_a_workflow_in_the_clear_trains_nothing(tmp_path: Path) -> None:
    grid = LegacyGrid(app(tmp_path), NODES)
    (first, second) = train(grid, fedavg(), None)
    assert not first.any()
    assert not second.any()
    assert seen(grid) == 0


# Failures


def test_a_client_that_vanishes_is_left_out(tmp_path: Path) -> None:
    count = 0

    def lose(node: int, reply: Message) -> Message | None:
        nonlocal count
        count += node == 1_002
        return None if node == 1_002 and count > 3 else reply

    grid = LegacyGrid(app(tmp_path), NODES, lose=lose)
    workflow = signed(timeout=0.5)
    found = train(grid, fedavg(accept_failures=True), workflow)
    wanted = averaged(MODEL, [0, 1, 3])
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(found, wanted, strict=True))


def test_a_round_without_a_result_changes_nothing(tmp_path: Path) -> None:
    def lose(node: int, reply: Message) -> Message | None:
        return None if node != 1_000 else reply

    grid = LegacyGrid(app(tmp_path), NODES, lose=lose)
    with pytest.raises(gopa.UsageError):  # nobody has told a key
        train(grid, fedavg(), signed(timeout=0.1))


@pytest.mark.parametrize(
    ("options", "field"),
    [({"clipping_range": 0.0}, "clipping_range"), ({"mode": "off"}, "mode")],
)
def test_a_workflow_says_what_is_wrong(options: dict[str, Any], field: str) -> None:
    signed()
    with pytest.raises(gopa.UsageError) as caught:
        signed(**options)
    assert caught.value.field == field
