"""Connects a party with the board of its session, and asks again whatever goes wrong.

Specification: `specs/12-sessions.md`, section 4. Parties of one process that follow a log
together share what they remember of its board.

An honest board that starts again, whose witnesses are still asleep, or that is reached through a
proxy shows nothing, too little, or something else for a while. A party that ended for that could
be sent away by whoever is between it and the board.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from bulletin_board import Refused, VerifierKey
from bulletin_board.client.forks import verify_fork
from bulletin_board.client.state import ClientState
from bulletin_board.display import visible
from gopa.sessions.following import BoardLink, SelectiveLog, SessionLog, WholeLog
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault
from wire.errors import FaultyBoard, ProtocolError, Unattributed, UsageError
from wire.randomness import Rng


class SharedState:
    """Keeps one `ClientState` for many parties, and evidence of a fork in the vault of each.

    `main` keeps what changes all the time. Every state that was added gets a copy of what
    convicts the board, so that its party stops also when it comes back alone (12-W6).
    """

    def __init__(self, main: ClientState, log: VerifierKey) -> None:
        self._main = main
        self._log = log
        self._others: list[ClientState] = []

    def add(self, state: ClientState) -> None:
        """Add a party's own state; raises `FaultyBoard` if it or `main` knows of a fork."""
        known = state.kept_evidence()
        evidence = known or self._main.kept_evidence()
        if evidence is not None:
            verify_fork(evidence, self._log)
            if known is None:
                _keep(state, evidence)
            raise FaultyBoard("the log has forked, says evidence kept before", evidence)
        if state is not self._main:
            self._others.append(state)

    def load(self) -> bytes | None:
        return self._main.load()

    def store(self, checkpoint: bytes) -> None:
        self._main.store(checkpoint)

    def keep_evidence(self, evidence: bytes) -> str:
        for state in self._others:  # first: a full disk below `main` must not lose it for all
            _keep(state, evidence)
        return self._main.keep_evidence(evidence)

    def kept_evidence(self) -> bytes | None:
        return self._main.kept_evidence()

    def keep_unproven(self, pair: bytes) -> str:
        return self._main.keep_unproven(pair)

    def unproven(self) -> bytes | None:
        return self._main.unproven()

    def clear_unproven(self) -> None:
        self._main.clear_unproven()


def _keep(state: ClientState, evidence: bytes) -> None:
    with suppress(OSError, UsageError):  # a full disk, or a directory that is gone
        state.keep_evidence(evidence)


Reach = Callable[[Ticket, ClientState, Rng], BoardLink]


class Connect(Protocol):
    """Opens and closes the logs of sessions: alone for each party, or together for many."""

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SessionLog:
        """The log of the ticket's session; the vault has what was seen of the board before."""

    async def close(self, log: SessionLog) -> None:
        """Give the log back, once for each call of `open`."""


def over_http(ticket: Ticket, state: ClientState, rng: Rng) -> BoardLink:
    """Reach the ticket's board over HTTP."""
    return BoardLink(ticket.board, ticket.trust, state, rng=rng)


class Alone:
    """Reads what one party needs of the board, and remembers it in the party's vault."""

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        """Open a log that this party alone reads."""
        return SelectiveLog(over_http(ticket, vault.board, rng), ticket.session)

    async def close(self, log: SessionLog) -> None:
        """Close it."""
        await log.close()


class Together:
    """Reads the log of a session once for all parties of one process.

    `state` has what was seen of the board before; without one the vault of the first party
    that comes does. Evidence that the log has forked is kept in the vaults of all of them.
    `executor` verifies signatures, `reach` connects with a board. `logs` are those that are
    open, by session.
    """

    def __init__(
        self,
        state: ClientState | None = None,
        executor: Executor | None = None,
        reach: Reach = over_http,
    ) -> None:
        self._state = state
        self._executor = executor
        self._reach = reach
        self._users: dict[bytes, int] = {}
        self._shared: dict[bytes, SharedState] = {}
        self.logs: dict[bytes, WholeLog] = {}

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SessionLog:
        """The log that all parties of the session share.

        Raises `FaultyBoard` if the vault has evidence that it forked.
        """
        session = ticket.session
        shared = self._shared.get(session) or SharedState(self._state or vault.board, ticket.log)
        shared.add(vault.board)
        if session not in self.logs:
            link = self._reach(ticket, shared, rng)
            self.logs[session] = WholeLog(link, session, executor=self._executor)
            self._users[session], self._shared[session] = 0, shared
        self._users[session] += 1
        return self.logs[session]

    async def close(self, log: SessionLog) -> None:
        """Gives a log back, and closes it if nobody else uses it."""
        self._users[log.session] -= 1
        if not self._users[log.session]:
            del self._users[log.session], self._shared[log.session]
            await self.logs.pop(log.session).close()


@dataclass(frozen=True, slots=True)
class RoundPatience:
    """Says how long a party waits: it leaves a round that is silent for `round_seconds`.

    It tries again after `retry_seconds` when the board cannot be reached. `clock` never goes
    back. `date` shows seconds since 1970, which decide whether a party heard of a roll before
    the value of a beacon could be known.
    """

    round_seconds: float = 3_600.0
    retry_seconds: float = 2.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    date: Callable[[], float] = time.time


_LONGEST: Final = 300
_LOG: Final = logging.getLogger("gopa.sessions")
_T = TypeVar("_T")


class NotShown(Unattributed):
    """Reports that a board did not show or take what it should; the same request may work later."""


async def shown(asked: Awaitable[_T]) -> _T:
    """The answer of a `SessionLog`.

    Raises:
        NotShown: there was none that holds; ask again.
        FaultyBoard: a fork is for good.
        Refused: a post was not taken, for a reason that does not pass.
    """
    try:
        return await asked
    except (FaultyBoard, Refused):
        raise
    except ProtocolError as error:
        raise NotShown(visible(str(error), _LONGEST)) from error


async def until_shown(ask: Callable[[], Awaitable[_T]], waiting: RoundPatience) -> _T:
    """Ask until there is an answer; raises as `shown`, but never `NotShown`."""
    while True:
        try:
            return await shown(ask())
        except NotShown as error:
            await pause(error, waiting)


async def pause(error: NotShown, waiting: RoundPatience) -> None:
    """Say why, and wait before the next attempt."""
    _LOG.info("%s; trying again", error)
    await waiting.sleep(waiting.retry_seconds)
