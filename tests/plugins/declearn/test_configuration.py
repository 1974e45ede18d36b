"""The type is registered with declearn: Python, TOML files, WebSockets, fairness."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from declearn.communication.websockets import WebsocketsClient, WebsocketsServer
from declearn.main import FederatedClient, FederatedServer
from declearn.main.config import FLOptimConfig, FLRunConfig
from declearn.model.sklearn import SklearnSGDModel
from declearn.secagg import (
    list_available_secagg_types,
    parse_secagg_config_client,
    parse_secagg_config_server,
)

from gopa.plugins.declearn import GopaSecaggConfigClient, GopaSecaggConfigServer
from tests.plugins.declearn.worlds import Federation

SERVER = """
[secagg]
bitsize = 24
clipval = 64.0
mode = "signed"
exact_sums = true
corrupt = 0.3
answer_seconds = 5.0
"""

CLIENT = """
[secagg]
mode = "signed"
exact_sums = true
fewest = 3

[secagg.id_keys]
prv_key = "{private}"
trusted = [{trusted}]
"""


def test_the_type_is_registered() -> None:
    found = list_available_secagg_types()["gopa"]
    assert found == (GopaSecaggConfigClient, GopaSecaggConfigServer)
    server = parse_secagg_config_server("gopa", exact_sums=True)
    assert isinstance(server, GopaSecaggConfigServer)
    assert (server.bitsize, server.clipval, server.epsilon, server.logs) == (64, 1e5, None, None)
    assert (server.mode, server.dropout) == ("full", 0.05)
    key = Ed25519PrivateKey.generate()
    keys = {"prv_key": key, "trusted": [key.public_key()]}
    client = parse_secagg_config_client("gopa", id_keys=keys, exact_sums=True)
    assert isinstance(client, GopaSecaggConfigClient)
    assert (client.mode, client.fewest) == ("full", 3)


def write_key(folder: Path, name: str, key: Ed25519PrivateKey) -> None:
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / f"{name}.pem").write_bytes(text)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub.pem").write_bytes(public)


def client_of(folder: Path, world: Federation, name: str) -> GopaSecaggConfigClient:
    trusted = ", ".join(f'"{folder}/{each}.pub.pem"' for each in world.names)
    path = folder / f"{name}.toml"
    path.write_text(CLIENT.format(private=folder / f"{name}.pem", trusted=trusted))
    found = GopaSecaggConfigClient.from_toml(str(path), use_section="secagg")
    assert isinstance(found, GopaSecaggConfigClient)
    return found


def test_files_configure_a_federation_over_websockets(tmp_path: Path) -> None:
    world = Federation(clients=3, rows=60)
    for name, key in world.keys.items():
        write_key(tmp_path, name, key)
    (tmp_path / "server.toml").write_text(SERVER)
    secagg = GopaSecaggConfigServer.from_toml(str(tmp_path / "server.toml"), use_section="secagg")
    assert secagg.bitsize == 24
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def train() -> FederatedServer:
        model = SklearnSGDModel.from_parameters("classifier", loss="log_loss")
        optim = FLOptimConfig.from_params(aggregator="averaging", client_opt=0.02)
        network = WebsocketsServer("127.0.0.1", port, heartbeat=0.005)
        server = FederatedServer(model, network, optim, secagg=secagg)
        config = FLRunConfig.from_params(
            rounds=1,
            register={"min_clients": 3, "max_clients": 3, "timeout": 5},
            training={"batch_size": 8},
        )
        clients = []
        for name in world.names:
            world.endpoints[name] = WebsocketsClient(f"ws://127.0.0.1:{port}", name)
            client: FederatedClient = world.federated(name)
            client.secagg = client_of(tmp_path, world, name)
            clients.append(client)
        served = asyncio.ensure_future(server.async_run(config))
        await asyncio.sleep(0.1)
        await asyncio.wait_for(asyncio.gather(served, *(c.async_run() for c in clients)), 60)
        return server

    server = asyncio.run(train())
    assert server.model.get_weights() is not None
    assert server._losses[0] > 0


def test_errors_of_a_file_name_the_field(tmp_path: Path) -> None:
    path = tmp_path / "server.toml"
    path.write_text(SERVER.replace('"signed"', '"sealed"'))
    with pytest.raises(Exception, match='mode: "full" or "signed"'):
        GopaSecaggConfigServer.from_toml(str(path), use_section="secagg")
