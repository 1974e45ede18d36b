"""Connections that end at a deadline, whatever the peer does.

The timeouts of a socket are for one operation each: a peer that sends one byte of a head
now and then, or `100 Continue` for ever, holds whoever reads it for ever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse  # noqa: TC002 - a light module


class _Cut:
    """Shuts a connection's socket down unless it is stopped in time."""

    def __init__(self, connection: HTTPConnection, seconds: float) -> None:
        self._connection = connection
        self.fell = False
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        self.fell = True
        found = self._connection.sock
        if found is not None:
            with contextlib.suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)


class _Deadline(HTTPConnection):
    """From the sending of a request to the end of the answer's head."""

    seconds = 60.0
    _cut: _Cut | None = None

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._cut = _Cut(self, self.seconds)
        try:
            super().request(*args, **kwargs)
        except BaseException:
            self._cut.stop()
            self._cut = None
            raise

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        cut, self._cut = self._cut, None
        try:
            answer = super().getresponse()
        finally:
            if cut is not None:
                cut.stop()
        if cut is not None and cut.fell:  # half a head passes for a whole one
            answer.close()
            raise TimeoutError
        return answer


class _TlsDeadline(_Deadline, HTTPSConnection):
    """The same over TLS."""


def pools(seconds: float) -> dict[str, type[HTTPConnectionPool]]:
    """The classes of a pool manager whose requests are cut off after `seconds`."""
    plain = type("HttpConnection", (_Deadline,), {"seconds": seconds})
    tls = type("HttpsConnection", (_TlsDeadline,), {"seconds": seconds})
    return {
        "http": type("HttpPool", (HTTPConnectionPool,), {"ConnectionCls": plain}),
        "https": type("HttpsPool", (HTTPSConnectionPool,), {"ConnectionCls": tls}),
    }
