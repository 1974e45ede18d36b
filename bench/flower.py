"""Flower's SecAgg+ and our sessions inside Flower: one round, the same model, in one process.

Needs an environment with Flower and with it `gopa[flower]`. Clients are called directly, so what
Flower's links cost is in neither.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

import gopa
from bench.measure import Numbers, Scale, require
from gopa.contract.manifest import Mode
from gopa.support.extras import missing

NEIGHBOURS: Final = 20
STEPS: Final = 2**22
"""Of a grid, as SecAgg+ has them."""
LENGTHS: Final = 2**28
"""Of a grid of lengths, which span some thirty times what a number of 1,000 does."""

TINY: Final = ((5, 100, "signed"), (5, 2, "full"))
CASES: Final = ((20, 100_000, "signed"),)
ALL: Final = (
    (20, 100_000, "signed"),
    (100, 100_000, "signed"),
    (20, 1_000, "full"),
    (20, 100_000, "full"),
    (100, 1_000, "full"),
)


def run(scale: Scale) -> Numbers:
    """Processor time of a client and of the server, and the bytes of a client, for one round.

    The model is sent to clients in both and counted in neither, nor is what the link copies. Of a
    session its second round is measured: keys and the manifest are sent once, and said beside it.
    `off` is FedAvg in the clear.
    """
    if importlib.util.find_spec("flwr") is None:
        raise missing("flower")
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    logging.getLogger("flwr").setLevel(logging.ERROR)
    numbers: Numbers = {"steps": STEPS, "neighbours_secagg": NEIGHBOURS}
    for clients, dimension, mode in scale.of(TINY, CASES, ALL):
        place = f"n={clients} d={dimension}"
        known = f"{place} secagg+ up_kB" in numbers
        if not known:
            numbers |= _named(f"{place} off", _in_clear(clients, dimension))
            numbers |= _named(f"{place} secagg+", _secagg(clients, dimension))
        numbers |= _named(f"{place} {mode}", _session(clients, dimension, mode))
    return numbers


class Link:
    """Stands for Flower's grid: calls the app of a node at once, and keeps count."""

    def __init__(self, app: Any, clients: int) -> None:
        from flwr.app import Context, RecordDict
        from flwr.supercore.task_identity import TaskIdentity

        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
        self.app, self.nodes = app, [1_000 + each for each in range(clients)]
        self.contexts = {
            node: Context(1, node, {"partition-id": number}, RecordDict(), {})
            for number, node in enumerate(self.nodes)
        }
        self._replies: dict[str, Any] = {}
        self.clear()

    def clear(self) -> None:
        """Begin to count."""
        self.inside, self.link, self.calls, self.up, self.down = 0.0, 0.0, 0, 0, 0

    def get_node_ids(self) -> list[int]:
        return self.nodes

    def push_messages(self, messages: Iterable[Any]) -> list[str]:
        pushed = []
        for message in messages:
            begun = time.process_time()
            name = str(len(self._replies) + self.calls)
            message.metadata.__dict__["_message_id"] = name
            own = deepcopy(message)
            self.down += size_of(own.content, arrays=False)
            called = time.process_time()
            self.link += called - begun
            reply = self.app(own, self.contexts[own.metadata.dst_node_id])
            self.inside += time.process_time() - called
            self.calls += 1
            require(not reply.has_error(), "a client has failed")
            counting = time.process_time()
            self.up += size_of(reply.content, arrays=True)
            self.link += time.process_time() - counting
            self._replies[name] = reply
            pushed.append(name)
        return pushed

    def pull_messages(self, names: Iterable[str]) -> list[Any]:
        return [self._replies.pop(each) for each in names if each in self._replies]

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> Any:
        del timeout
        return self.pull_messages(self.push_messages(messages))


def size_of(content: Any, *, arrays: bool) -> int:
    """The bytes of what a message carries; of a model only where it is an answer."""
    models = content.array_records.values() if arrays else ()
    configs = (*content.config_records.values(), *content.metric_records.values())
    numbers = sum(len(each.data) for record in models for each in record.values())
    return numbers + sum(len(k) + _size(v) for record in configs for k, v in record.items())


def _size(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value) if isinstance(value, (bytes, str)) else 8


def _named(place: str, numbers: Numbers) -> Numbers:
    return {f"{place} {name}": value for name, value in numbers.items()}


def _counted(link: Link, work: Callable[[], Any]) -> tuple[Any, Numbers]:
    link.clear()
    begun = time.process_time()
    found = work()
    spent = time.process_time() - begun
    clients = len(link.nodes)
    return found, {
        "client_s": round(link.inside / clients, 4),
        "server_s": round(spent - link.inside - link.link, 3),
        "up_kB": round(link.up / clients / 1_000, 1),
        "down_kB": round(link.down / clients / 1_000, 1),
        "exchanges": round(link.calls / clients, 1),
    }


def _value(number: int) -> float:
    return (number % 7 - 3) / 10


def _pattern(dimension: int) -> Any:
    """How models differ from coordinate to coordinate: equal numbers would pack into nothing."""
    return np.random.default_rng(1).normal(0, 0.05, dimension)


