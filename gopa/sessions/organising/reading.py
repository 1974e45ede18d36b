"""How an organiser reads all of a log and posts to it. `specs/12-sessions.md`, [W1] and [W2]."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Final, Protocol

from bulletin_board import LogReader, Submission
from bulletin_board.client.board import BoardClient
from gopa.messages.framing import Posted
from gopa.sessions.following.interface import Horizon
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import SIGNATURE_SIZE, Signed, verify_many
from wire.errors import UsageError
from wire.pae import pre_auth_encoding

PIECE: Final = 2048
"""Entries that are read at once."""


class OrganiserLog(Protocol):
    """All of a log, verified, and a way to post."""

    async def newest(self) -> tuple[Horizon, bytes]:
        """The newest checkpoint that satisfies the policy and extends all before; its bytes."""

    async def entries(self, start: int, stop: int) -> tuple[Posted, ...]:
        """All entries of the session from index `start` to `stop`, below the newest checkpoint."""

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        """Post in this order; returns when the log has promised all of them."""


class BoardLog:
    """The log of a board, through a client that has the session's policy.

    One call at a time. `executor` verifies signatures.
    """

    def __init__(
        self, client: BoardClient, session: bytes, executor: Executor | None = None
    ) -> None:
        self._client = client
        self._session = session
        self._executor = executor
        self._reader: LogReader | None = None

    async def newest(self) -> tuple[Horizon, bytes]:
        signed = await asyncio.to_thread(self._client.update)
        if self._reader is None or signed.size > self._reader.size:
            self._reader = await asyncio.to_thread(self._client.reader)
        signed = self._reader.signed
        return Horizon(signed.size, signed.root), signed.to_bytes()

    async def entries(self, start: int, stop: int) -> tuple[Posted, ...]:
        return await asyncio.to_thread(self._entries, start, stop)

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        for raw in entries:
            await asyncio.to_thread(self._client.submit, raw)

    def _entries(self, start: int, stop: int) -> tuple[Posted, ...]:
        if self._reader is None:
            raise UsageError("entries lie below a checkpoint: ask for the newest one first")
        found: list[tuple[int, Submission]] = []
        for index, raw in enumerate(self._reader.entries(start, stop), start):
            submission = Submission.decode(raw)
            if submission.entry.session == self._session:
                found.append((index, submission))
        verify_many((_signed(each) for _, each in found), self._executor)
        return tuple(Posted(index, each.leaf, each.entry) for index, each in found)


def _signed(submission: Submission) -> Signed:
    message = pre_auth_encoding(ENTRY_PAYLOAD_TYPE, submission.raw[:-SIGNATURE_SIZE])
    return Signed(submission.entry.author, message, submission.signed.signature)
