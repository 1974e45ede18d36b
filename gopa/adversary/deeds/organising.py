"""What a malicious organiser may post: `MaliciousOrganiser(do=AlteredClose(..))`.

Everybody evaluates the rules over its messages. From the first wrong one on the log convicts it,
whatever it posts afterwards; so it says nothing more in a session in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bulletin_board import Submission
from gopa.adversary.deeds.kinds import flipped
from gopa.contract.bodies import BODIES
from gopa.contract.framing import NO_LEAF, MessageSlot, sign_message
from gopa.contract.organiser import (
    ABORT,
    CLOSE,
    RESULT,
    Abort,
    AbortReason,
    Close,
    Coins,
    Members,
    Open,
    Released,
    Removal,
    ResultMessage,
    Roll,
    RollEntry,
    pack_members,
    read_control,
)
from gopa.contract.phases import Kind, Phase
from gopa.protocol.organiser import SendMessage
from gopa.protocol.rules import Control, Ledger
from gopa.protocol.rules.closes import given_in
from gopa.protocol.simulation.access import OrganiserAccess, body_of, first_entry
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.rounds.toolkit import Toolkit


@dataclass(frozen=True, slots=True)
class AlteredClose:
    """A lie: another close of one phase than the rules demand."""

    phase: Phase
    change: Callable[[Close], Close]
    beside: bool = False

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        """The altered close; with `beside` both are posted: two closes for one step."""
        close = close_of(control)
        if close is None or close.phase is not self.phase:
            return [control]
        wrong = access.altered(control, CLOSE, partial(_changed, access.board, self.change))
        return [control, wrong] if self.beside else [wrong]


@dataclass(frozen=True, slots=True)
class ForeignRoot:
    """A lie: a close over the root of another log, or of this one so many entries `before`.

    It `admits` what it has seen of the log, or says that it has seen nothing.
    """

    phase: Phase
    before: int = 0
    admits: bool = True

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        close = close_of(control)
        if close is None or close.phase is not self.phase:
            return [control]
        root = access.board.root_at(close.cut - self.before) if self.before else flipped(close.root)
        body, first = CLOSE.encode(replace(close, root=root)), first_entry(control.entries)
        seen = (first.seen_size, first.seen_root) if self.admits else (0, NO_LEAF)
        where = Kind.CLOSE, first.round, first.seq, first.prev_own_leaf
        place = MessageSlot(access.session, Phase.ORGANISER, *where, *seen)
        signed = sign_message(body, place, access.key)
        return [SendMessage(Kind.CLOSE, first.round, signed.entries)]


@dataclass(frozen=True, slots=True)
class AlteredResult:
    """A lie: another result than the rules demand."""

    change: Callable[[ResultMessage], ResultMessage]

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.RESULT:
            return [control]
        return [access.altered(control, RESULT, self.change)]


@dataclass(frozen=True, slots=True)
class AlteredAbort:
    """A lie: another abort than the rules demand."""

    change: Callable[[Abort], Abort]

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.ABORT:
            return [control]
        return [access.altered(control, ABORT, self.change)]


@dataclass(frozen=True, slots=True)
class ClosedAnyway:
    """A lie: a close with a list of the organiser's own where the rules demand an abort."""

    phase: Phase
    members: tuple[int, ...]
    parties: int

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.ABORT:
            return [control]
        abort = ABORT.decode(body_of(control.entries))
        content = Members(pack_members(self.members, self.parties), final=False)
        root = access.board.root_at(abort.cut)
        close = Close(abort.acts_on, abort.cut, root, self.phase, b"", content)
        return [access.instead(control, Kind.CLOSE, CLOSE.encode(close))]


@dataclass(frozen=True, slots=True)
class AlteredOpen:
    """A lie: the opening of another round than the rules demand."""

    change: Callable[[Any], Any]
    number: int = 1

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.OPEN or control.round != self.number:
            return [control]
        return [access.altered(control, BODIES[Kind.OPEN], self.change)]


