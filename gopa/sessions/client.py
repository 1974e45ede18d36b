"""Gives a party access to sessions: join one, contribute values, get results.

Callers who have no event loop get one in a thread of its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Self, TypeVar

from gopa.aggregation.structure import Value
from gopa.party import LocalPolicy
from gopa.sessions.contribution import Contribution
from gopa.sessions.entrance import Alone, Connect, checked_manifest
from gopa.sessions.membership import Access, Membership
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.party_runner import PartyRunner, Watch
from gopa.sessions.patience import RoundPatience, until_shown
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import DirectoryVault, MemoryVault, Secret, Vault
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import Guarded

_T = TypeVar("_T")


class Background:
    """Runs coroutines from any thread; a context manager.

    `run` must not be called from the loop's own thread.
    """

    def __init__(self, name: str = "gopa-sessions") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether the thread has ended."""
        return self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for its result; an interrupt of the caller cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs and end the thread. Calling it again does nothing."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _cancel_all() -> None:
    """End every other task of this loop."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Client(Guarded):
    """One party, with its key, what it accepts, and the memory of its sessions.

    `home` is a directory that holds one vault for each session: a client that is killed and
    started again with the same home goes on where it was. Without a home nothing outlives
    the process, and a restart in the middle of a session may look like fraud to others.
    `secret`, a passphrase or a key, seals what is on the disk. `policy` is the least that the
    party asks of a session. `connect` follows boards; parties of one process may share
    what it returns.

    Every method has an awaitable form and, with `_sync` behind the name, one that blocks;
    a client is used in one of the two ways.
    """

    def __init__(  # noqa: PLR0913 - everything a party is
        self,
        identity: SigningKey,
        policy: LocalPolicy,
        *,
        home: str | Path | None = None,
        secret: Secret | None = None,
        connect: Connect | None = None,
        waiting: RoundPatience | None = None,
        executor: Executor | None = None,
        rng: Rng = os.urandom,
    ) -> None:
        self._identity = identity
        self._policy = policy
        self._home = None if home is None else Path(home)
        self._secret = secret
        self._connect = connect or Alone()
        self._waiting = waiting
        self._executor = executor
        self._rng = rng
        self._memberships: dict[bytes, Membership] = {}
        self._joining = asyncio.Lock()
        self._background: Background | None = None

    @property
    def key(self) -> bytes:
        """The Ed25519 key that stands on rosters."""
        return self._identity.public.data

    async def join(self, session: Ticket | str | Path, *, watch: Watch | None = None) -> Membership:
        """Take part in a session, or go on with it after a restart.

        Raises:
            Refusal: the session asks for more than the policy allows. Nothing was said.
            UsageError: the ticket is none, or the session was joined before.
            ProtocolError: what the board shows is wrong; the class says whose fault that is.
        """
        ticket = session if isinstance(session, Ticket) else Ticket.read(Path(session))
        if ticket.session in self._memberships:
            raise UsageError("this client has joined the session already", "session")
        vault = await asyncio.to_thread(self._vault, ticket)
        try:
            membership = await self._enter(ticket, vault, watch)
        except BaseException:
            vault.close()
            raise
        self._memberships[ticket.session] = membership
        return membership

    async def contribute(  # noqa: PLR0913 - a value and how to read it
        self,
        session: Ticket | str | Path,
        value: Value,
        *,
        weight: float | None = None,
        max_weight: Any = None,
        clip: bool = False,
        watch: Watch | None = None,
    ) -> Contribution:
        """Join, if that is still to be done, and offer a value: see `Membership.contribute`."""
        ticket = session if isinstance(session, Ticket) else Ticket.read(Path(session))
        async with self._joining:
            membership = self._memberships.get(ticket.session)
            if membership is None:
                membership = await self.join(ticket, watch=watch)
        return await membership.contribute(value, weight=weight, max_weight=max_weight, clip=clip)

    async def close(self) -> None:
        """Follow no session any more. Vaults are free for another process."""
        memberships, self._memberships = list(self._memberships.values()), {}
        for membership in memberships:
            await membership.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def contribute_sync(  # noqa: PLR0913 - those of `contribute`
        self,
        session: Ticket | str | Path,
        value: Value,
        *,
        weight: float | None = None,
        max_weight: Any = None,
        clip: bool = False,
        watch: Watch | None = None,
    ) -> Contribution:
        """`contribute`, for callers without an event loop. `watch` is called in a thread."""
        return self._blocking(
            self.contribute(
                session, value, weight=weight, max_weight=max_weight, clip=clip, watch=watch
            )
        )

    def close_sync(self) -> None:
        """`close`, for callers without an event loop."""
        if self._background is not None:
            self._background.run(self.close())
            self._background.close()
            self._background = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()

    def _blocking(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self._background is None:
            self._background = Background()
        return self._background.run(work)

    def _vault(self, ticket: Ticket) -> Vault:
        if self._home is None:
            return MemoryVault()
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._home / ticket.session.hex()
        return DirectoryVault(path, ticket.log, rng=self._rng, secret=self._secret)

    async def _enter(self, ticket: Ticket, vault: Vault, watch: Watch | None) -> Membership:
        log = self._connect.open(ticket, vault, self._rng)
        try:
            body = await until_shown(log.manifest, self._waiting or RoundPatience())
            manifest = checked_manifest(ticket, body)
            party = await self._working(
                lambda: DurableParty(vault, manifest, self._identity, self._policy, rng=self._rng)
            )
        except BaseException:
            await self._connect.close(log)
            raise
        seat = PartyRunner(
            party,
            self.key,
            log,
            waiting=self._waiting,
            executor=self._executor,
            watch=watch,
        )
        access = Access(log, vault, self._connect)
        return Membership(manifest, party, seat, access, self._rng)

    async def _working(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)
