"""From a ticket to a session that a party can follow. `specs/12-sessions.md`, section 4."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol

from bulletin_board.client.state import ClientState
from gopa.messages.manifest import MANIFEST, Manifest, session_id
from gopa.sessions.following import Link, SelectiveLog, SessionLog, WholeLog
from gopa.sessions.shared import SharedState
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Vault
from wire.errors import InvalidProof
from wire.randomness import Rng

Reach = Callable[[Ticket, ClientState, Rng], Link]


class Connect(Protocol):
    """How the boards of sessions are reached."""

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SessionLog:
        """The log of the ticket's session; the vault has what was seen of the board before."""

    async def close(self, log: SessionLog) -> None:
        """The log is used no longer by one that opened it."""


def checked_manifest(ticket: Ticket, body: bytes) -> Manifest:
    """The manifest of the ticket's session ([T2]).

    Raises:
        MalformedMessage: it is no manifest.
        InvalidProof: it is another one than the ticket's.
    """
    if session_id(body) != ticket.session:
        raise InvalidProof("the manifest is not that of the ticket's session", "12-T2")
    manifest = MANIFEST.decode(body)
    if manifest.log != str(ticket.log).encode() or manifest.policy != ticket.policy:
        raise InvalidProof("the manifest trusts another log than the ticket", "12-T2")
    return manifest


def over_http(ticket: Ticket, state: ClientState, rng: Rng) -> Link:
    """The way to the ticket's board."""
    return Link(ticket.board, ticket.trust, state, rng=rng)


class Alone:
    """Reads what one party needs of the board, and remembers it in the party's vault."""

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SelectiveLog:
        """A log of its own for each party."""
        return SelectiveLog(over_http(ticket, vault.board, rng), ticket.session)

    async def close(self, log: SessionLog) -> None:
        """Close it."""
        await log.close()


class Together:
    """For many parties of one process: the log of a session is read once for all.

    `state` has what was seen of the board before; without one the vault of the first party
    that comes does. Evidence that the log has forked is kept in the vaults of all of them.
    `executor` verifies signatures. `reach` makes the way to a board. `logs` are those that
    are open, by session.
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
        self._guests: dict[bytes, int] = {}
        self._shared: dict[bytes, SharedState] = {}
        self.logs: dict[bytes, WholeLog] = {}

    def open(self, ticket: Ticket, vault: Vault, rng: Rng) -> SessionLog:
        """The log that all parties of the session share.

        Raises `FaultyBoard` if the vault has evidence that it forked.
        """
        session = ticket.session
        shared = self._shared.get(session) or SharedState(self._state or vault.board, ticket.log)
        shared.welcome(vault.board)
        if session not in self.logs:
            link = self._reach(ticket, shared, rng)
            self.logs[session] = WholeLog(link, session, executor=self._executor)
            self._guests[session], self._shared[session] = 0, shared
        self._guests[session] += 1
        return self.logs[session]

    async def close(self, log: SessionLog) -> None:
        """Close it once nobody uses it."""
        self._guests[log.session] -= 1
        if not self._guests[log.session]:
            del self._guests[log.session], self._shared[log.session]
            await self.logs.pop(log.session).close()
