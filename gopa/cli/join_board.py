"""What a party is told about its board while it waits, and how long it waits for one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from gopa.cli.session_progress import Progress
from gopa.cli.session_words import trouble_line
from gopa.sessions.entrance import Alone
from gopa.sessions.following import SelectiveLog
from gopa.sessions.organising import BoardFound, BoardLost
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault
from wire.errors import GopaError, ProtocolError
from wire.randomness import Rng

_LOOK: Final = 0.5
_CLOSING: Final = 2.0
_T = TypeVar("_T")


class BoardUnreachable(GopaError):
    """The board could not be used for as long as the party was willing to wait."""


class SessionAbsent(BoardUnreachable):
    """The board has answered, and had no such session for as long as the party would wait."""


class PatientConnect(Alone):
    """Reaches the board of one session, says when it is lost and found, and gives up in time."""

    def __init__(
        self, screen: Progress, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`patience` is how many seconds in a row the board, or the session, may not be there."""
        self._screen = screen
        self._patience = patience
        self._clock = clock
        self._log: SelectiveLog | None = None
        self._ticket: Ticket | None = None
        self._without: float | None = None
        self._working = False
        self._lost_at: float | None = None

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        """The log, which is looked at from now on."""
        self._log, self._ticket = super().open(ticket, vault, rng), ticket
        return self._log

    @property
    def hangs(self) -> bool:
        """Whether work was given up that would not end: a thread waits for a board's answer."""
        return self._working

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do the work in an event loop of its own.

        When the board hangs, a request may last a minute. Whoever stops the party, and a party
        that gives up, does not wait for it: the caller then has to end the process.

        Raises:
            BoardUnreachable: there was no board for too long.
            SessionAbsent: there was one, without the session of the ticket.
            KeyboardInterrupt: somebody has stopped it.
        """
        runner = asyncio.Runner()
        try:
            return runner.run(self._during(work))
        finally:
            if not self.hangs:
                runner.close()

    async def _during(self, work: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.ensure_future(work)
        self._working = True
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK)
                if not task.done():
                    self._look()
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSING)
            self._working = not task.done()

    def _look(self) -> None:
        trouble = None if self._log is None else self._log.trouble
        if trouble is None:
            self._found()
            self._require_session()
        else:
            self._lost(trouble)

    def _require_session(self) -> None:
        """A ticket of another board, or of a session that is never opened, is not waited for.

        A board that comes and goes does not make the party begin to count again.
        """
        if self._log is None or self._ticket is None or self._log.found:
            return
        if not self._log.bytes_read:
            return  # nobody has answered yet
        if self._without is None:
            self._without = self._clock()
        elif self._clock() - self._without >= self._patience:
            raise SessionAbsent(
                f"no session {self._ticket.session.hex()[:16]} at {self._ticket.board} for"
                f" {self._patience:g} seconds: ask its organiser whether it is open and whether"
                " this is the newest ticket, or wait longer with --patience"
            )

    def _lost(self, trouble: ProtocolError) -> None:
        if self._lost_at is None:
            self._lost_at = self._clock()
            self._screen.happened(trouble_line(BoardLost(str(trouble))))
        elif self._clock() - self._lost_at >= self._patience:
            raise BoardUnreachable(f"no board for {self._patience:g} seconds: {trouble}")

    def _found(self) -> None:
        if self._lost_at is not None:
            seconds = self._clock() - self._lost_at
            self._lost_at = None
            self._screen.happened(trouble_line(BoardFound(seconds)))
