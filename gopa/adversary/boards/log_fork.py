"""A real board on loopback: one history of a log that may have several."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bulletin_board import NoteSigner, Submission, TrustPolicy
from bulletin_board.admission import Anyone
from bulletin_board.sequencer import Accepted, Sequencer, first_checkpoint
from bulletin_board.server.run import ListenOptions, make_server, start_board
from bulletin_board.storage.directory import BoardDirectory
from gopa.protocol.admission.policy import Limits, ProtocolAdmission
from wire.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.applications import Starlette


_SECONDS: Final = 60.0
_UNLIMITED: Final = 10**9

FEW_PENDING: Final = 16
FEW_SESSIONS: Final = 16
FEW_CONNECTIONS: Final = 128
"""A fork is a small board: crowds of strangers need not be large."""


@dataclass(slots=True, eq=False)
class LogFork:
    """One history of the log, of the size that those behind the front know."""

    address: str
    size: int


@contextmanager
def serve_fork(
    root: Path, signer: NoteSigner, policy: TrustPolicy, entries: Iterable[bytes] = ()
) -> Iterator[LogFork]:
    """A board that signs with this key, and whose log begins with these entries.

    `root` does not exist. Several boards of one key sign several histories: that is the point.
    """
    place = BoardDirectory(root)
    place.create(signer, first_checkpoint(signer))
    size = _stored(place, signer, [Submission.decode(raw) for raw in entries])
    with ExitStack() as stack:
        limits = Limits.of(most_sessions=FEW_SESSIONS, most_pending=FEW_PENDING)
        app = start_board(place, signer, policy, lambda: ProtocolAdmission(limits), stack)
        yield LogFork(stack.enter_context(serving(app)), size)


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The address of an application on a free port of this machine."""
    addresses: list[str] = []
    ready = threading.Event()

    def listening(found: list[str]) -> None:
        addresses.extend(found)
        ready.set()

    listen = ListenOptions("127.0.0.1", 0, connections=FEW_CONNECTIONS)
    server = make_server(app, listen, listening)
    thread = threading.Thread(target=server.run, name="a fork of a board", daemon=True)
    thread.start()
    try:
        if not ready.wait(_SECONDS):
            raise UsageError("no board can be served on this machine", "port")
        yield addresses[0]
    finally:
        server.should_exit = True
        thread.join(_SECONDS)


def _stored(place: BoardDirectory, signer: NoteSigner, entries: list[Submission]) -> int:
    """How many of them the log has now: all, or somebody meant them to be refused."""
    if not entries:
        return 0
    log = Sequencer(place.storage(), signer, lambda: Anyone(_UNLIMITED))
    try:
        accepted = [each for each in log.append(entries) if isinstance(each, Accepted)]
    finally:
        log.close()
    return len(accepted)
