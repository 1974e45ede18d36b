"""Bounds what one HTTP connection may cost: heads without end, slow senders, slow readers.

The HTTP parser below has no limit on the size of a head and no clock: a peer that sends
headers for ever would fill the memory, and one that sends nothing would hold one of the
few connections for ever. Limits inside of handlers come too late for both. A peer that reads
a little now and then would hold an answer for hours: it has to keep up an average.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bulletin_board.server.accepting import OpenConnection

LONGEST_HEAD: Final = 16_384
REQUEST_SECONDS: Final = 30.0
"""From the opening of a connection, or the first byte, to the end of a request."""
STALLED_SECONDS: Final = 30.0
"""How long a peer may leave an answer unread."""
READ_BYTES_PER_SECOND: Final = 16_384
"""What a peer has to read on average, once an answer has taken STALLED_SECONDS."""

MOST_WAITING: Final = 16
"""Requests behind the one that is being answered; what stands behind them is not read."""

_UNREAD: Final = 65_536
_READ_AGAIN: Final = 16_384
"""Bytes on their way to a peer at which writing pauses, and goes on: it has read the difference."""

_TOO_LONG: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedConnection(HttpToolsProtocol):
    """A connection that is dropped where its peer exceeds a bound; `opened` follows it."""

    def __init__(self, *args: Any, opened: OpenConnection | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._opened = opened
        self._request_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._answer_due: float | None = None
        self._in_request = False
        self._unparsed = 0
        self._fed = 0
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(_UNREAD, _READ_AGAIN)
        if self._opened is not None:
            self._opened.drop = transport.abort
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._request_arrived()
        self._answer_read()
        super().connection_lost(exc)
        if self._opened is not None:
            self._opened.leave()

    def data_received(self, data: bytes) -> None:
        """Parse no more at a time than a head may still have: it ends there, or is too long."""
        start = 0
        while start < len(data) and not (self._refused or self.transport.is_closing()):
            if self._unparsed >= LONGEST_HEAD:
                self._refuse_head()
                return
            piece = data[start : start + LONGEST_HEAD - self._unparsed]
            start += len(piece)
            self._fed = len(piece)
            self._unparsed += len(piece)  # of a head, of a trailer, of the size of a chunk
            super().data_received(piece)
        waiting = self._in_request or self._is_forgotten()
        if not self.transport.is_closing() and self._request_timer is None and waiting:
            self._expect_request()

    # Called by the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_request = True
        self._unparsed = self._fed  # it begins a piece, or follows another request in one
        self._fed = 0

    def on_headers_complete(self) -> None:
        self._parsed()
        if not self._refused and self._head_size() > LONGEST_HEAD:
            self._refuse_head()
        if not self._refused:  # nor is anything done that stands behind what was refused
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._parsed()
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_request = False
        self._parsed()
        self._request_arrived()
        if self._refused:
            return
        super().on_message_complete()
        if self._opened is not None and not self.cycle.response_complete:
            self._opened.works()
        if len(self.pipeline) >= MOST_WAITING:  # each costs its peer some bytes, and the board 1 kB
            self.cycle.keep_alive = False
            self._refused = True

    # Called when answers are written

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reader()

    def resume_writing(self) -> None:
        self._answer_read()
        if self._answer_due is not None:
            self._answer_due += (_UNREAD - _READ_AGAIN) / READ_BYTES_PER_SECOND
        self._forget_answer()
        super().resume_writing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._expect_reader()
            return
        self._forget_answer()
        if self._opened is not None and (self._in_request or self.cycle.response_complete):
            self._opened.waits()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        self._expect_reader()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # closing would wait for a peer that reads nothing

    def _parsed(self) -> None:
        """Count anew: a part of the request has come to its end."""
        self._unparsed = self._fed = 0

    def _head_size(self) -> int:
        """Bytes of the head that was parsed, without blanks around its values."""
        line = len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n\r\n")
        return line + sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)

    def _refuse_head(self) -> None:
        """Nothing more is parsed. An answer that is on its way is not written into."""
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        self.transport.write(_TOO_LONG)
        self.transport.close()
        self._expect_reader()

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
        if self._answer_timer is not None:
            return
        latest = self.loop.time() + STALLED_SECONDS
        if self._answer_due is None:
            self._answer_due = latest
        due = min(latest, self._answer_due)
        self._answer_timer = self.loop.call_at(due, self.transport.abort)

    def _forget_answer(self) -> None:
        """The next answer has a time of its own, once nothing of this one is unread."""
        if self._answer_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._answer_due = None

    def _answer_read(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None
