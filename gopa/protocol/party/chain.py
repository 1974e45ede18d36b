"""Follows the organiser's messages for one party: accepts the next one, or says what is wrong.

Rules 04-E1 to 04-E4, 04-C1 and 04-C2.

Every entry of the organiser is delivered, in the order of the log. The chain ends at the
first that does not continue it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gopa.contract.cutting import cut_of, full_size
from gopa.contract.framing import NO_LEAF, Message, Posted
from gopa.contract.organiser import CUT, ROOT, Close
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party.events import Event, PostedClose
from wire.errors import FaultyParty, SuspectedPartyOrBoard, UsageError


@dataclass(frozen=True, slots=True)
class Chain:
    """Keeps where the organiser stands: its last whole message, and the chunks of the next.

    `cut` is that of the last close, `last` the index of the newest entry; `leaves` are
    those of its entries in this round, by seq.
    """

    organiser: bytes
    session: bytes
    leaf: bytes = NO_LEAF
    index: int = -1
    round: int = 0
    ended: bool = False
    cut: int = 0
    leaves: tuple[bytes, ...] = ()
    pending: tuple[Posted, ...] = ()
    last: int = -1

    def follow(self, posted: Posted) -> tuple[Chain, Message | None]:
        """Take the organiser's next entry; the message if it is complete.

        An entry that was seen before changes nothing, even if a board repeats it; nor does
        whatever is posted for a round that is over.

        Raises:
            UsageError: the entry is not the organiser's, or of another session.
            FaultyParty: it does not continue what the organiser posted before.
            SuspectedPartyOrBoard: something between is missing. The organiser may have left it
                out, or the board hides it.
        """
        entry = posted.entry
        if entry.author.data != self.organiser or entry.session != self.session:
            raise UsageError("only the organiser's entries of this session are followed", "posted")
        if posted.index <= self.last or entry.round < self.round or self._repeats(posted):
            return self, None
        self._require_next(posted)
        chain = replace(
            self,
            round=entry.round,
            ended=False,
            leaves=(self.leaves if entry.round == self.round else ()) + (posted.leaf,),
            pending=(*self.pending, posted),
            last=posted.index,
        )
        if entry.chunk + 1 < entry.chunks:
            return chain, None
        return replace(chain, pending=()), whole(chain.pending)

    def claim_in(self, posted: Posted) -> tuple[int, bytes] | None:
        """The cut and the root in the close that this entry completes; None if it is none.

        Nor if its cut goes back or lies ahead, which no root makes right.
        """
        entry = posted.entry
        if entry.kind != Kind.CLOSE or entry.chunk + 1 != entry.chunks:
            return None
        first = self.pending[0] if self.pending and entry.chunk else posted
        cut, root = int.from_bytes(first.entry.body[CUT]), first.entry.body[ROOT]
        right = cut > 0 and self.cut <= cut <= first.index and len(root) == len(NO_LEAF)
        return (cut, root) if right else None

    def acknowledge(self, message: Message, cut: int, *, ends: bool = False) -> Chain:
        """Give the chain behind a message that was found right."""
        return replace(self, leaf=message.leaf, index=message.index, cut=cut, ended=ends)

    def require_continues(self, acts_on: bytes) -> None:
        """Require that the message acts on the last one (04-E4).

        Stops an organiser that leads parties of one log along two chains of closes (attack
        `two-closes-in-a-row`).

        Raises:
            FaultyParty: it acts on anything else.
        """
        self.require(acts_on == self.leaf, "a message does not act on the last one")

    def require_cut(self, message: Message, cut: int) -> None:
        """Require a cut that neither goes back nor ahead, nor leaves out what was seen (04-C2).

        Else an organiser could say that it has read a message, and count its author as absent
        (attack `early-cut-of-what-was-seen`).

        Raises:
            FaultyParty: the cut is another one.
        """
        self.require(self.cut <= cut <= message.first, "a cut goes back or ahead", message.leaf)
        self.require(message.seen <= cut, "a cut is below what it says it saw", message.leaf)

    def require_root(self, close: Close, given: PostedClose | None) -> None:
        """Require the root that the log has at the cut (04-C7).

        Else an organiser could choose the close, and what is drawn from its leaf, before the
        entries below its cut are written (attack `foreign-root`).

        Raises:
            UsageError: the caller left the root out.
            FaultyParty: the close names another one than its own author has seen there.
            SuspectedPartyOrBoard: another one: a board may have shown its author another log.
        """
        if given is None:
            raise UsageError("what completes a close comes with the root at its cut", "event")
        if close.root == given.root:
            return
        entry = given.posted.entry
        if (entry.seen_size, entry.seen_root) == (close.cut, given.root):
            raise self.fault("a close names another root than it has seen", given.posted.leaf)
        raise self.doubt("a close names another root than the log has at its cut")

    def require(self, holds: bool, what: str, evidence: bytes = b"") -> None:
        """Raise `FaultyParty` about the organiser unless this holds."""
        if not holds:
            raise self.fault(what, evidence)

    def fault(self, what: str, evidence: bytes = b"") -> FaultyParty:
        """The error that says: the organiser broke the rules, as the entries in `evidence` show."""
        return FaultyParty(f"the organiser: {what}", self.organiser, evidence)

    def doubt(self, what: str) -> SuspectedPartyOrBoard:
        """The error that says: the organiser broke the rules, or a board shows another log."""
        return SuspectedPartyOrBoard(f"the organiser: {what}", self.organiser)

    def _repeats(self, posted: Posted) -> bool:
        """Whether the very same entry was taken in this round."""
        entry = posted.entry
        known = self.leaves[entry.seq : entry.seq + 1] if entry.round == self.round else ()
        return entry.phase == Phase.ORGANISER and known == (posted.leaf,)

    def _require_next(self, posted: Posted) -> None:
        """Require that the entry has the next number, and continues the chunks before it (04-E1).

        Two entries for one number are two closes: one would have edges opened while others unmask
        (attack `two-closes`). A gap may be a board's doing, so the organiser is only suspected.
        """
        entry = posted.entry
        self.require(entry.phase == Phase.ORGANISER, "it posts out of turn", posted.leaf)
        following = self.ended and entry.round == self.round + 1
        expected = 0 if following else len(self.leaves)
        if entry.seq > expected or not (following or entry.round == self.round):
            raise self.doubt("an entry before this one is not shown")
        if entry.seq < expected:
            raise self.fault("two entries for one step", self.leaves[entry.seq] + posted.leaf)
        if self.ended and not following:
            raise self.fault("it posts behind the end", self.leaf + posted.leaf)
        if not _continues(self.pending, posted):
            raise self.fault("chunks do not continue", posted.leaf)


def with_root(chain: Chain, posted: Posted, root_at: Callable[[int], bytes]) -> Event:
    """What a party is told of an entry of the organiser.

    `root_at` gives the root that the log is known to have at a size up to the entry's index.
    """
    claim = chain.claim_in(posted)
    return posted if claim is None else PostedClose(posted, root_at(claim[0]))


def _continues(pending: tuple[Posted, ...], posted: Posted) -> bool:
    """Whether a chunk goes on where the last one ended: only full chunks have a next one."""
    entry = posted.entry
    if entry.chunk != len(pending):
        return False
    if not pending:
        return True
    first, before = pending[0].entry, pending[-1]
    cut = cut_of(first.kind, first.body, first.chunks)
    return (
        (entry.chunks, entry.kind) == (before.entry.chunks, before.entry.kind)
        and entry.prev_own_leaf == before.leaf
        and len(before.entry.body) == full_size(entry.chunk - 1, cut)
        and len(entry.body) <= full_size(entry.chunk, cut)
    )


def whole(chunks: tuple[Posted, ...]) -> Message:
    """The message of these entries, which are all of its chunks in their order."""
    first, last = chunks[0], chunks[-1]
    return Message(
        author=first.entry.author.data,
        phase=first.entry.phase,
        kind=Kind(first.entry.kind) if first.entry.kind in set(Kind) else first.entry.kind,
        round=first.entry.round,
        seq=first.entry.seq,
        first=first.index,
        index=last.index,
        leaf=last.leaf,
        body=b"".join(chunk.entry.body for chunk in chunks),
        seen=max(chunk.entry.seen_size for chunk in chunks),
    )
