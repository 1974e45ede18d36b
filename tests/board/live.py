"""Boards and witnesses on real sockets, in threads of the test."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from starlette.applications import Starlette
from starlette.requests import Request  # noqa: TC002 - a light module
from starlette.responses import Response as HttpResponse
from starlette.routing import Route
from starlette.types import ASGIApp  # noqa: TC002 - a light module

from bulletin_board.admission import AdmissionPolicy
from bulletin_board.client.board import BoardClient, Patience
from bulletin_board.client.http import HttpTransport, Transport
from bulletin_board.client.state import ClientState, MemoryState
from bulletin_board.note import KeyKind
from bulletin_board.policy import TrustPolicy
from bulletin_board.server.page import SessionView
from bulletin_board.server.run import ListenOptions, make_server, start_board
from bulletin_board.server.service import ServerLimits
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.witness.service import Witness, WitnessStore, build_witness_app
from tests.board.tools import anyone, log_key, new_board, signer, trust
from tests.board.waiting import LONG, until
from tests.randomness import seeded
from wire.errors import GopaError

Refusal = TypeVar("Refusal", bound=GopaError)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


@contextmanager
def serving(
    app: ASGIApp, port: int, connections: int = 1_024, proxy: str | None = None
) -> Iterator[str]:
    listen = ListenOptions("127.0.0.1", port, connections=connections, per_address=5, proxy=proxy)
    server = make_server(app, listen)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        assert until(lambda: server.started)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(LONG)


@contextmanager
def live_board(
    root: Path,
    *,
    policy: TrustPolicy | None = None,
    admission: Callable[[], AdmissionPolicy] = anyone,
    limits: ServerLimits | None = None,
    view: SessionView | None = None,
    connections: int = 1_024,
    risk_fork: bool = False,
    proxy: str | None = None,
    access_log: bool = False,
) -> Iterator[str]:
    place = BoardDirectory(root) if root.exists() else new_board(root)
    with ExitStack() as stack:
        trusted = policy or trust()
        app = start_board(
            place,
            signer(),
            trusted,
            admission,
            stack,
            limits,
            view,
            risk_fork=risk_fork,
            access_log=access_log,
        )
        yield stack.enter_context(serving(app, free_port(), connections, proxy))


def starts_not(error: type[Refusal], root: Path, **options: Any) -> Refusal:
    """What a board says that refuses to start."""
    with pytest.raises(error) as caught, live_board(root, **options):
        pass
    return caught.value


def logged(root: Path, *entries: bytes, **options: Any) -> list[int]:
    """Starts a board, posts entries and stops it; their places in the log."""
    with live_board(root, **options) as url:
        return [client(url).submit(raw).index for raw in entries]


@dataclass
class LiveWitness:
    number: int
    url: str
    service: Witness


@contextmanager
def live_witness(
    root: Path, number: int, clock: Callable[[], float] = time.time, port: int | None = None
) -> Iterator[LiveWitness]:
    """`clock` is asked once for each request, before the witness looks at it."""
    key = signer(f"witness.example/{number}", KeyKind.WITNESS)
    service = Witness(key, [log_key()], WitnessStore(root / f"witness-{number}.sqlite"), clock)
    with serving(build_witness_app(service), port or free_port()) as url:
        yield LiveWitness(number, url, service)


@contextmanager
def answering_witness(
    number: int, status: int, body: bytes
) -> Iterator[tuple[LiveWitness, list[int]]]:
    """A witness that answers so; while the list has a number, it answers with that status."""
    instead: list[int] = []

    async def answer(_: Request) -> HttpResponse:
        return HttpResponse(b"", instead[0]) if instead else HttpResponse(body, status)

    app = Starlette(routes=[Route("/add-checkpoint", answer, methods=["POST"])])
    with serving(app, free_port()) as url:
        yield LiveWitness(number, url, None), instead  # type: ignore[arg-type]


def witnessed(threshold: int, *witnesses: LiveWitness) -> TrustPolicy:
    lines = [f"log {log_key()}"]
    names = []
    for witness in witnesses:
        key = signer(f"witness.example/{witness.number}", KeyKind.WITNESS).verifier
        names.append(f"w{witness.number}")
        lines.append(f"witness {names[-1]} {key} {witness.url}")
    lines += [f"group all {threshold} {' '.join(names)}", "quorum all", ""]
    return TrustPolicy.parse("\n".join(lines).encode())


def client(
    url: str,
    *,
    policy: TrustPolicy | None = None,
    state: ClientState | None = None,
    transport: Transport | None = None,
    attempts: int = 4,
) -> BoardClient:
    return BoardClient(
        url,
        policy or trust(),
        state or MemoryState(),
        transport or HttpTransport(),
        rng=seeded("client"),
        patience=Patience(attempts, 0.01, 0.05),
    )


def write_certificate(certificate: Path, key: Path) -> None:
    """A certificate for localhost that signs itself, and its key, which is its owner's alone."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    key.touch(0o600)
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
