"""One HTTP connection, with bounds on peers that send or read slowly or never stop.

The HTTP parser below has no limit on the size of a head and no clock: a peer that sends
headers for ever would fill the memory, and one that sends nothing would hold one of the
few connections for ever. Limits inside of handlers come too late for both.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD: Final = 16_384
REQUEST_SECONDS: Final = 30.0
"""From the opening of a connection, or the first byte, to the end of a request."""
STALLED_SECONDS: Final = 30.0
"""How long a peer may leave an answer unread."""


class BoundedConnection(HttpToolsProtocol):
    """Drops the connection of a peer that exceeds a bound."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._in_request = False
        self._unparsed = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._request_arrived()
        self._answer_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)  # of a head, of a trailer, of the size of a chunk
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unparsed > LONGEST_HEAD + len(data):
            self.send_400_response("The head of the request is too long.")
        elif self._request_timer is None and (self._in_request or self._is_forgotten()):
            self._expect_request()

    # Called by the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_request = True
        self._unparsed = 0

    def on_headers_complete(self) -> None:
        self._unparsed = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_request = False
        self._unparsed = 0
        self._request_arrived()
        super().on_message_complete()

    # Called when answers are written

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reader()

    def resume_writing(self) -> None:
        self._answer_read()
        super().resume_writing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._expect_reader()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        self._expect_reader()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # closing would wait for a peer that reads nothing

    def _is_forgotten(self) -> bool:
        """Bytes that begin no request, such as empty lines, have stopped the keep-alive timer."""
        return self.timeout_keep_alive_task is None and (
            self.cycle is None or self.cycle.response_complete
        )

    def _expect_request(self) -> None:
        self._request_timer = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _request_arrived(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _expect_reader(self) -> None:
        if self._answer_timer is None:
            self._answer_timer = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def _answer_read(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None