@dataclass(frozen=True, slots=True)
class GivesUp:
    """A lie: the organiser's own abort in place of the close of a phase."""

    phase: Phase
    released: Released = Released.NONE
    number: int = 1

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        close = close_of(control)
        if close is None or close.phase is not self.phase or control.round != self.number:
            return [control]
        abort = Abort(close.acts_on, close.cut, AbortReason.ORGANISER, self.released, ())
        return [access.instead(control, Kind.ABORT, ABORT.encode(abort))]


@dataclass(frozen=True, slots=True)
class AbortsInstead:
    """A lie: an abort for a reason that the rules do not see."""

    phase: Phase
    reason: AbortReason

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        close = close_of(control)
        if close is None or close.phase is not self.phase:
            return [control]
        abort = Abort(close.acts_on, close.cut, self.reason, Released.NONE, ())
        return [access.instead(control, Kind.ABORT, ABORT.encode(abort))]


@dataclass(frozen=True, slots=True)
class AnotherResult:
    """A lie: a result where the rules demand an abort, in every round or in that of this number."""

    sums: tuple[int, ...]
    number: int | None = None

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.kind is not Kind.ABORT or self.number not in {None, control.round}:
            return [control]
        abort = ABORT.decode(body_of(control.entries))
        result = ResultMessage(abort.acts_on, abort.cut, self.sums, (), 0, 1)
        return [access.instead(control, Kind.RESULT, BODIES[Kind.RESULT].encode(result))]


@dataclass(frozen=True, slots=True)
class ClosesAgain:
    """A lie: another close right behind that of a phase, in the next slot.

    It acts on what the first one acts on, or on the first one if it `follows`.
    """

    phase: Phase
    change: Callable[[Close], Close]
    follows: bool = False

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        close = close_of(control)
        if close is None or close.phase is not self.phase:
            return [control]
        first = Submission.decode(control.entries[0])
        seq, leaf = first.entry.seq + 1, first.leaf
        place = MessageSlot(access.session, Phase.ORGANISER, Kind.CLOSE, control.round, seq, leaf)
        acts_on = leaf if self.follows else close.acts_on
        body = CLOSE.encode(self.change(replace(close, acts_on=acts_on)))
        second = sign_message(body, place, access.key).entries
        return [control, SendMessage(Kind.CLOSE, control.round, second)]


@dataclass(frozen=True, slots=True)
class CutsOff:
    """A lie: a cut right below the last messages of a phase, one or several, which are in the log.

    All that it says follows from the rules with that cut. It `admits` that it has seen the
    messages, or says that it has seen nothing.
    """

    phase: Phase
    rounds: Collection[int] = frozenset({1})
    admits: bool = False
    messages: int = 1

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        if control.round not in self.rounds:
            return [control]
        ledger, ends = Ledger(Toolkit(), rng=access.rng), []
        for posted in access.board.entries:
            ledger.observe(posted)
            if (posted.entry.phase, posted.entry.round) == (self.phase, control.round):
                ends.append(posted.index)
        current = ledger.state.round
        if not ends or current is None or current.opens is not self.phase:
            return [control]
        cut = ends[-self.messages :][0]
        given = given_in(read_control(control.kind, body_of(control.entries)))
        root = access.board.root_at(cut)
        early = ledger.next_control(
            cut, root=root, checkpoint=given.checkpoint, beacon=given.beacon
        )
        return [control] if early is None else [self._signed(access, early)]

    def _signed(self, access: OrganiserAccess, early: Control) -> SendMessage:
        size, root = access.board.size, access.board.root
        seen = (size, root) if self.admits else (0, NO_LEAF)
        where = early.kind, early.round, early.seq, early.previous
        place = MessageSlot(access.session, Phase.ORGANISER, *where, *seen)
        return SendMessage(
            early.kind, early.round, sign_message(early.body, place, access.key).entries
        )


@dataclass(frozen=True, slots=True)
class Vanishes:
    """Silence of the organiser from the close of a phase on."""

    phase: Phase

    def publishes(self, access: OrganiserAccess, control: SendMessage) -> Sequence[SendMessage]:
        del access
        close = close_of(control)
        return [] if close is not None and close.phase is self.phase else [control]


def _changed(board: SimulatedBoard, change: Callable[[Close], Close], close: Close) -> Close:
    """The close after a change; one that moves the cut has the root that the log has there."""
    other = change(close)
    if other.cut == close.cut or not 0 <= other.cut <= board.size:
        return other
    return replace(other, root=board.root_at(other.cut))


