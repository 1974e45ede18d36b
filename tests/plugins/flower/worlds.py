"""A grid without processes: nodes are contexts, and the app is called at once.

Messages are pickled both ways, as Ray does it in a simulation.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Error,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

import gopa
from gopa.contract.manifest import Mode
from gopa.plugins.flower import gopa_mod

RUN = 77

Meddle = Callable[[int, Message], Message | None]


def exact(**changes: Any) -> gopa.LocalPolicy:
    """A policy that accepts exact sums in every mode."""
    wanted = {"modes": frozenset(Mode), "exact_sums": True, **changes}
    return gopa.LocalPolicy(epsilon=Decimal(10), delta=Decimal("1e-5"), **wanted)


def keyed(message: Message) -> Message:
    """The message as the other side reads it."""
    copied: Message = pickle.loads(pickle.dumps(message))  # noqa: S301
    return copied


@dataclass
class FakeGrid(Grid):  # type: ignore[misc, unused-ignore]
    """Calls one app for all nodes. `lose` takes a request or a reply away, or changes it."""

    app: ClientApp
    nodes: int
    config: Mapping[str, Any] = field(default_factory=dict)
    run_config: Mapping[str, Any] = field(default_factory=dict)
    seen: list[Message] = field(default_factory=list)
    ask: Meddle = lambda _, message: message
    lose: Meddle = lambda _, message: message
    keep_seen: bool = True

    def __post_init__(self) -> None:
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = RUN, 1, 1
        self.contexts = {
            node: Context(
                run_id=RUN,
                node_id=node,
                node_config={"partition-id": number, "num-partitions": self.nodes, **self.config},
                state=RecordDict(),
                run_config=dict(self.run_config),
            )
            for number, node in enumerate(self.ids)
        }
        self._replies: dict[str, Message] = {}

    @property
    def ids(self) -> list[int]:
        return [1_000 + number for number in range(self.nodes)]

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def get_node_ids(self) -> Iterable[int]:
        return list(self.contexts)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        pushed = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid.uuid4())
            pushed.append(message.metadata.message_id)
            self.record(message)
            asked = self.ask(message.metadata.dst_node_id, keyed(message))
            if asked is None:
                continue
            reply = self.lose(message.metadata.dst_node_id, self.call(asked))
            if reply is not None:
                self._replies[message.metadata.message_id] = keyed(reply)
        return pushed

    def call(self, message: Message) -> Message:
        """What a node says; the context changes only if it does not fail."""
        node = message.metadata.dst_node_id
        context = deepcopy(self.contexts[node])
        try:
            reply = self.app(message, context)
        except Exception as error:  # noqa: BLE001 - as Flower does
            return Message(Error(2, str(error)), reply_to=message)
        self.contexts[node] = context
        return reply

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        found = [self._replies.pop(each) for each in message_ids if each in self._replies]
        for each in found:
            self.record(each)
        return found

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        del timeout
        return self.pull_messages(self.push_messages(messages))

    def record(self, message: Message) -> None:
        if self.keep_seen:
            self.seen.append(message)


Train = Callable[[int, dict[str, np.ndarray]], tuple[dict[str, np.ndarray], dict[str, float]]]


def app_of(train: Train, home: Path, **options: Any) -> ClientApp:
    """An app whose nodes train by this function of their number and the model.

    In the `clear` there is no mod.
    """
    clear, policy = options.pop("clear", False), options.pop("policy", exact())
    app = ClientApp(mods=[] if clear else [gopa_mod(policy, home=home, **options)])

    @app.train()  # type: ignore[untyped-decorator, unused-ignore]
    def trained(message: Message, context: Context) -> Message:
        sent = {name: each.numpy() for name, each in message.content["arrays"].items()}
        arrays, metrics = train(int(context.node_config["partition-id"]), sent)
        content = RecordDict({"arrays": record(arrays), "metrics": MetricRecord(metrics)})
        return Message(content, reply_to=message)

    @app.evaluate()  # type: ignore[untyped-decorator, unused-ignore]
    def evaluated(message: Message, context: Context) -> Message:
        del context
        metrics = MetricRecord({"num-examples": 1, "accuracy": 0.5})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    return app


def record(arrays: Mapping[str, np.ndarray]) -> ArrayRecord:
    """A record of these arrays."""
    return ArrayRecord({name: Array(each) for name, each in arrays.items()})


def asking(
    grid: FakeGrid, arrays: Mapping[str, np.ndarray], nodes: Iterable[int] | None = None
) -> list[Message]:
    """What a strategy sends to train."""
    content = RecordDict({"arrays": record(arrays), "config": ConfigRecord({"server-round": 1})})
    return [Message(content, node, "train") for node in nodes or grid.ids]


def planned(n: int, dimension: int, **changes: Any) -> gopa.Plan:
    """A plan for exact sums of numbers from -1 to 1."""
    asked: dict[str, Any] = {"epsilon": None, "corrupt": 1, "dropout": 0, "mode": "signed"}
    given = {**asked, "range": (-1, 1), "steps": 2**24, **changes}
    return gopa.plan(n=n, dimension=dimension, **given)
