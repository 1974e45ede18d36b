"""Federations of declearn in one process, over a network that writes down what the server hears."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from declearn.communication.api import NetworkClient, NetworkServer
from declearn.communication.api.backend import MessagesHandler
from declearn.dataset import InMemoryDataset
from declearn.main import FederatedClient, FederatedServer
from declearn.main.config import FLOptimConfig, FLRunConfig
from declearn.model.sklearn import SklearnSGDModel
from declearn.secagg.utils import IdentityKeys
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from gopa.plugins.declearn import GopaSecaggConfigClient, GopaSecaggConfigServer

HEARTBEAT = 0.002


class MemoryHandler(MessagesHandler):  # type: ignore[misc, unused-ignore]
    """Waits for clients however long a busy machine makes them take; not for those in `gone`."""

    gone: set[str]

    async def recv_message(self, client: str, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        del timeout
        while (found := self.check_message(client)) is None:
            await self._rest(client)
        return bytes(found)

    async def send_message(self, bin_msg: bytes, client: str, timeout: float | None = None) -> None:  # noqa: ASYNC109
        del timeout
        self.post_message(bin_msg, client)
        while self.outgoing_messages.get(client):
            await self._rest(client)

    async def _rest(self, client: str) -> None:
        if client in self.gone:
            raise TimeoutError
        await asyncio.sleep(HEARTBEAT)


class MemoryServer(NetworkServer, register=False):  # type: ignore[call-arg]
    """Gets messages as bytes from clients in this process. `record` has all, in both directions."""

    protocol = "memory"

    def __init__(self) -> None:
        super().__init__("memory", 0, heartbeat=HEARTBEAT)
        self.handler = MemoryHandler(None, heartbeat=HEARTBEAT)
        self.gone: set[str] = set()
        self.handler.gone = self.gone
        self.record: list[bytes] = []

    @property
    def uri(self) -> str:
        return "memory"

    @staticmethod
    def _setup_ssl_context(*_: Any) -> None:
        return None

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        await self.handler.purge()

    async def hear(self, message: bytes, name: str) -> bytes:
        self.record.append(message)
        reply = await self.handler.handle_message(message, name)
        self.record.append(reply.serialize())
        return self.record[-1]

    def lose(self, name: str) -> None:
        """What happens when a connection closes."""
        self.handler.registered_clients.pop(name, None)


class MemoryClient(NetworkClient, register=False):  # type: ignore[call-arg]
    """Sends to a `MemoryServer`. `before` is called with each message that goes out."""

    protocol = "memory"

    def __init__(self, server: MemoryServer, name: str) -> None:
        super().__init__("memory", name)
        self.server = server
        self.before: Callable[[bytes], Awaitable[bytes]] | None = None

    @staticmethod
    def _setup_ssl_context(*_: Any) -> None:
        return None

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        return None

    async def _send_message(self, bin_msg: bytes) -> bytes:
        if self.before is not None:
            bin_msg = await self.before(bin_msg)
        return await self.server.hear(bin_msg, self.name)


@dataclass
class Federation:
    """Some clients with parts of the breast cancer data, a linear model, and their server."""

    clients: int = 4
    rounds: int = 1
    server: dict[str, Any] | None = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    secagg: str = "gopa"
    rows: int = 200
    features: int = 30
    evaluates: int = 1

    def __post_init__(self) -> None:
        self.names = [f"c{number}" for number in range(self.clients)]
        self.keys = {name: Ed25519PrivateKey.generate() for name in self.names}
        features, labels = load_breast_cancer(return_X_y=True)
        features = StandardScaler().fit_transform(features)[: self.rows, : self.features]
        # Parts of different sizes, so that a mean without weights would be another one.
        cuts = (np.linspace(0, 1, self.clients + 1)[1:-1] ** 1.5 * self.rows).astype(int)
        pairs = zip(np.split(features, cuts), np.split(labels[: self.rows], cuts), strict=True)
        self.parts = dict(zip(self.names, pairs, strict=True))
        self.network = MemoryServer()
        self.endpoints = {name: MemoryClient(self.network, name) for name in self.names}
        self.policies = {name: dict(self.policy) for name in self.names}
        self.trusted = {name: list(self.names) for name in self.names}
        self.failed: dict[str, BaseException] = {}

    def configuration(self) -> Any:
        if self.server is None:
            return None
        if self.secagg != "gopa":
            return {"secagg_type": self.secagg}
        usual: dict[str, Any] = {
            "mode": "signed",
            "exact_sums": True,
            "dropout": 0.05,
            "corrupt": 0.3,
        }
        usual |= {"bitsize": 64, "clipval": 1e5}
        return GopaSecaggConfigServer(**(usual | self.server))

    def identity(self, name: str) -> IdentityKeys:
        return IdentityKeys(
            prv_key=self.keys[name],
            trusted=[self.keys[each].public_key() for each in self.trusted[name]],
        )

    def client_configuration(self, name: str) -> Any:
        if self.server is None:
            return None
        if self.secagg != "gopa":
            return {"secagg_type": self.secagg, "id_keys": self.identity(name)}
        usual: dict[str, Any] = {"mode": "signed", "exact_sums": True}
        return GopaSecaggConfigClient(self.identity(name), **(usual | self.policies[name]))

    def federated(self, name: str) -> FederatedClient:
        features, labels = self.parts[name]
        return FederatedClient(
            self.endpoints[name],
            InMemoryDataset(features, labels, expose_classes=True),
            InMemoryDataset(features, labels),
            secagg=self.client_configuration(name),
            verbose=False,
        )

    def run(self, without: tuple[str, ...] = ()) -> FederatedServer:
        """Train; `without` are clients that never register."""
        return asyncio.run(self._run([each for each in self.names if each not in without]))

    async def _run(self, names: list[str]) -> FederatedServer:
        np.random.seed(0)  # noqa: NPY002 - the model begins with it
        model = SklearnSGDModel.from_parameters("classifier", loss="log_loss", penalty="none")
        optim = FLOptimConfig.from_params(aggregator="averaging", client_opt=0.02, server_opt=1.0)
        self.made = FederatedServer(
            model, self.network, optim, secagg=self.configuration(), metrics=["binary-classif"]
        )
        config = FLRunConfig.from_params(
            rounds=self.rounds,
            register={"min_clients": len(names), "max_clients": len(names), "timeout": 60},
            training={"batch_size": 8, "n_epoch": 1},
            evaluate={"batch_size": 64, "frequency": self.evaluates},
        )
        served = asyncio.ensure_future(self.made.async_run(config))
        await asyncio.sleep(5 * HEARTBEAT)
        tasks = [asyncio.ensure_future(self._take_part(name)) for name in names]
        try:
            await asyncio.wait_for(served, 120)
        finally:
            await asyncio.wait(tasks, timeout=0.5)
            for task in tasks:
                task.cancel()
        return self.made

    async def _take_part(self, name: str) -> None:
        try:
            await self.federated(name).async_run()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - some are meant to
            self.failed[name] = error


def weights(server: FederatedServer) -> dict[str, Any]:
    """The coefficients of the model that was trained."""
    return {name: np.asarray(each) for name, each in server.model.get_weights().coefs.items()}


def difference(one: FederatedServer, other: FederatedServer) -> float:
    """The largest difference of two models."""
    ours, theirs = weights(one), weights(other)
    return max(float(abs(ours[name] - theirs[name]).max()) for name in ours)