def close_of(control: SendMessage) -> Close | None:
    """The content of a close; None for other messages of an organiser."""
    return CLOSE.decode(body_of(control.entries)) if control.kind is Kind.CLOSE else None


def with_key_of(position: int, key: bytes) -> Callable[[Close], Close]:
    """Puts another key for one party on a roll: whoever has its secret is in the middle."""

    def change(close: Close) -> Close:
        return _with_enrolled(close, position, lambda party: replace(party, key=key))

    return change


def with_nonce_of(position: int) -> Callable[[Close], Close]:
    """Lists another nonce for one party in the coins."""

    def change(close: Close) -> Close:
        content = close.content
        if not isinstance(content, Coins) or position >= len(content.nonces):
            return close
        nonces = list(content.nonces)
        nonces[position] = flipped(nonces[position])
        return replace(close, content=replace(content, nonces=tuple(nonces)))

    return change


def lacking(position: int) -> Callable[[Close], Close]:
    """Takes one party off a list."""

    def change(close: Close) -> Close:
        content = close.content
        if isinstance(content, Roll):
            rest = content.parties[:position] + content.parties[position + 1 :]
            return replace(close, content=replace(content, parties=rest))
        if not isinstance(content, Members) or position >= 8 * len(content.members):
            return close
        bits = bytearray(content.members)
        bits[position // 8] &= ~(1 << position % 8) & 0xFF
        return replace(close, content=replace(content, members=bytes(bits)))

    return change


def with_cut(shift: int) -> Callable[[Close], Close]:
    """Moves the cut of a close."""

    def change(close: Close) -> Close:
        return replace(close, cut=close.cut + shift)

    return change


def listing(place: int) -> Callable[[Close], Close]:
    """Puts one more party on a list."""

    def change(close: Close) -> Close:
        content = close.content
        if not isinstance(content, Members):
            return close
        bits = bytearray(content.members)
        bits[place // 8] |= 1 << place % 8
        return replace(close, content=replace(content, members=bytes(bits)))

    return change


def with_final(final: bool) -> Callable[[Close], Close]:
    """Makes a close say that it is final, or that it is not."""

    def change(close: Close) -> Close:
        if not isinstance(close.content, Members):
            return close
        return replace(close, content=replace(close.content, final=final))

    return change


def as_confirmed(close: Close) -> Close:
    """Makes the close of confirm that would be right if everybody in the list had confirmed."""
    if not isinstance(close.content, Members):
        return close
    return replace(close, phase=Phase.CONFIRM, content=replace(close.content, final=False))


def without_checkpoint(close: Close) -> Close:
    """Makes a close rest on no checkpoint."""
    return replace(close, checkpoint=b"")


def added(by: int) -> Callable[[ResultMessage], ResultMessage]:
    """Makes the first sum larger by so much."""
    return lambda result: replace(result, sums=(result.sums[0] + by, *result.sums[1:]))


def hiding_removals(result: ResultMessage) -> ResultMessage:
    """Makes a result say nothing about who was removed."""
    return replace(result, removed=())


def inventing(removal: Removal) -> Callable[[ResultMessage], ResultMessage]:
    """Makes a result say that somebody was removed who was not."""
    return lambda result: replace(result, removed=(removal,))


def hiding_releases(result: ResultMessage) -> ResultMessage:
    """Makes a result hide that values of an earlier attempt are out too."""
    return replace(result, releases=1)


def blaming(*positions: int) -> Callable[[Abort], Abort]:
    """Names other culprits in an abort."""
    return lambda abort: replace(abort, culprits=positions)


def attempt_of(logical: int, attempt: int) -> Callable[[Open], Open]:
    """Opens another attempt, of another logical round; both are counted from 0."""
    return lambda content: replace(content, logical=logical, attempt=attempt)


def _with_enrolled(close: Close, at: int, change: Callable[[RollEntry], RollEntry]) -> Close:
    content = close.content
    if not isinstance(content, Roll) or at >= len(content.parties):
        return close
    parties = list(content.parties)
    parties[at] = change(parties[at])
    return replace(close, content=replace(content, parties=tuple(parties)))
