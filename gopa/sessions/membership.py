"""Holds a party's place in one session, from the moment it has read the manifest.

The manifest also says what the session's integers mean.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from bulletin_board import LogReader
from commitments import ristretto255
from gopa.aggregation.encoding import Encoding, Plain
from gopa.aggregation.seeds import fresh_stream
from gopa.aggregation.structure import Structure, Value
from gopa.aggregation.weighting import Weights, encoding_with, largest_weight
from gopa.messages.manifest import Manifest, Mode
from gopa.party.ending import next_round
from gopa.party.states import opened_of
from gopa.sessions.contribution import Contribution, Decided, Offered, contribution
from gopa.sessions.entrance import Connect
from gopa.sessions.following import SessionLog
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.party_runner import PartyRunner
from gopa.sessions.round_progress import RoundStatus
from gopa.sessions.vault import Vault
from wire.domains import ROUNDING
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import Guarded


def encoding_for(manifest: Manifest, weight: float | None, most: Decimal | None) -> Encoding:
    """The encoding of one value, that of the first of as many as the plan has parties.

    Raises:
        UsageError: the session has no weights, or needs one, or the weight is out of range.
    """
    if (weight is None) != (most is None):
        raise UsageError("a weight and the largest weight of the session come together", "weight")
    if weight is None or most is None:
        if manifest.weighted:
            raise UsageError("this session has weights: give weight and max_weight", "weight")
        return Plain(manifest.terms)
    if not manifest.weighted:
        raise UsageError("this session has no weights: leave them out", "weight")
    parties = manifest.terms.parties
    weights = Weights.checked([weight, *[0.0] * (parties - 1)], most, parties)
    return encoding_with(weights, manifest.terms, proved=manifest.mode is Mode.FULL)


_FARTHEST: Final = 1
"""Grid steps between two roundings of one value."""


Kept: TypeAlias = tuple[tuple[int, ...], asyncio.Future[Decided]]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Access(Guarded):
    """What a membership gives back when it is closed."""

    log: SessionLog
    vault: Vault
    connect: Connect

    async def close(self) -> None:
        """The log to whoever shares it, the vault to other processes."""
        await self.connect.close(self.log)
        self.vault.close()


class Membership(Guarded):
    """What `Client.join` returns: values go in, results come out, until the session is over.

    The session is followed as long as the membership is open, also between values.
    """

    def __init__(
        self, manifest: Manifest, party: DurableParty, seat: PartyRunner, access: Access, rng: Rng
    ) -> None:
        """Begins to follow the session, in the event loop that is running."""
        self._manifest = manifest
        self._party = party
        self._seat = seat
        self._access = access
        self._rng = rng
        self._kept = self._found(party)
        self._following = asyncio.ensure_future(seat.run())
        self._following.add_done_callback(_observed)

    @property
    def manifest(self) -> Manifest:
        """What the session is, as the party's policy accepted it."""
        return self._manifest

    @property
    def news(self) -> RoundStatus | None:
        """Where the session stands."""
        return self._seat.news

    @property
    def rounds_left(self) -> int:
        """How many more results the session can have for this party."""
        upcoming = next_round(self._party.state.tally, self._manifest.terms)
        return (
            0 if upcoming is None or self._seat.over else self._manifest.terms.rounds - upcoming[0]
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
    ) -> Contribution:
        """Offer a value for the next round that opens, and wait for its result.

        A value that was offered for this round before a restart counts: `value` must be the
        same then. Several values may be offered at once; they go into rounds in turn.

        Raises:
            InvalidValue, OutOfRange, UsageError: the value does not fit the session; nothing
                was said.
            RoundAborted: no attempt of the round had a result.
            SessionOver: the session has no round for it.
            ProtocolError: the party had to stop; the error says whose fault is proved.
        """
        offered = self._offered(self._encoding(weight, max_weight), value, clip=clip)
        if self._following.done():
            self._following.result()
            raise self._seat.ended()
        decided = self._resumed(offered.row) or self._seat.offer(offered.row)
        return contribution(self._manifest, offered, await decided)

    async def concluded(
        self, value: Value, *, weight: float | None = None, max_weight: Any = None
    ) -> Contribution | None:
        """The last result, if the session was over already when this client joined it.

        A crash may have come between the end of a session and the moment in which its result
        was shown. `value` gives the structure only; the largest weight says how a session with
        weights is read.
        """
        if not self._seat.over:
            return None
        await self.finished()
        decided = self._seat.concluded
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
                return given.values, self._seat.expect(logical)
        return None

    def _encoding(self, weight: float | None, most: Any) -> Encoding:
        largest = None if most is None else largest_weight(most)
        return encoding_for(self._manifest, weight, largest)

    def _offered(self, encoding: Encoding, value: Value, *, clip: bool) -> Offered:
        """The value on the grid, rounded once."""
        if value is None:
            raise UsageError("a value: whoever has none does not join", "value")
        size = Structure.of(value).size
        wanted = self._manifest.terms.dimension - self._manifest.weighted
        if size != wanted:
            message = f"it holds {size} numbers, and the values of this session hold {wanted}"
            raise UsageError(message, "value")
        stream = fresh_stream(ristretto255(), self._rng, ROUNDING)
        others = [None] * (self._manifest.terms.parties - 1)
        return Offered(encoding, encoding.encode([value, *others], stream, clip=clip))

    def _resumed(self, row: tuple[int, ...]) -> asyncio.Future[Decided] | None:
        """The round whose input is from before a restart, if nobody has asked for it yet."""
        if self._kept is None:
            return None
        given, decided = self._kept
        if any(abs(a - b) > _FARTHEST for a, b in zip(row, given, strict=True)):
            message = "another value was offered for this round before: a round has one"
            raise UsageError(message, "value")
        self._kept = None
        return decided


def _observed(task: asyncio.Future[None]) -> None:
    """Whoever waits for an offer has been told: asyncio need not complain."""
    if not task.cancelled():
        task.exception()
