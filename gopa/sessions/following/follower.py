"""What a participant can ask of a log, and one look at the board for everybody who waits.

Specification: `specs/12-sessions.md`, section 3. `SessionLog` is the interface, `BoardFollower`
the part that its implementations share, `BoardLink` the way to the board: a client and bounded
threads, which count what goes over the wire.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final, Protocol, TypeVar, runtime_checkable

from bulletin_board import LogReader, RefusalReason, Refused, TrustPolicy
from bulletin_board.client.board import BoardClient, Patience
from bulletin_board.client.http import HttpTransport, NetworkError, Response, Transport
from bulletin_board.client.state import ClientState
from bulletin_board.display import visible
from gopa.contract.framing import Posted
from gopa.protocol.party import Fetch
from wire.errors import FaultyBoard, ProtocolError, UsageError
from wire.randomness import Rng


@dataclass(frozen=True, slots=True)
class Horizon:
    """A verified checkpoint: entries below `size` are known to be in the log."""

    size: int
    root: bytes


@runtime_checkable
class SessionLog(Protocol):
    """The log for one participant, which believes only what has been proved (12-W1).

    Implementations: `WholeLog` reads every entry, `SelectiveLog` asks for places. Many
    parties of one process may share one. Raises `FaultyBoard` on a fork, for good.
    """

    @property
    def session(self) -> bytes:
        """The session of interest."""

    async def manifest(self) -> bytes:
        """The body of the session's manifest, of which the session is the hash.

        Waits until it is in the log.
        """

    async def grown(self, size: int) -> Horizon:
        """Wait for a verified checkpoint of more than `size` entries; the newest one."""

    async def spoken(self, start: int) -> Horizon:
        """Wait until the organiser has an entry at index `start` or behind it; the newest horizon.

        What parties post wakes nobody up: thousands of them may wait here.
        """

    def skip(self, number: int) -> None:
        """Say first, if at all, that nothing the organiser said before this round is needed."""

    async def controls(self, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """The organiser's next entries from index `start` on, without a gap, in order (12-W2).

        Perhaps not all below the horizon: ask again behind the last, until there are none.
        """

    async def own(
        self, author: bytes, start: int, stop: int, horizon: Horizon
    ) -> tuple[Posted, ...]:
        """All entries between these indexes of the party with this Ed25519 key."""

    async def answer(self, wanted: Fetch, horizon: Horizon) -> tuple[Posted, ...]:
        """What the board says the fetch asks for: proved, but perhaps not all (12-W3)."""

    async def complete(self, wanted: Fetch, start: int, horizon: Horizon) -> tuple[Posted, ...]:
        """All that the fetch asks for, by reading the log from index `start` to its cut."""

    async def root(self, size: int, claimed: bytes, horizon: Horizon) -> bytes:
        """The root that the log had at this size, not above the horizon (12-W1).

        `claimed` is what somebody says: if that is right, it is cheaper to prove.
        """

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        """Post in this order; returns when the log has promised all of them (12-W7).

        Raises `Refused` for a reason that does not pass.
        """

    async def reader(self) -> LogReader:
        """All of the log below the newest verified checkpoint."""

    async def close(self) -> None:
        """Give back connections and tasks; calling it again does nothing."""


_T = TypeVar("_T")

_PASSING: Final = frozenset(
    {
        RefusalReason.BUSY,
        RefusalReason.UNAVAILABLE,
        RefusalReason.QUORUM,
        RefusalReason.ADDRESS,
        RefusalReason.STORAGE,
    }
)
_PATIENCE: Final = Patience(attempts=5, first_seconds=0.2, most_seconds=5.0)
_READERS: Final = 4
_POSTERS: Final = 16


class BoardLink:
    """The way to one board for all parties of a process.

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
        """Post in this order; returns when the log has promised all of them (12-W7).

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
    """A transport that counts the bytes of bodies. May be shared between threads."""

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
    if refusal.reason is RefusalReason.QUOTA:
        return refusal.retry_after is not None
    return refusal.reason in _PASSING


async def _in_thread(pool: Executor, work: Callable[[], _T]) -> _T:
    return await asyncio.get_running_loop().run_in_executor(pool, work)


_LONGEST: Final = 300
_KEPT_ROOTS: Final = 64
_LOG: Final = logging.getLogger("gopa.sessions")

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PollingPace:
    """How often to look: after `least` seconds while the log grows, else up to `most`."""

    least: float = 0.2
    most: float = 3.0
    factor: float = 1.5


class Signal:
    """A bell for all that wait now; until then waiting costs nothing."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    async def wait(self) -> None:
        await self._event.wait()

    def fire(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()


class BoardFollower(ABC):
    """A board followed from the first question on until `close`.

    What may pass (no answer, no quorum yet, tiles that do not fit) is asked again and stands in
    `trouble`. A fork is for good, and so is an error of this machine: everybody who waits gets
    it. Used by one event loop.
    """

    def __init__(self, link: BoardLink, session: bytes, pace: PollingPace, sleep: Sleep) -> None:
        self._link = link
        self._session = session
        self._pace = pace
        self._sleep = sleep
        self._horizon = Horizon(0, bytes(32))
        self._roots = dict[int, bytes]()
        self._rooting = asyncio.Lock()
        self._growth = Signal()
        self._speech = Signal()
        self._task: asyncio.Task[None] | None = None
        self._nap: asyncio.Future[None] | None = None
        self._interval = pace.least
        self._failure: Exception | None = None
        self.trouble: ProtocolError | None = None

    @property
    def session(self) -> bytes:
        """The session of interest."""
        return self._session

    @property
    def bytes_read(self) -> int:
        """What all users of the link have read: bodies of answers."""
        return self._link.bytes_read

    @property
    def bytes_posted(self) -> int:
        """What all users of the link have sent: bodies of requests."""
        return self._link.bytes_posted

    async def grown(self, size: int) -> Horizon:
        """Wait for a verified checkpoint of more than `size` entries; the newest one."""

        def newer() -> Horizon | None:
            return self._horizon if self._horizon.size > size else None

        return await self._until(newer, self._growth)

    async def submit(self, entries: tuple[bytes, ...]) -> None:
        """Post as `BoardLink.submit` does; then the board is looked at soon."""
        self._require_sound()
        await self._link.submit(entries)
        self._hurry()

    async def root(self, size: int, claimed: bytes, horizon: Horizon) -> bytes:
        """The root that the log had at this size; asked of the board once for all that wait."""
        self._require_known(horizon)
        async with self._rooting:
            if size not in self._roots:
                work = partial(self._link.client.root_at, size, claimed)
                self._roots[size] = await self._link.read(work)
            while len(self._roots) > _KEPT_ROOTS:
                del self._roots[next(iter(self._roots))]
            return self._roots[size]

    async def reader(self) -> LogReader:
        """All of the log below the newest verified checkpoint."""
        return await self._link.read(self._link.client.reader)

    async def close(self) -> None:
        """Stop looking. Whoever still waits is told."""
        task, self._task = self._task, None
        self._failure = self._failure or UsageError("the session is not followed any more")
        self._wake()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        await self._link.close()

    @abstractmethod
    async def _look(self) -> bool:
        """Look at the board once, change what stands here; whether it has grown."""

    async def _until(self, ready: Callable[[], _T | None], signal: Signal) -> _T:
        """Wait until there is something, asked now and after each signal."""
        self._start()
        while True:
            self._require_sound()
            found = ready()
            if found is not None:
                return found
            await signal.wait()

    def _require_sound(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _require_known(self, horizon: Horizon) -> None:
        self._require_sound()
        if horizon.size > self._horizon.size:
            raise UsageError("a horizon that this log has shown", "horizon")

    def _wake(self) -> None:
        self._growth.fire()
        self._speech.fire()

    def _start(self) -> None:
        if self._task is None and self._failure is None:
            self._task = asyncio.get_running_loop().create_task(self._follow())

    def _hurry(self) -> None:
        """Look soon after a post, but not at once: a crowd would leave no pause."""
        if self._interval > self._pace.least and self._nap is not None:
            self._interval = self._pace.least
            self._nap.cancel()

    async def _follow(self) -> None:
        while self._failure is None:
            grew = False
            try:
                grew = await self._look()
                self.trouble = None
            except FaultyBoard as error:
                self._failure = error
            except ProtocolError as error:
                if self.trouble is None:
                    _LOG.info("the board: %s; looking again", visible(str(error), _LONGEST))
                self.trouble = error
            except Exception as error:  # noqa: BLE001 - whoever waits must be told
                self._failure = error
            if self._failure is None:
                await self._rest(grew=grew)
        self._wake()

    async def _rest(self, *, grew: bool) -> None:
        pace = self._pace
        longer = min(pace.most, self._interval * pace.factor)
        self._interval = pace.least if grew else longer
        self._nap = asyncio.ensure_future(self._sleep(self._interval))
        try:
            await asyncio.wait({self._nap})
        finally:
            self._nap.cancel()
            self._nap = None
