"""A party's access to sessions: join one, contribute values, get results.

A `Client` is a party with its key; each session that it joins is a `Membership`. Callers who have
no event loop get one in a thread of its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, TypeVar

from bulletin_board import LogReader
from bulletin_board.display import visible
from gopa.aggregation.encoding import Encoding
from gopa.aggregation.values import Value
from gopa.aggregation.weighting import largest_weight
from gopa.contract.framing import NO_LEAF
from gopa.contract.manifest import Manifest
from gopa.protocol.party import LocalPolicy
from gopa.protocol.party.ending import next_round
from gopa.protocol.party.states import opened_of
from gopa.sessions.board_access import Alone, Connect, RoundPatience, until_shown
from gopa.sessions.contribution import (
    Contribution,
    Decided,
    Offered,
    RoundStatus,
    contribution,
    encoding_for,
    offered,
)
from gopa.sessions.following import SessionLog
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.parties.runner import PartyRunner, Watch
from gopa.sessions.ticket import Ticket, checked_manifest
from gopa.sessions.vault import DirectoryVault, FileGuard, Guard, MemoryVault, Secret, Vault
from gopa.support.wording import counted
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import Guarded

_T = TypeVar("_T")

_LONGEST_TITLE: Final = 60


class Background:
    """Coroutines run from any thread; a context manager.

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
    """One party that takes part in sessions, with its key, its policy and its memory.

    `home` is a directory that holds one vault for each session: a client that is killed and
    started again with the same home goes on where it was. Without a home nothing outlives
    the process, and a restart in the middle of a session may look like fraud to others.
    `guard` keeps the marks of these vaults, by default in the directory HOME-marks beside it: with
    it an old copy of a vault is refused. Never restore it from a backup, and move it together
    with the home. `secret`, a passphrase or a key, seals what is on the disk. `policy` is the
    least that the party asks of a session. `connect` follows boards; parties of one process may
    share what it returns.

    Every method has an awaitable form and, with `_sync` behind the name, one that blocks;
    a client is used in one of the two ways.
    """

    def __init__(  # noqa: PLR0913 - everything a party is
        self,
        identity: SigningKey,
        policy: LocalPolicy,
        *,
        home: str | Path | None = None,
        guard: Guard | None = None,
        secret: Secret | None = None,
        connect: Connect | None = None,
        waiting: RoundPatience | None = None,
        executor: Executor | None = None,
        rng: Rng = os.urandom,
    ) -> None:
        self._identity = identity
        self._policy = policy
        self._home = None if home is None else Path(home).resolve()
        self._guard = guard
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

    @property
    def policy(self) -> LocalPolicy:
        """The least that it asks of a session."""
        return self._policy

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
        vouched: bool = False,
        watch: Watch | None = None,
    ) -> Contribution:
        """Join, if that is still to be done, and offer a value: see `Membership.contribute`."""
        ticket = session if isinstance(session, Ticket) else Ticket.read(Path(session))
        async with self._joining:
            membership = self._memberships.get(ticket.session)
            if membership is None:
                membership = await self.join(ticket, watch=watch)
        return await membership.contribute(
            value, weight=weight, max_weight=max_weight, clip=clip, vouched=vouched
        )

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
        vouched: bool = False,
        watch: Watch | None = None,
    ) -> Contribution:
        """`contribute`, for callers without an event loop. `watch` is called in a thread."""
        return self._blocking(
            self.contribute(
                session,
                value,
                weight=weight,
                max_weight=max_weight,
                clip=clip,
                vouched=vouched,
                watch=watch,
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
        guard = self._guard
        if guard is None:  # a guard of one's own may be empty, and then falsy
            guard = FileGuard(self._home.with_name(f"{self._home.name}-marks"))
        path = self._home / ticket.session.hex()
        return DirectoryVault(path, ticket.log, rng=self._rng, secret=self._secret, guard=guard)

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
        runner = PartyRunner(
            party,
            self.key,
            log,
            waiting=self._waiting,
            executor=self._executor,
            watch=watch,
        )
        access = Access(log, vault, self._connect)
        return Membership(manifest, party, runner, access, self._rng)

    async def _working(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


_FARTHEST: Final = 1
"""Grid steps between two roundings of one value; one more where its weight is rounded first."""


Kept: TypeAlias = tuple[tuple[int, ...], asyncio.Future[Decided]]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Access(Guarded):
    """The log and the vault that a membership gives back when it is closed."""

    log: SessionLog
    vault: Vault
    connect: Connect

    async def close(self) -> None:
        """Give back the log to whoever shares it, and the vault to other processes."""
        await self.connect.close(self.log)
        self.vault.close()


class Membership(Guarded):
    """A party's place in a session, from values to results: see `Client.join`.

    The session is followed as long as the membership is open, also between values.
    """

    def __init__(
        self, manifest: Manifest, party: DurableParty, runner: PartyRunner, access: Access, rng: Rng
    ) -> None:
        """Begins to follow the session, in the event loop that is running."""
        self._manifest = manifest
        self._party = party
        self._runner = runner
        self._access = access
        self._rng = rng
        self._kept = self._found(party)
        self._following = asyncio.ensure_future(runner.run())
        self._following.add_done_callback(_observed)

    def __repr__(self) -> str:
        title = visible(self._manifest.title.decode("utf-8", "replace")[:_LONGEST_TITLE])
        left = counted(self.rounds_left, "round")
        return f"<Membership: session {self._manifest.session.hex()[:16]}, {title!r}, {left} left>"

    @property
    def manifest(self) -> Manifest:
        """What the session is, as the party's policy accepted it."""
        return self._manifest

    @property
    def news(self) -> RoundStatus | None:
        """Where the session stands."""
        return self._runner.news

    @property
    def committed(self) -> bool:
        """Whether a value of this party is in the round that is going on, from before a restart."""
        return self._kept is not None

    @property
    def gave_before(self) -> bool:
        """Whether a value of this party went into an earlier round of the session."""
        return self._party.state.own_leaf != NO_LEAF and not self.committed

    @property
    def rounds_left(self) -> int:
        """How many more results the session can have for this party."""
        upcoming = next_round(self._party.state.tally, self._manifest.terms)
        return (
            0
            if upcoming is None or self._runner.over
            else self._manifest.terms.rounds - upcoming[0]
        )

    async def reader(self) -> LogReader:
        """All of the log, as far as it has been verified: to audit it, or to keep a copy."""
        return await self._access.log.reader()

    async def contribute(
        self,
        value: Value,
        *,
        weight: float | None = None,
        max_weight: Any = None,
        clip: bool = False,
        vouched: bool = False,
    ) -> Contribution:
        """Offer a value for the next round that opens, and wait for its result.

        A value that was offered for this round before a restart counts: `value` must be the
        same then. Several values may be offered at once; they go into rounds in turn. A vector
        that is `vouched` for may be longer than the plan's norm: see `SessionAggregator`.

        Raises:
            Refusal: `vouched`, which the policy does not allow; nothing was said.
            InvalidValue, OutOfRange, UsageError: the value does not fit the session; nothing
                was said.
            RoundAborted: no attempt of the round had a result.
            SessionOver: the session has no round for it.
            ProtocolError: the party had to stop; the error says whose fault is proved.
        """
        return await self.give(
            self.encoded(value, weight=weight, max_weight=max_weight, clip=clip, vouched=vouched)
        )

    def encoded(
        self,
        value: Value,
        *,
        weight: float | None = None,
        max_weight: Any = None,
        clip: bool = False,
        vouched: bool = False,
    ) -> Offered:
        """The value as the session takes it, for `give`. Nothing is said, also if it does not fit.

        Raises `Refusal`, `InvalidValue`, `OutOfRange` and `UsageError` as `contribute` does.
        """
        if vouched:
            self._party.policy.require_vouching()
        encoding = self._encoding(weight, max_weight, vouched=vouched)
        return self._offered(encoding, value, clip=clip)

    async def give(self, offered: Offered) -> Contribution:
        """`contribute` for a value that is encoded already."""
        if self._following.done():
            self._following.result()
            raise self._runner.ended()
        decided = self._resumed(offered.row) or self._runner.offer(offered.row)
        return contribution(self._manifest, offered, await decided)

    async def concluded(
        self, value: Value, *, weight: float | None = None, max_weight: Any = None
    ) -> Contribution | None:
        """The last result, if the session was over already when this client joined it.

        A crash may have come between the end of a session and the moment in which its result
        was shown. `value` gives the structure only; the largest weight says how a session with
        weights is read.
        """
        if not self._runner.over:
            return None
        await self.finished()
        decided = self._runner.concluded
        if decided is None:
            return None
        encoding = self._encoding(weight, max_weight)
        return contribution(self._manifest, self._offered(encoding, value, clip=True), decided)

    async def finished(self) -> None:
        """Wait until the session is over; raises what made it impossible to go on."""
        await asyncio.shield(self._following)

    async def close(self) -> None:
        """Follow the session no longer. It can be taken up again from its vault."""
        self._following.cancel()
        await asyncio.wait({self._following})
        await self._access.close()

    def _found(self, party: DurableParty) -> Kept | None:
        """The input of the round that was going on, from before a restart."""
        opened = opened_of(party.state.stage)
        upcoming = next_round(party.state.tally, self._manifest.terms)
        if opened is not None:
            logical = opened.logical
        elif upcoming is not None:
            logical = upcoming[0]
        else:
            return None
        for given in party.state.inputs:
            if given.logical == logical:
                return tuple(given.values), self._runner.expect(logical)
        return None

    def _encoding(self, weight: float | None, most: Any, *, vouched: bool = False) -> Encoding:
        largest = None if most is None else largest_weight(most)
        return encoding_for(self._manifest, weight, largest, vouched=vouched)

    def _offered(self, encoding: Encoding, value: Value, *, clip: bool) -> Offered:
        return offered(self._manifest, encoding, value, clip=clip, rng=self._rng)

    def _resumed(self, row: tuple[int, ...]) -> asyncio.Future[Decided] | None:
        """The round whose input is from before a restart, if nobody has asked for it yet."""
        if self._kept is None:
            return None
        given, decided = self._kept
        # Rounding may differ by a step; another value would break 04-J5 (`changed-input-in-retry`).
        most = _FARTHEST + self._manifest.weighted
        if any(abs(a - b) > most for a, b in zip(row, given, strict=True)):
            message = (
                "another value was offered for this round before, and counts; the one given now"
                " was not used"
            )
            raise UsageError(message, "value")
        self._kept = None
        return decided


def _observed(task: asyncio.Future[None]) -> None:
    """Whoever waits for an offer has been told: asyncio need not complain."""
    if not task.cancelled():
        task.exception()
