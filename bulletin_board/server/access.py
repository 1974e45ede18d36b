"""Counts requests and what was sent for them, and logs each one where the operator asks for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send  # noqa: TC002 - a light module

from bulletin_board.display import visible
from bulletin_board.server.metrics import Metrics

_LOG: Final = logging.getLogger("gopa.access")
_LONGEST_PATH: Final = 256
_KINDS: Final = (
    ("/checkpoint", "checkpoint"),
    ("/tile/entries/", "bundle"),
    ("/tile/", "tile"),
    ("/v1/entries", "post"),
    ("/v1/lookup", "lookup"),
)


class WatchedApp:
    """An application between requests and `log`, which names each of them when it was answered.

    A line has what a stranger said, so nothing in it can look like another line. Bodies,
    queries and headers are not in it, whatever they hold.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, clock: Callable[[], float], *, log: bool
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = sent = 0
        started = self._clock()

        async def passed_on(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, passed_on)
        finally:
            self._metrics.count_answer(_kind(scope["path"]), status, sent)
            if self._log:
                self._say(scope, status, sent, self._clock() - started)

    def _say(self, scope: Scope, status: int, sent: int, seconds: float) -> None:
        client = scope.get("client")
        facts = {
            "address": visible(client[0]) if client else "",
            "method": visible(scope["method"]),
            "path": visible(scope["raw_path"].decode("ascii", "replace"), _LONGEST_PATH),
            "status": status,
            "bytes": sent,
            "ms": round(1000 * seconds, 1),
        }
        text = "{address} {method} {path} {status} {bytes} bytes {ms} ms".format(**facts)
        _LOG.info("%s", text, extra={"event": "request", "facts": facts})


def _kind(path: str) -> str:
    return next((kind for start, kind in _KINDS if path.startswith(start)), "other")
