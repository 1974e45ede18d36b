"""Cuts messages into signed entries, and puts entries together again.

`specs/04-protocol.md`, section 1.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bulletin_board import Entry, Slot, Submission, sign_entry
from bulletin_board.entry import VERSION, SlotTable
from bulletin_board.tree import leaf_hash
from gopa.contract.bodies import widest_body
from gopa.contract.cutting import cut_of, full_size, least_size, pieces_of
from gopa.contract.phases import Kind, Phase
from wire.domains import ENTRY_PAYLOAD_TYPE, PARTY
from wire.ed25519 import SIGNATURE_SIZE, SignatureClaim, SigningKey, pre_auth_encoding
from wire.errors import UsageError
from wire.packed import Rows

NO_LEAF = bytes(32)


def party_id(author: bytes) -> bytes:
    """The id of the party with this Ed25519 key."""
    return hashlib.sha256(PARTY + author).digest()


def signature_claim(submission: Submission) -> SignatureClaim:
    """States that the author of an entry has signed it, to be verified among many."""
    message = pre_auth_encoding(ENTRY_PAYLOAD_TYPE, submission.raw[:-SIGNATURE_SIZE])
    return SignatureClaim(submission.entry.author, message, submission.signed.signature)


@dataclass(frozen=True, slots=True)
class Posted:
    """Holds an entry of the log with its index; the caller has verified signature and inclusion."""

    index: int
    leaf: bytes
    entry: Entry


@dataclass(frozen=True, slots=True)
class Message:
    """Holds a whole message: its chunks in order, from index `first` to `index`.

    `seen` is the largest size of the log that its entries say they have seen.
    """

    author: bytes
    phase: int
    kind: int
    round: int
    seq: int
    first: int
    index: int
    leaf: bytes
    body: bytes
    seen: int = 0


@dataclass(frozen=True, slots=True)
class Equivocation:
    """Reports that the author signed two entries for one slot; the second is at `index`."""

    author: bytes
    phase: int
    round: int
    first: int
    index: int


@dataclass(frozen=True, slots=True)
class Broken:
    """Reports an entry that belongs to no message: a gap in seq, or chunks that do not continue."""

    author: bytes
    phase: int
    round: int
    index: int


Assembled: TypeAlias = Message | Equivocation | Broken


@dataclass(frozen=True, slots=True)
class MessageSlot:
    """Fixes where the next message of an author goes, before it is signed."""

    session: bytes
    phase: Phase
    kind: Kind
    round: int
    seq: int
    previous: bytes
    seen_size: int = 0
    seen_root: bytes = NO_LEAF


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """Holds the entries of one message, to be posted in order, and what follows from them."""

    entries: tuple[bytes, ...]
    leaf: bytes
    next_seq: int


def sign_message(body: bytes, place: MessageSlot, key: SigningKey) -> SignedMessage:
    """Cut a body into chunks and sign each; `previous` chains them (04-E1)."""
    pieces = pieces_of(place.kind, body)
    if len(pieces) > 65_535:
        raise UsageError("the message is too large for the board", "body")
    entries, previous = [], place.previous
    for number, piece in enumerate(pieces):
        entry = Entry(
            version=VERSION,
            session=place.session,
            phase=int(place.phase),
            kind=int(place.kind),
            round=place.round,
            chunk=number,
            chunks=len(pieces),
            author=key.public,
            seq=place.seq + number,
            prev_own_leaf=previous,
            seen_size=place.seen_size,
            seen_root=place.seen_root,
            body=piece,
        )
        entries.append(sign_entry(entry, key))
        previous = leaf_hash(entries[-1])
    return SignedMessage(tuple(entries), previous, place.seq + len(pieces))


@dataclass(slots=True)
class _Partial:
    """The chunks of a message that has begun."""

    first: Posted
    bodies: list[bytes]
    leaf: bytes
    seen: int = 0


class Assembler:
    """Turns the entries of one session, in the order of the log, into messages.

    Deterministic; it keeps one leaf for each slot (about 80 bytes) and at most one
    unfinished message for each author, phase and round, no longer than any message of its
    kind can be.
    """

    def __init__(self) -> None:
        self._slots = SlotTable()
        self._indexes, self._leaves = array("Q"), Rows(len(NO_LEAF))
        self._in_turn = bytearray()
        self._partial: dict[tuple[bytes, int, int], _Partial] = {}

    def observe(self, posted: Posted) -> Iterator[Assembled]:
        """What this entry completes or shows: at most one thing."""
        slot = posted.entry.slot
        number = self._slots.add(slot)
        if number == len(self._indexes):
            self._indexes.append(posted.index)
            self._leaves.append(posted.leaf)
            self._in_turn.append(False)
        elif self._indexes[number] != posted.index:
            # A board that repeats the same bytes shows nothing about who signed them once.
            if not self._leaves.holds(number, posted.leaf):
                first = self._indexes[number]
                yield Equivocation(slot.author, slot.phase, slot.round, first, posted.index)
            return
        yield from self._take(posted, slot, number)

    def _take(self, posted: Posted, slot: Slot, number: int) -> Iterator[Assembled]:
        entry = posted.entry
        stream = slot.author, slot.phase, slot.round
        partial = self._partial.pop(stream, None)
        broken = Broken(stream[0], stream[1], stream[2], posted.index)
        if self._in_turn[number] or not self._follows(slot):
            yield broken
            return
        self._in_turn[number] = True
        if entry.chunk == 0 and _fits(entry):
            partial = _Partial(posted, [], posted.leaf)
        elif partial is None or not _continues(partial, entry):
            yield broken
            return
        partial.bodies.append(entry.body)
        partial.leaf = posted.leaf
        partial.seen = max(partial.seen, entry.seen_size)
        if entry.chunk + 1 < entry.chunks:
            self._partial[stream] = partial
            return
        yield Message(
            author=stream[0],
            phase=entry.phase,
            kind=entry.kind,
            round=entry.round,
            seq=partial.first.entry.seq,
            first=partial.first.index,
            index=posted.index,
            leaf=posted.leaf,
            body=b"".join(partial.bodies),
            seen=partial.seen,
        )

    def _follows(self, slot: Slot) -> bool:
        """Whether all slots in front of this one were used in turn."""
        if not slot.seq:
            return True
        before = self._slots.find(slot._replace(seq=slot.seq - 1))
        return before is not None and bool(self._in_turn[before])


def _fits(entry: Entry) -> bool:
    """Whether a message of so many chunks may be as long as it says: all but the last are full.

    Nobody makes a reader hold more than the longest message of the kind.
    """
    cut = cut_of(entry.kind, entry.body, entry.chunks)
    return entry.chunks == 1 or least_size(entry.chunks, cut) < widest_body(entry.kind)


def _continues(partial: _Partial, entry: Entry) -> bool:
    first = partial.first.entry
    cut = cut_of(first.kind, first.body, first.chunks)
    return (
        entry.chunk == len(partial.bodies)
        and entry.chunks == first.chunks
        and entry.kind == first.kind
        and entry.prev_own_leaf == partial.leaf
        and len(partial.bodies[-1]) == full_size(entry.chunk - 1, cut)
        and 0 < len(entry.body) <= full_size(entry.chunk, cut)
    )
