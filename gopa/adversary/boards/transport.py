"""Stands in front of a malicious board, and decides for everybody which log there is.

One of its lies is a server that answers everything, and never comes to an end.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bulletin_board import Entry, NoteSigner, TrustPolicy
from bulletin_board.client.board import BoardClient, Patience
from bulletin_board.client.http import HttpTransport, Response
from bulletin_board.client.state import MemoryState
from bulletin_board.storage import Overtaken
from gopa.adversary.boards.log_fork import LogFork, serve_fork
from gopa.adversary.boards.tampering import (
    ENTRIES,
    BoardRequest,
    Onward,
    Tampering,
    Which,
    false_receipts,
    garbled,
    hiding,
    losing,
    standing_still,
)
from wire.errors import GopaError
from wire.randomness import Rng

_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
_PIECE: Final = b"[" * 65_536
_SECONDS: Final = 10.0


@contextmanager
def endless_server() -> Iterator[str]:
    """Its address. An answer goes on until the reader has had enough, or the server is closed."""
    over = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(0.2)
        thread = threading.Thread(target=_accept, args=(listener, over), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join(_SECONDS)


def _accept(listener: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        with suppress(TimeoutError):
            connection, _ = listener.accept()
            threading.Thread(target=_talk, args=(connection, over), daemon=True).start()


def _talk(connection: socket.socket, over: threading.Event) -> None:
    with suppress(OSError), closing(connection):
        connection.settimeout(_SECONDS)
        connection.recv(65_536)
        connection.sendall(_HEAD)
        while not over.is_set():
            connection.sendall(_PIECE)


LONG: Final = 60.0
"""Seconds after which something that was waited for is taken for never."""

_BEAT: Final = 0.05
_NEW: Final = 201
_TAKEN: Final = frozenset({200, _NEW})
_QUICK: Final = Patience(4, 0.01, 0.05)


class NeverHappened(GopaError):
    """Something that was waited for and did not happen."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A post that reached a fork, and what that answered."""

    fork: LogFork
    raw: bytes
    entry: Entry
    status: int

    @property
    def taken(self) -> bool:
        """Whether that fork has acknowledged it."""
        return self.status in _TAKEN


