"""The document behind the page, made at most once in a while however many people look."""

from __future__ import annotations

import asyncio
import json

from starlette.concurrency import run_in_threadpool

from bulletin_board.server.service import BoardService
from bulletin_board.server.view import overview


class OverviewCache:
    """Counting sessions takes time that grows with their number, and strangers may ask.

    Used by one event loop; the counting happens in a thread.
    """

    def __init__(self, service: BoardService) -> None:
        self._service = service
        self._making = asyncio.Lock()
        self._document: bytes | None = None
        self._expires = float("-inf")

    async def get(self) -> bytes | None:
        """The document in JSON, or None while the log is closed."""
        async with self._making:
            if self._service.clock() >= self._expires:
                self._document = await run_in_threadpool(self._make)
                self._expires = self._service.clock() + self._service.limits.overview_seconds
            return self._document

    def _make(self) -> bytes | None:
        service = self._service
        sequencer = service.committer.sequencer
        if sequencer is None:
            return None
        signed = sequencer.signed
        document = overview(
            signed.checkpoint.origin,
            signed.note.to_bytes().decode(),
            signed.size,
            sequencer.census,
            service.witnesses(),
            service.view,
        )
        return json.dumps(document).encode()
