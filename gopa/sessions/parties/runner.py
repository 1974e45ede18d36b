"""Connects one party with a board: what the log says goes in, what the party says is posted.

Specification: `specs/12-sessions.md`, section 3.
"""

from __future__ import annotations

import asyncio
import logging
import math
from asyncio import FIRST_COMPLETED
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from bulletin_board import Refused
from bulletin_board.display import visible
from bulletin_board.tree import leaf_hash
from gopa.contract.framing import Posted
from gopa.contract.parameters import DrandBeacon
from gopa.contract.phases import Phase
from gopa.protocol.party import (
    Dated,
    Event,
    Fetch,
    Fetched,
    Finished,
    Halted,
    Output,
    Part,
    PostedClose,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.protocol.party.ending import next_round
from gopa.protocol.party.states import Done, Enrolled, Invited, Outside, Stopped, opened_of
from gopa.sessions.board_access import NotShown, RoundPatience, pause, shown
from gopa.sessions.contribution import Decided, Offer, RoundProgress, RoundStatus
from gopa.sessions.following.follower import Horizon, SessionLog
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.parties.stepped import blames, lacking
from gopa.sessions.vault.interface import VaultError
from wire.errors import FaultyBoard, ProtocolError
from wire.secret import Guarded

_LOG: Final = logging.getLogger("gopa.sessions")
_T = TypeVar("_T")

Watch = Callable[[RoundStatus], None]


class PartyRunner(Guarded):
    """One party's state machine on its way: it is fed log entries, and its messages are posted.

    `run` returns when the session is over for this party, and raises when it cannot go on:
    `ProtocolError`s name who broke a rule. `offer` may be called before and while it runs,
    from the same event loop. `watch` is told the news of rounds, also when the party leaves
    one; after a restart it is told first where the open one stands. Work that takes time runs
    in `executor`'s threads.
    """

    def __init__(  # noqa: PLR0913 - everything it is built from
        self,
        party: DurableParty,
        author: bytes,
        log: SessionLog,
        *,
        waiting: RoundPatience | None = None,
        executor: Executor | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._party = party
        self._author = author
        self._log = log
        self._waiting = waiting or RoundPatience()
        self._executor = executor
        self._watch = watch
        self._progress = RoundProgress(party.manifest)
        self._offers: deque[Offer] = deque()
        self._taken: dict[int, asyncio.Future[Decided]] = {}
        self._changed = asyncio.Event()
        self._settled: set[bytes] = set()
        self._horizon = Horizon(0, bytes(32))
        self._controls_from = self._own_from = party.state.chain.last + 1
        self._heard_at, self._heard = self._waiting.clock(), -1
        self._announced: RoundStatus | None = None

    @property
    def news(self) -> RoundStatus | None:
        """Where the last round stands, and what became of this party in it."""
        news = self._progress.news
        return None if news is None else replace(news, part=self._part_in(news.round))

    def _part_in(self, number: int) -> Part | None:
        state, last = self._party.state, self._party.last
        if isinstance(state.stage, Outside) and state.chain.round == number:
            return state.stage.part
        return last.part if last is not None and last.round == number else None

    @property
    def over(self) -> bool:
        """Whether the party says nothing more in this session."""
        return isinstance(self._party.state.stage, Done | Stopped)

    def offer(self, row: tuple[int, ...]) -> asyncio.Future[Decided]:
        """Offer integers for the next logical round that asks for some; done when it is decided."""
        offer = Offer(row, asyncio.get_running_loop().create_future())
        self._offers.append(offer)
        self._changed.set()
        return offer.decided

    def expect(self, logical: int) -> asyncio.Future[Decided]:
        """Wait for a logical round whose input was given before a restart; done when decided."""
        decided = asyncio.get_running_loop().create_future()
        self._taken[logical] = decided
        return decided

    @property
    def concluded(self) -> Decided | None:
        """The last round, once `run` has found the session over.

        A caller may not have heard of it before a restart.
        """
        last = self._party.last
        return self._decided(last) if self.over and last is not None else None

    async def run(self) -> None:
        """Follow the session to its end."""
        try:
            while not await self._retried(self._start_reading):
                pass
            while not self.over:
                done = await self._retried(self._proceed)
                await (self._wait() if done else self._retried(self._renew))
        except BaseException as error:
            if isinstance(error, FaultyBoard):
                await self._erase()
            self._disappoint(error)
            raise
        self._disappoint(self.ended())

    def ended(self) -> ProtocolError:
        """Why no value is taken any more."""
        stage = self._party.state.stage
        return stage.error if isinstance(stage, Stopped) else SessionOver()

    async def _start_reading(self) -> None:
        """Get the newest checkpoint; after a restart read again what the organiser said before."""
        self._horizon = await self._shown(self._log.grown(0))
        chain = self._party.state.chain
        if chain.last < 0:
            return
        self._log.skip(chain.round)
        at = 0
        while at <= chain.last:
            said = await self._shown(self._log.controls(at, self._horizon))
            for posted in said:
                if posted.index <= chain.last:
                    self._progress.hear(posted)
            at = said[-1].index + 1 if said else chain.last + 1
        news = self.news
        if news is not None and news.opens is not None:
            self._announce()

    async def _renew(self) -> None:
        """Get a newer checkpoint after a failure: the phase may be over meanwhile (12-W7)."""
        self._horizon = await self._shown(self._log.grown(self._horizon.size - 1))

    async def _erase(self) -> None:
        """Erase the secrets of the round: behind a fork nothing is said any more (12-H5, 12-W6)."""
        if self._takes_part:
            with suppress(VaultError):  # the caller has to hear of the fork, not of the vault
                number = self._party.state.chain.round
                await self._call(lambda: self._party.step(TimedOut(number)))

    async def _proceed(self) -> None:
        """Do all that can be done now: hear the log, give the round its value, post."""
        await self._date()
        await self._catch_up()
        await self._supply()
        self._notice()
        await self._send()

    def _notice(self) -> None:
        """Tell the watcher if the party has left the round on its own."""
        if self._announced is not None and self.news != self._announced:
            self._announce()

    async def _retried(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Do some work; False, after a pause, if the board did not show or take something."""
        try:
            await work()
        except NotShown as error:
            await self._give_up_in_time()
            await pause(error, self._waiting)
            return False
        return True

    async def _wait(self) -> None:
        """Wait until the organiser has spoken, a value has come, or patience is at its end."""
        if self.over:
            return
        spoken = asyncio.ensure_future(self._log.spoken(self._controls_from))
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait({spoken, changed}, timeout=self._left, return_when=FIRST_COMPLETED)
            if spoken.done():
                await self._retried(lambda: self._take(spoken))
        finally:
            spoken.cancel()
            changed.cancel()
        self._changed.clear()
        await self._give_up_in_time()

    async def _take(self, spoken: asyncio.Future[Horizon]) -> None:
        self._horizon = await shown(spoken)

    async def _shown(self, asked: Awaitable[_T]) -> _T:
        """The log's answer, no later than the party's patience for its round ends."""
        try:
            async with asyncio.timeout(self._left):
                return await shown(asked)
        except TimeoutError:
            raise NotShown("the board takes longer than a party waits in a round") from None

    @property
    def _left(self) -> float | None:
        """How many seconds a party that is in a round stays if it hears nothing."""
        if not self._takes_part:
            return None
        return max(0.0, self._heard_at + self._waiting.round_seconds - self._waiting.clock())

    @property
    def _takes_part(self) -> bool:
        stage = self._party.state.stage
        return opened_of(stage) is not None and not isinstance(stage, Outside)

    async def _give_up_in_time(self) -> None:
        """Leave a round in which nothing was heard for too long, and erase what it needs.

        Else a board could have a party keep its secrets for ever (attack `stale-view`).
        """
        late = self._waiting.clock() - self._heard_at >= self._waiting.round_seconds
        if self._takes_part and late:
            await self._tell(TimedOut(self._party.state.chain.round))
            self._notice()

    async def _catch_up(self) -> None:
        """Give the party all below the horizon, in order of the log (12-W2, 12-W4, 12-W5)."""
        horizon = self._horizon
        if not horizon.size:
            return
        await self._answer()
        said = await self._shown(self._log.controls(self._controls_from, horizon))
        if said and horizon.size > self._party.state.seen_size:
            await self._tell(Witnessed(horizon.size, horizon.root))
        while said:
            if said[-1].index > self._heard:  # an entry heard before buys no time
                self._heard_at, self._heard = self._waiting.clock(), said[-1].index
            behind = said[-1].index + 1
            following = await self._shown(self._log.controls(behind, horizon))
            if not await self._advance(said, behind if following else horizon.size):
                return
            said = following
        if self._own_from < horizon.size:
            await self._advance((), horizon.size)

    async def _advance(self, controls: tuple[Posted, ...], stop: int) -> bool:
        """Give the party what it and the organiser said up to here; whether it goes on."""
        own = await self._shown(self._log.own(self._author, self._own_from, stop, self._horizon))
        for posted in sorted((*controls, *own), key=lambda each: each.index):
            if self.over:
                return False
            await self._deliver(posted)
        self._own_from = max(self._own_from, stop)
        return True

    async def _deliver(self, posted: Posted) -> None:
        if posted.entry.author.data == self._author:
            await self._tell(posted)
            self._own_from = posted.index + 1
            return
        event = await self._rooted(posted)
        news = self._progress.hear(posted)
        await self._tell(event)
        await self._date()
        self._controls_from = posted.index + 1
        if news is not None:
            self._announce()

    async def _rooted(self, posted: Posted) -> Event:
        """The entry; of a close with the root that the log has at its cut (04-C7)."""
        claim = self._party.state.chain.claim_in(posted)
        if claim is None:
            return posted
        return PostedClose(posted, await self._shown(self._log.root(*claim, self._horizon)))

    async def _date(self) -> None:
        """Say when the party knows the roll, where its coins come from a beacon (04-V4)."""
        stage = self._party.state.stage
        drand = isinstance(self._party.manifest.beacon, DrandBeacon)
        if drand and isinstance(stage, Enrolled) and stage.noted is None:
            await self._tell(Dated(math.ceil(max(0.0, self._waiting.date()))))

    def _announce(self) -> None:
        self._announced = news = self.news
        if self._watch is None or news is None:
            return
        try:
            self._watch(news)
        except Exception:  # noqa: BLE001 - somebody else's code: the party goes on
            _LOG.exception("the function that watches the session failed")

    async def _tell(self, event: Event) -> None:
        """Make the party step on an event, and then on the answers to what it asks for."""
        self._follow(await self._call(lambda: self._party.step(event)))
        await self._answer()

    async def _answer(self) -> None:
        """Give the party what it asked for, in the last step or before a restart."""
        while (wanted := self._party.wanted) is not None:
            self._follow(await self._answered(wanted))

    def _follow(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if isinstance(output, Finished):
                self._finished(output)
            elif isinstance(output, Halted):
                _LOG.warning("round %d: stopped: %s", output.round, output.error)

    async def _answered(self, wanted: Fetch) -> Sequence[Output]:
        """What follows from the entries asked for: from a lookup only if it accuses nobody."""
        entries = await self._shown(self._log.answer(wanted, self._horizon))
        if not lacking(wanted, entries):
            event = Fetched(wanted.phase, entries)
            attempt = await self._call(lambda: self._party.attempt(event))
            if not any(map(blames, attempt.outputs)):
                return await self._call(attempt.commit)
        return await self._read_through(wanted)

    async def _read_through(self, wanted: Fetch) -> Sequence[Output]:
        """What follows from all that the log has. A lookup may have hidden own entries, too.

        Else a board could have a party accuse or stop by hiding an entry (attack `lying-lookup`).
        """
        asked = replace(wanted, authors=(*wanted.authors, self._author))
        whole = await self._shown(self._log.complete(asked, 0, self._horizon))
        others = tuple(each for each in whole if each.entry.author.data != self._author)
        landed = {leaf for leaf, _ in self._party.state.landed}
        for mine in whole:
            if mine.entry.author.data == self._author and mine.leaf not in landed:
                self._follow(await self._call(partial(self._party.step, mine)))
        if self._party.wanted != wanted:
            return ()  # it has left the round (12-R4)
        return await self._call(lambda: self._party.step(Fetched(wanted.phase, others)))

    async def _supply(self) -> None:
        """Give the open round its value, if it waits for one and one is there."""
        stage = self._party.state.stage
        news = self._progress.news
        joining = news is not None and news.opens is Phase.JOIN
        if isinstance(stage, Invited) and joining and self._offers:
            logical = stage.opened.logical
            offer = self._offers.popleft()
            self._taken[logical] = offer.decided
            await self._tell(Supplied(logical, offer.row))

    async def _send(self) -> None:
        """Post what was said in the open round and is not in the log yet (12-W4, 12-W7)."""
        for post in self._party.remembered:
            landed = {leaf for leaf, _ in self._party.state.landed}
            leaves = set(map(leaf_hash, post.entries))
            if leaves <= landed or leaves <= self._settled:
                continue
            try:
                await shown(self._log.submit(post.entries))
            except Refused as error:
                why = visible(str(error))  # the board's words
                _LOG.info("round %d, %s: not taken: %s", post.round, post.phase.name, why)
            self._settled |= leaves

    def _finished(self, ended: Finished) -> None:
        self._settled.clear()
        tally, terms = self._party.state.tally, self._party.manifest.terms
        upcoming = next_round(tally, terms)
        if upcoming is not None and upcoming[0] == ended.logical:
            return  # another attempt will come
        decided = self._taken.pop(ended.logical, None)
        if decided is not None and not decided.done():
            decided.set_result(self._decided(ended))

    def _decided(self, ended: Finished) -> Decided:
        news = self._progress.news
        count = 0 if news is None or news.present is None else news.present
        # Others recover the mask of whoever left behind the final list: its value is in the sum.
        listed = self._progress.lists(ended.round, self._author)
        return Decided(
            round=ended.round,
            logical=ended.logical,
            attempt=ended.attempt,
            part=ended.part,
            outcome=ended.outcome,
            count=count,
            included=ended.part is Part.ACTIVE or listed,
        )

    def _disappoint(self, error: BaseException) -> None:
        """Give everybody who waits the error: no round of theirs will come."""
        for decided in (*self._taken.values(), *(offer.decided for offer in self._offers)):
            if isinstance(error, asyncio.CancelledError):
                decided.cancel()
            elif not decided.done():
                decided.set_exception(error)
                decided.exception()  # seen: asyncio need not complain where nobody waits
        self._taken.clear()
        self._offers.clear()

    async def _call(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


class SessionOver(ProtocolError):
    """The news that the session has no more rounds: nobody was told the value."""

    def __str__(self) -> str:
        return "the session has no more rounds: the value was not used"
