"""The client of a board for programs that use asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

from bulletin_board.client.board import BoardClient
from bulletin_board.note import SignedCheckpoint
from bulletin_board.receipt import VerifiedReceipt

T = TypeVar("T")

_ENTRIES_AT_ONCE = 256


class AsyncBoardClient:
    """A `BoardClient` whose calls run in threads, so that they do not block the event loop.

    Calls run in `threads` threads of its own; verification and connections are
    those of the synchronous client. Use it as an async context manager.
    """

    def __init__(self, client: BoardClient, threads: int = 8) -> None:
        self._client = client
        self._executor = ThreadPoolExecutor(threads, "board-client")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._executor.shutdown)

    async def submit(self, entry: bytes) -> VerifiedReceipt:
        """Post an entry, as `BoardClient.submit` does."""
        return await self._call(lambda: self._client.submit(entry))

    async def update(self) -> SignedCheckpoint:
        """The newest checkpoint, as `BoardClient.update` has it."""
        return await self._call(self._client.update)

    async def entries(self, start: int = 0) -> AsyncIterator[bytes]:
        """The entries from a start on, as `BoardClient.entries` has them."""
        reader = await self._call(self._client.reader)
        for first in range(min(start, reader.size), reader.size, _ENTRIES_AT_ONCE):
            stop = min(first + _ENTRIES_AT_ONCE, reader.size)

            def part(first: int = first, stop: int = stop) -> list[bytes]:
                return list(reader.entries(first, stop))

            for entry in await self._call(part):
                yield entry

    async def _call(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)
