"""A board as one process uses it: a client, bounded threads, and what went over the wire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Final, TypeVar

from bulletin_board import Reason, Refused, TrustPolicy
from bulletin_board.client.board import BoardClient, Patience
from bulletin_board.client.http import HttpTransport, NetworkError, Response, Transport
from bulletin_board.client.state import ClientState
from wire.randomness import Rng

_T = TypeVar("_T")

_PASSING: Final = frozenset({Reason.BUSY, Reason.UNAVAILABLE, Reason.QUORUM, Reason.QUOTA})
_PATIENCE: Final = Patience(attempts=5, first_seconds=0.2, most_seconds=5.0)
_READERS: Final = 4
_POSTERS: Final = 16


class Link:
    """Reaches one board for all parties of a process.

    However many post at once, `posters` threads and as many connections do the work, in the
    order in which they were asked. Reading has threads of its own, so that a crowd that
    posts does not keep anybody from seeing what the organiser says.
    """

    def __init__(  # noqa: PLR0913 - every edge of the client is injected
        self,
        url: str,
        policy: TrustPolicy,
        state: ClientState,
        *,
        rng: Rng,
        transport: Transport | None = None,
        posters: int = _POSTERS,
        patience: Patience = _PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`state` has what was seen of the board before; `sleep` waits between attempts."""
        self._http = None if transport else HttpTransport(connections=posters + _READERS)
        self._counted = CountingTransport(transport or self._http or HttpTransport())
        self.client = BoardClient(
            url,
            policy,
            state,
            self._counted,
            rng=rng,
            patience=patience,
            sleep=sleep,
            short_proofs=True,
        )
        self._readers = ThreadPoolExecutor(_READERS, "session-reading")
        self._posters = ThreadPoolExecutor(posters, "session-posting")

    @property
    def bytes_read(self) -> int:
        """The bodies of all answers, receipts among them."""
        return self._counted.read

    @property
    def bytes_posted(self) -> int:
        """The bodies of all requests."""
        return self._counted.sent

    async def read(self, work: Callable[[], _T]) -> _T:
        """Do this in one of the reading threads."""
        return await _in_thread(self._readers, work)

    async def submit(self, entries: Sequence[bytes]) -> None:
        """Post in this order; returns when the log has promised all of them ([W7]).

        Raises:
            Refused: for a reason that does not pass.
            NetworkError: patience has ended; the same bytes may be sent again.
            FaultyBoard: a receipt shows a fork.
        """
        for raw in entries:
            try:
                await _in_thread(self._posters, partial(self.client.submit, raw))
            except Refused as refusal:
                if not passes(refusal):
                    raise
                raise NetworkError(str(refusal)) from None

    async def close(self) -> None:
        """Wait for running requests, close the connections."""
        for pool in (self._readers, self._posters):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        if self._http is not None:
            self._http.close()


class CountingTransport:
    """Counts the bytes of bodies. May be shared between threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = Lock()
        self.sent = 0
        self.read = 0

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        with self._lock:
            self.sent += len(body or b"")
        answer = self._transport.request(method, url, body=body, media_type=media_type, limit=limit)
        with self._lock:
            self.read += len(answer.body)
        return answer


def passes(refusal: Refused) -> bool:
    """Whether the same bytes may be taken later. A quota that names no time is used up for good."""
    if refusal.reason is Reason.QUOTA:
        return refusal.retry_after is not None
    return refusal.reason in _PASSING


async def _in_thread(pool: Executor, work: Callable[[], _T]) -> _T:
    return await asyncio.get_running_loop().run_in_executor(pool, work)
