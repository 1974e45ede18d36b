"""Opens every network connection of the package, and ends each at a deadline.

The timeouts of a socket are for one operation each: a peer that sends one byte of a head
now and then, or `100 Continue` for ever, holds whoever reads it for ever.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

import urllib3
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse  # noqa: TC002 - a light module

from bulletin_board.compression import GZIP, without_encoding
from wire.errors import MalformedMessage, Unattributed


class _Cut:
    """A limit in time at which a connection's socket is shut down.

    Stops a board that sends a byte now and then, or `100 Continue` for ever, from holding a party.
    """

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


_SUCCESS = range(200, 300)

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 507})
"""Answers after which the same request may succeed."""

LARGEST_REFUSAL: Final = 65_536
"""Bytes that are read of an answer that is no success: nobody needs more to know why."""

_ENCODING_BYTES = 65_536
"""By how much gzip may lengthen what it cannot shorten."""

_PIECE = 65_536
_GET = {"Accept-Encoding": f"{GZIP}, identity"}


class NetworkError(Unattributed):
    """No complete answer. Whether the request took effect is not known."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> int | None:
        """The seconds to wait, if the answer says so in digits."""
        text = self.headers.get("retry-after", "")
        return int(text) if text.isdecimal() and text.isascii() and len(text) < 6 else None


class Transport(Protocol):
    """The way to send one request and read one bounded answer. Follows no redirects.

    A body is handed out without its content encoding.
    """

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        """Send a request. Raises `NetworkError`, also for a success with more than `limit` bytes.

        The body of any other answer is cut off at `LARGEST_REFUSAL` bytes.
        """


class HttpTransport:
    """Requests over connections that are kept and shared between threads."""

    def __init__(
        self, authority: str | None = None, seconds: float = 60.0, connections: int = 8
    ) -> None:
        """`authority` is a file of certificates to trust instead of the system's.

        So many `connections` to one server are kept; more threads than that open others.
        An answer whose head, or whose body, is not complete after about `seconds` is
        given up, also if bytes keep trickling in.
        """
        self._seconds = seconds
        timeout = urllib3.Timeout(connect=min(5.0, seconds), read=min(30.0, seconds))
        context = (
            _system_context() if authority is None else ssl.create_default_context(cafile=authority)
        )
        self._pool = urllib3.PoolManager(
            num_pools=8,
            maxsize=connections,
            retries=False,
            timeout=timeout,
            ssl_context=context,
        )
        self._pool.pool_classes_by_scheme = pools(seconds)

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        headers = dict(_GET) if method == "GET" else {}
        if media_type:
            headers["Content-Type"] = media_type
        try:
            # A redirect would have the board choose which servers a party connects to.
            answer = self._pool.request(
                method, url, body=body, headers=headers, redirect=False, preload_content=False
            )
            deadline = time.monotonic() + self._seconds
            names = {name.lower(): value for name, value in answer.headers.items()}
            success = answer.status in _SUCCESS
            most = limit + _ENCODING_BYTES + 1 if success else LARGEST_REFUSAL
            data = _read(answer, most, deadline)
        except urllib3.exceptions.HTTPError as error:
            raise NetworkError(f"{url}: {_why(error)}") from None
        if data is None:
            raise NetworkError(f"{url} was too slow")
        if success:
            data = _opened(data, names, limit, url)
        return Response(answer.status, names, data)

    def close(self) -> None:
        """Close all connections that are idle."""
        self._pool.clear()


_REASONS: Final[Sequence[tuple[type[urllib3.exceptions.HTTPError], str]]] = (
    (urllib3.exceptions.NameResolutionError, "no machine of this name is known"),
    (urllib3.exceptions.NewConnectionError, "nobody answers there"),
    (urllib3.exceptions.TimeoutError, "no answer in time"),
    (urllib3.exceptions.ProtocolError, "the connection broke off"),
)
"""From the narrower to the wider; what is not here is said in the words of the library."""


def _why(error: urllib3.exceptions.HTTPError) -> str:
    """What happened, without the names of Python objects where it is common."""
    found = next((words for kind, words in _REASONS if isinstance(error, kind)), None)
    reason = error.__context__
    system = reason.strerror if isinstance(reason, OSError) and reason.strerror else None
    return " ".join(filter(None, [found or str(error), f"({system})" if system else None]))


@cache
def _system_context() -> ssl.SSLContext:
    """Trust in the certificates of the system; reading them takes longer than most requests."""
    return ssl.create_default_context()


def _opened(data: bytes, names: Mapping[str, str], limit: int, url: str) -> bytes:
    """The body of a success: whole, within its limit, without its encoding."""
    try:
        found = without_encoding(data, names.get("content-encoding", ""), limit)
    except MalformedMessage as error:
        raise NetworkError(f"{url} answered {error}") from None
    if len(found) > limit:
        raise NetworkError(f"{url} answered more than {limit} bytes")
    return found


def _read(answer: urllib3.BaseHTTPResponse, most: int, deadline: float) -> bytes | None:
    """The answer's first `most` bytes at most; None if they did not arrive in time."""
    data = bytearray()
    while len(data) < most:
        part = answer.read1(min(_PIECE, most - len(data)), decode_content=False)
        if not part:
            answer.release_conn()
            return bytes(data)
        data += part
        if time.monotonic() > deadline:
            answer.close()
            return None
    answer.close()  # a connection with unread bytes must not be used again
    return bytes(data)