class MaliciousBoard:
    """Several real boards of one key behind one address, with transports to them.

    `main` is the fork that everybody sees at first, `forks` has all. Witnesses of the policy are
    shown that one alone. `sent` are the posts that
    reached one, `handed` is every entry that anybody has handed to the network, also what was
    lost there. `stack` ends all of it.
    """

    def __init__(
        self, root: Path, signer: NoteSigner, policy: TrustPolicy, stack: ExitStack, *, rng: Rng
    ) -> None:
        self._root, self._signer, self._policy, self._stack = root, signer, policy, stack
        self._rng = rng
        self._changed = threading.Condition()
        self._endless: str | None = None
        self.sent: list[Sent] = []
        self.handed: set[bytes] = set()
        self.forks: list[LogFork] = []
        self.overtaken = False
        self.main = self.fork(())

    def fork(self, entries: Iterable[bytes]) -> LogFork:
        """Another fork: a log with these entries, the same key, and a future of its own."""
        place = self._root / f"fork-{len(self.forks)}"
        alone = TrustPolicy.single_log(self._policy.log.key)
        policy = alone if self.forks else self._policy
        made = serve_fork(place, self._signer, policy, entries)
        self.forks.append(self._stack.enter_context(made))
        return self.forks[-1]

    def restore(self, entries: Iterable[bytes]) -> LogFork | None:
        """The board comes back with these entries alone, for its own witnesses; None if it refuses.

        `overtaken` says that it did.
        """
        place = self._root / f"restored-{len(self.forks)}"
        made = serve_fork(place, self._signer, self._policy, entries)
        try:
            self.forks.append(self._stack.enter_context(made))
        except Overtaken:
            self.overtaken = True
            return None
        return self.forks[-1]

    def transport(self) -> TamperedTransport:
        """A transport to the board for one participant; it sees the main fork."""
        return TamperedTransport(self)

    def entries(self, fork: LogFork | None = None) -> list[bytes]:
        """All that a fork has now."""
        return list(self.client(fork or self.main).reader().entries())

    def client(self, fork: LogFork, *, quorum: bool = False) -> BoardClient:
        """An honest reader of one fork, without a memory of others; it may ask for a quorum."""
        policy = self._policy if quorum else TrustPolicy.single_log(self._policy.log.key)
        transport = HttpTransport()
        self._stack.callback(transport.close)
        return BoardClient(
            fork.address, policy, MemoryState(), transport, rng=self._rng, patience=_QUICK
        )

    def wait_for(self, holds: Callable[[], bool], seconds: float = LONG) -> None:
        """Block until it holds; asked after every request of anybody.

        Raises `NeverHappened`.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            while not holds():
                if time.monotonic() > deadline:
                    raise NeverHappened("what was waited for did not come to pass")
                self._changed.wait(_BEAT)

    def arrived(self, sent: Sent) -> None:
        """Notes that a fork has answered a post."""
        with self._changed:
            if sent.status == _NEW:
                sent.fork.size += 1
            self.sent.append(sent)

    def handing(self, raw: bytes) -> None:
        """Notes that a client sent this entry, whether it arrives or not."""
        with self._changed:
            self.handed.add(raw)

    def happened(self) -> None:
        """Wakes whoever waits, because a request is over."""
        with self._changed:
            self._changed.notify_all()

    @property
    def endless(self) -> str:
        """The address of a server whose answers never end."""
        if self._endless is None:
            self._endless = self._stack.enter_context(endless_server())
        return self._endless


class TamperedTransport(HttpTransport):
    """One participant's requests: shows one fork at a time, through whatever is done to it.

    What is done last comes first: it sees the request before the others.
    """

    def __init__(self, board: MaliciousBoard) -> None:
        super().__init__()
        self._board = board
        self._idle = threading.Condition()
        self._running = 0
        self._tamperings: list[Tampering] = []
        self.fork = board.main
        self.requests = 0
        self.lost: list[Entry] = []

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        """The answer to a request, unless somebody tampers with it."""
        path = url.removeprefix(self._board.main.address)
        asked = BoardRequest(method, path, body, media_type, limit)
        if asked.path == ENTRIES:
            self._board.handing(body or b"")
        with self._idle:
            self._running += 1
            self.requests += 1
            fork, tamperings = self.fork, tuple(self._tamperings)
        onward: Onward = partial(self._pass_on, fork)
        for tampering in tamperings:
            onward = partial(tampering, onward=onward)
        try:
            return onward(asked)
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()
            self._board.happened()

    def show(self, fork: LogFork) -> None:
        """Show this fork from now on; no answer of another one is on its way any more."""
        with self._idle:
            self.fork = fork
            if not self._idle.wait_for(lambda: not self._running, LONG):
                raise NeverHappened("an answer stays away")

    def tamper(self, what: Tampering) -> None:
        """Do this to all further requests."""
        with self._idle:
            self._tamperings.append(what)

    def behave(self) -> None:
        """Do nothing any more; the fork stays."""
        with self._idle:
            self._tamperings.clear()

    def loses(self, which: Which) -> None:
        """Lose these posts; `lost` has them."""
        self.tamper(losing(which, self.lost))

    def hides(self, which: Which) -> None:
        """Lookups show everything but these entries, with a good proof."""
        self.tamper(hiding(which, lambda: self._board.client(self.fork).reader().node))

    def stands_still(self) -> None:
        """The newest checkpoint is the one that is shown next, for ever."""
        self.tamper(standing_still())

    def garbles(self, times: int) -> None:
        """So many requests of every kind are answered with nonsense, or without end."""
        endless = self._board.endless
        self.tamper(garbled(times, lambda asked: self._ask(endless, asked)))

    def acknowledges_falsely(self, which: Which, times: int) -> None:
        """So many of these posts are dropped and answered with a good receipt for another entry."""
        self.tamper(false_receipts(which, times, self._other_receipt, self.lost))

    def posts_to(self, fork: LogFork, which: Which) -> None:
        """Send these posts to another fork than the one that is shown."""

        def diverted(asked: BoardRequest, onward: Onward) -> Response:
            entry = asked.posted
            if entry is None or not which(entry):
                return onward(asked)
            return self._pass_on(fork, asked)

        self.tamper(diverted)

    def _pass_on(self, fork: LogFork, asked: BoardRequest) -> Response:
        """What this fork answers."""
        answer = self._ask(fork.address, asked)
        entry = asked.posted
        if entry is not None:
            self._board.arrived(Sent(fork, asked.body or b"", entry, answer.status))
        return answer

    def _ask(self, address: str, asked: BoardRequest) -> Response:
        return super().request(
            asked.method,
            address + asked.path,
            body=asked.body,
            media_type=asked.media_type,
            limit=asked.limit,
        )

    def _other_receipt(self) -> bytes:
        return self._board.client(self.fork).reader().receipt(0).to_bytes()