def _count(number: int) -> int:
    return 10 + number % 50


def _mean(clients: int, dimension: int) -> Any:
    counts = [_count(each) for each in range(clients)]
    mean = float(np.average([_value(each) for each in range(clients)], weights=counts))
    return _pattern(dimension) + mean


def _app(mods: list[Any], dimension: int) -> Any:
    from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp(mods=mods)

    @app.train()
    def train(message: Any, context: Any) -> Any:
        number = int(context.node_config["partition-id"])
        arrays = ArrayRecord({"w": Array(_pattern(dimension) + _value(number))})
        metrics = MetricRecord({"num-examples": _count(number)})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app


def _messages(link: Link, dimension: int) -> list[Any]:
    from flwr.app import Array, ArrayRecord, Message, RecordDict

    content = RecordDict({"arrays": ArrayRecord({"w": Array(np.zeros(dimension))})})
    return [Message(content, node, "train") for node in link.nodes]


def _in_clear(clients: int, dimension: int) -> Numbers:
    from flwr.serverapp.strategy import FedAvg

    link = Link(_app([], dimension), clients)
    strategy = FedAvg(min_train_nodes=clients, min_available_nodes=clients)

    def work() -> Any:
        replies = link.send_and_receive(_messages(link, dimension))
        return strategy.aggregate_train(1, replies)[0]

    found, numbers = _counted(link, work)
    require(abs(found["w"].numpy() - _mean(clients, dimension)).max() < 1e-6, "the average")
    return numbers


def _session(clients: int, dimension: int, mode: Any) -> Numbers:
    from gopa.plugins.flower import VerifiableGrid, gopa_mod

    policy = gopa.LocalPolicy(
        Decimal(1),
        Decimal("1e-5"),
        corrupt_share=Fraction(0),
        modes=frozenset(Mode),
        exact_sums=True,
    )
    plan = gopa.plan(
        n=clients,
        epsilon=None,
        corrupt=1,
        dropout=0.05,
        dimension=dimension + 1,
        range=(-1, 1),
        steps=STEPS if mode == "signed" else LENGTHS,
        rounds=3,
        weighted=True,
        mode=mode,
    )
    with tempfile.TemporaryDirectory() as home:
        link = Link(_app([gopa_mod(policy, home=Path(home))], dimension), clients)
        grid = VerifiableGrid(link, plan, mode=mode, max_weight=64)

        def work() -> Any:
            return next(iter(grid.send_and_receive(_messages(link, dimension), timeout=60)))

        _, first = _counted(link, work)
        reply, numbers = _counted(link, work)
        require(
            abs(reply.content["arrays"]["w"].numpy() - _mean(clients, dimension)).max() < 1e-4,
            "the sum",
        )
    return {**numbers, "neighbours": plan.terms.k, "first_round_up_kB": first["up_kB"]}


def _secagg(clients: int, dimension: int) -> Numbers:
    """Flower's own protocol, which only its older interface has."""
    from flwr.app import ArrayRecord, ConfigRecord, Context, RecordDict
    from flwr.client import NumPyClient
    from flwr.client.mod import secaggplus_mod
    from flwr.clientapp import ClientApp
    from flwr.server import LegacyContext, SimpleClientManager
    from flwr.server.compat.grid_client_proxy import GridClientProxy
    from flwr.server.strategy import FedAvg
    from flwr.server.workflow import SecAggPlusWorkflow
    from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key

    class Trainer(NumPyClient):  # type: ignore[misc, unused-ignore]
        """Trains as the other clients do."""

        def __init__(self, number: int) -> None:
            self.number = number

        def fit(self, parameters: Any, config: Any) -> Any:
            del config
            return [_pattern(len(parameters[0])) + _value(self.number)], _count(self.number), {}

    def client(context: Context) -> Any:
        return Trainer(int(context.node_config["partition-id"])).to_client()

    link = Link(ClientApp(client_fn=client, mods=[secaggplus_mod]), clients)
    manager = SimpleClientManager()
    for node in link.nodes:
        manager.register(GridClientProxy(node, link, 1))
    state = RecordDict(
        {
            MAIN_CONFIGS_RECORD: ConfigRecord({Key.CURRENT_ROUND: 1}),
            MAIN_PARAMS_RECORD: ArrayRecord([np.zeros(dimension)]),
        }
    )
    context = LegacyContext(
        Context(1, 1, {}, state, {}),
        strategy=FedAvg(min_fit_clients=clients, min_available_clients=clients),
        client_manager=manager,
    )
    workflow = SecAggPlusWorkflow(
        num_shares=min(NEIGHBOURS + 1, clients - 1 + clients % 2),
        reconstruction_threshold=min(NEIGHBOURS + 1, clients) // 2 + 1,
        clipping_range=1.0,
        quantization_range=STEPS,
        max_weight=64.0,
    )
    _, numbers = _counted(link, lambda: workflow(link, context))
    (found,) = context.state.array_records[MAIN_PARAMS_RECORD].to_numpy_ndarrays()
    require(abs(found - _mean(clients, dimension)).max() < 1e-3, "the sum of SecAgg+")
    return numbers
