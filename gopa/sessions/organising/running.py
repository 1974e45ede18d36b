"""Runs an organiser against a log until it is done, and tells watchers what happens.

Specification: `specs/12-sessions.md`, section 5. Events compare where the session stands with
where it stood when the log was looked at last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from bulletin_board import Refused
from gopa.contract.beacon import DrandChain
from gopa.contract.framing import NO_LEAF
from gopa.contract.manifest import DrandBeacon
from gopa.contract.organiser import Abort, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.rules import BeaconValue, RoundPicture, SessionState
from gopa.sessions.board_access import NotShown, shown
from gopa.sessions.following.follower import Horizon
from gopa.sessions.organising.beacons import BeaconSource, verified
from gopa.sessions.organising.organiser import (
    AskBeacon,
    DurableOrganiser,
    LogIsShorter,
    Over,
    Send,
    WaitUntil,
)
from gopa.sessions.organising.reading import PIECE, OrganiserLog, culprits_of
from wire.errors import InvalidProof, ProtocolError, UsageError


@dataclass(frozen=True, slots=True)
class PhaseOpened:
    """The news that a phase is open. Rounds count from 1, all other numbers are as in the log.

    `present` is how many parties are in the round, 0 before the roll; `expected` how many
    of them may still post; `ends` is a time of day.
    """

    round: int
    logical: int
    attempt: int
    phase: Phase
    step: int
    present: int
    expected: int
    ends: float


@dataclass(frozen=True, slots=True)
class Heard:
    """The news that more messages of the open phase are in the log."""

    round: int
    phase: Phase
    posted: int
    expected: int


@dataclass(frozen=True, slots=True)
class AwaitingBeacon:
    """The news that the coins of the round wait for a value that is due at a time of day."""

    round: int
    beacon_round: int
    due: float


@dataclass(frozen=True, slots=True)
class BadBeacon:
    """The news that the source has shown a value that the beacon did not sign."""

    beacon_round: int
    error: str


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """The news that a round has its result or was aborted.

    `included` is how many parties are in the result; `why` is set where the organiser gave up.
    `culprits` are the keys of those that an abort found missing or wrong.
    """

    round: int
    logical: int
    attempt: int
    outcome: ResultMessage | Abort
    included: int
    why: str
    culprits: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class BoardLost:
    """The news that the board cannot be reached, or show what it signed; it is asked again."""

    error: str


@dataclass(frozen=True, slots=True)
class BoardFound:
    """The news that the board answers again, after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The news that no more rounds are opened.

    `complete`: every round of the plan has its result, after however many attempts.
    """

    rounds: int
    results: int
    complete: bool


Happening: TypeAlias = (
    PhaseOpened
    | Heard
    | AwaitingBeacon
    | BadBeacon
    | RoundEnded
    | BoardLost
    | BoardFound
    | SessionEnded
)


class Watcher:
    """What has happened since the last look, by comparing where the session stands.

    Rounds that had ended before the first look are not told.
    """

    def __init__(self) -> None:
        self._looked = False
        self._phase: tuple[int, bytes] | None = None
        self._posted = 0
        self._ended = 0

    def look(self, organiser: DurableOrganiser) -> Iterator[Happening]:
        """What has happened since the last look, in order."""
        state = organiser.state
        current = state.round
        first, self._looked = not self._looked, True
        if current is None:
            return
        if state.rounds_ended > self._ended and not first and current.ended is not None:
            yield _ended(current, organiser.gave_up)
        self._ended = state.rounds_ended
        yield from self._open(current, organiser.ends)

    def _open(self, current: RoundPicture, ends: float | None) -> Iterator[Happening]:
        if current.opens is None or ends is None:
            return
        phase = current.number, current.acts_on
        if phase != self._phase:
            self._phase, self._posted = phase, current.posted
            yield PhaseOpened(
                round=current.number,
                logical=current.logical,
                attempt=current.attempt,
                phase=current.opens,
                step=current.step,
                present=len(current.members) if current.lists else len(current.roll),
                expected=len(current.expected),
                ends=ends,
            )
            return
        if current.posted != self._posted:
            self._posted = current.posted
            yield Heard(current.number, current.opens, current.posted, len(current.expected))


def _ended(current: RoundPicture, why: str) -> Happening:
    if current.ended is None:
        raise TypeError("the round goes on")
    where, outcome = (current.number, current.logical, current.attempt), current.ended
    if isinstance(outcome, ResultMessage):
        return RoundEnded(*where, outcome, len(current.members), why)
    return RoundEnded(*where, outcome, 0, why, culprits_of(outcome, current.roll))


_PASSING: Final = frozenset({429, 503, 507})
_NO_QUORUM: Final = "05-P2"


@dataclass(frozen=True, slots=True)
class OrganiserPace:
    """How often to look, and how long to bear a board that is out of reach.

    `clock` is the time of day, the same as the organiser's.
    """

    poll_seconds: float = 0.5
    outage_seconds: float = 3_600.0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


async def run(  # noqa: PLR0913 - every edge is injected
    organiser: DurableOrganiser,
    log: OrganiserLog,
    *,
    beacon: BeaconSource | None = None,
    pace: OrganiserPace = OrganiserPace(),
    tell: Callable[[Happening], None] = lambda _: None,
    closing: Callable[[], bool] = lambda: False,
) -> SessionState:
    """Open and close phases until no more rounds are due; returns where the session stands then.

    May be cancelled, and the process killed, at any moment: whoever runs the same vault
    again goes on. `closing` is asked now and then: once it is True the round that is
    running is aborted and no other is opened.

    Raises:
        FaultyBoard: the log has forked; never go on with it.
        UsageError: the session needs a beacon and there is no source, or another process
            uses the key.
        Refused: the board does not take a message, for good.
        NotShown: the board was out of reach, or showed nothing that holds, for too long.
        LogIsShorter: for as long, it showed a log without rounds that have ended.
    """
    needed = isinstance(organiser.manifest.beacon, DrandBeacon) and not closing()
    if needed and beacon is None:
        raise UsageError("the session's coins come from drand: name a source of its rounds")
    return await _Run(organiser, log, beacon, pace, tell, closing).to_the_end()


class _Run:
    def __init__(  # noqa: PLR0913, PLR0917 - the arguments of `run`
        self,
        organiser: DurableOrganiser,
        log: OrganiserLog,
        beacon: BeaconSource | None,
        pace: OrganiserPace,
        tell: Callable[[Happening], None],
        closing: Callable[[], bool],
    ) -> None:
        self._organiser, self._log, self._beacon = organiser, log, beacon
        self._pace, self._tell, self._closing = pace, tell, closing
        self._watcher = Watcher()
        self._read = 0
        self._promised: tuple[bytes, ...] = ()
        self._lost_at: float | None = None
        self._excused_at = 0.0
        self._announced = 0
        self._lie: BeaconValue | None = None

    async def to_the_end(self) -> SessionState:
        while not await self._turn():
            pass
        state = self._organiser.state
        planned = self._organiser.manifest.terms.rounds
        complete = not state.failed and state.results == planned
        self._tell(SessionEnded(state.rounds_ended, state.results, complete))
        return state

    async def _turn(self) -> bool:
        """Read the log, ask the organiser what to do and do it; whether all is done."""
        if self._closing():
            self._organiser.close()
        try:
            await self._catch_up()
            self._excuse()
            act = await asyncio.to_thread(self._organiser.act)
            if isinstance(act, Send):
                await self._send(act)
        except ProtocolError as error:
            await self._bear(error)
            return False
        self._found()
        if isinstance(act, WaitUntil):
            await self._rest(act.until)
        elif isinstance(act, AskBeacon):
            await self._ask(act)
        elif isinstance(act, Over):
            return True
        elif not isinstance(act, Send):
            assert_never(act)
        return False

    async def _catch_up(self) -> None:
        """Give the organiser everything below the newest checkpoint, in the order of the log."""
        horizon, checkpoint = await shown(self._newest())
        while self._read < horizon.size:
            stop = min(self._read + PIECE, horizon.size)
            entries = await shown(self._log.entries(self._read, stop))
            await asyncio.to_thread(self._organiser.take, entries)
            self._read = stop
        await asyncio.to_thread(self._organiser.reached, horizon, checkpoint)
        for happening in self._watcher.look(self._organiser):
            self._tell(happening)

    async def _newest(self) -> tuple[Horizon, bytes]:
        """The newest checkpoint; for an organiser that has said nothing perhaps an empty log.

        Nobody has cosigned a log that is empty: what is cosigned first is the manifest.
        """
        try:
            return await self._log.newest()
        except InvalidProof as error:
            if error.check != _NO_QUORUM or self._read or not self._organiser.unheard:
                raise
            return Horizon(0, NO_LEAF), b""

    async def _send(self, act: Send) -> None:
        """Post once, then only wait: the log has promised to take it."""
        if act.entries == self._promised:
            await self._pace.sleep(self._pace.poll_seconds)
            return
        await shown(self._log.submit(act.entries))
        self._promised = act.entries

    async def _rest(self, until: float | None) -> None:
        seconds = self._pace.poll_seconds
        if until is not None:
            seconds = min(seconds, max(0.0, until - self._pace.clock()))
        await self._pace.sleep(seconds)

    async def _ask(self, act: AskBeacon) -> None:
        """Ask for the value once it is due; until it is there the log is looked at again."""
        chain = self._organiser.manifest.beacon
        if not isinstance(chain, DrandBeacon) or self._beacon is None:
            raise UsageError("no beacon is needed here", "beacon")
        if self._announced != act.round:
            self._announced = act.round
            current = self._organiser.state.round
            number = 0 if current is None else current.number
            self._tell(AwaitingBeacon(number, act.round, float(act.due)))
        value = None
        if self._pace.clock() >= act.due:
            value = await self._value(self._beacon, chain.chain, act.round)
        if value is None:
            await self._rest(None)
        else:
            self._organiser.supply(value)

    async def _value(
        self, source: BeaconSource, chain: DrandChain, number: int
    ) -> BeaconValue | None:
        """What the source shows, if the beacon signed it. A lie is checked and told once."""
        shown: BeaconValue | None = None
        try:
            shown = await source.value(number)
            if shown is None or shown == self._lie:
                return None
            return await verified(shown, chain, number)
        except ProtocolError as error:
            self._tell(BadBeacon(number, str(error)))
            self._lie = shown
            return None

    async def _bear(self, error: ProtocolError) -> None:
        """Wait, to try again, if what is wrong may pass; else raise it."""
        now = self._pace.clock()
        if not passes(error):
            raise error
        if self._lost_at is None:
            self._lost_at = self._excused_at = now
            self._tell(BoardLost(str(error)))
        elif now - self._lost_at > self._pace.outage_seconds:
            raise error
        await self._pace.sleep(self._pace.poll_seconds)

    def _excuse(self) -> None:
        """Let the open phase last longer after an outage: parties had no board either."""
        if self._lost_at is not None:
            now = self._pace.clock()
            self._organiser.excuse(now - self._excused_at)
            self._excused_at = now

    def _found(self) -> None:
        if self._lost_at is not None:
            seconds = max(0.0, self._pace.clock() - self._lost_at)
            self._lost_at = None
            self._tell(BoardFound(seconds))


def passes(error: ProtocolError) -> bool:
    """Whether the same request may succeed later: an organiser waits as parties do.

    Whatever does not prove a fork may be a proxy's, a cache's or a restart's. Else whoever is on
    the way to the board could end a session with one wrong answer.
    """
    if isinstance(error, Refused):
        return error.reason.status in _PASSING
    return isinstance(error, NotShown | LogIsShorter)
