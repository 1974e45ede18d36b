"""Serving: the one module that opens a listening socket for a board."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette  # noqa: TC002 - a light module

from bulletin_board.server.connection import BoundedConnection

_GRACE_SECONDS = 30
_KEEP_ALIVE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to listen, and the certificate for TLS; without one put a proxy in front."""

    host: str = "127.0.0.1"
    port: int = 8765
    certificate: Path | None = None
    certificate_key: Path | None = None
    connections: int = 1_024


def make_server(app: Starlette, listen: Listen) -> uvicorn.Server:
    """A server with one worker: a log has one writer.

    SIGTERM and SIGINT stop it: no new connections, running requests are answered,
    what waits is committed, then it returns.
    """
    config = uvicorn.Config(
        app,
        host=listen.host,
        port=listen.port,
        ssl_certfile=listen.certificate,
        ssl_keyfile=listen.certificate_key,
        limit_concurrency=listen.connections,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        http=BoundedConnection,
        ws="none",
        access_log=False,
        server_header=False,
        log_level="warning",
    )
    return uvicorn.Server(config)
