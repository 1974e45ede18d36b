"""Sending answers without holding more of them than a fixed number of bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.responses import Response
from starlette.types import Receive, Scope, Send  # noqa: TC002 - a light module

from bulletin_board.server.static import PIECE, Pieces

Reading = Callable[[Callable[[], bytes]], Awaitable[bytes]]
"""Lets a thread read."""


class PiecesResponse(Response):
    """A file that is read while it is sent: a piece when the peer has read the one before.

    However many peers read slowly, they hold a piece each, and keep nobody else from reading.
    """

    def __init__(
        self, pieces: Pieces, first: bytes, headers: dict[str, str], reading: Reading
    ) -> None:
        super().__init__(None, 200, headers, pieces.media_type)
        self.headers["content-length"] = str(pieces.length)
        self._pieces, self._first, self._reading = pieces, first, reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] != "HEAD":
            await send({"type": "http.response.body", "body": self._first, "more_body": True})
            for start in range(len(self._first), self._pieces.length, PIECE):
                piece = await self._reading(partial(self._pieces.part, start, PIECE))
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class Budget:
    """Bytes of answers on their way to readers. Used by one event loop."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, size: int) -> bool:
        """Whether `size` bytes more may be held; if so, `give` them back."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give(self, size: int) -> None:
        self._left += size


class BudgetedResponse(Response):
    """An answer whose body was taken from a budget and goes back when it was sent.

    It is sent in pieces, each when the peer has read the one before: a peer that
    does not read is noticed by its connection and cut off.
    """

    def __init__(self, body: bytes, headers: dict[str, str], media_type: str, held: Budget) -> None:
        super().__init__(body, 200, headers, media_type)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        body = memoryview(self.body)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            pieces = range(0, len(body), PIECE) if scope["method"] != "HEAD" else ()
            for start in pieces:
                piece = bytes(body[start : start + PIECE])
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._held.give(len(body))
