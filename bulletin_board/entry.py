"""Entries: what a party signs and the log stores. `specs/05-bulletin-board.md`, section 3.

An entry authenticates itself: its author is an Ed25519 key and its signature
covers everything else, so anyone may relay it and anyone can check it.

The slots of a log are numbered in the order in which they were first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from bulletin_board.tree import leaf_hash
from wire.codec import Codec, fixed, opaque, record, u8, u16, u32, u64
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.ed25519 import (
    PUBLIC_KEY,
    SIGNATURE,
    PublicKey,
    SigningKey,
    pre_auth_encoding,
    verify,
)
from wire.errors import MalformedMessage, UsageError
from wire.packed import KeyTable

VERSION = 1
LARGEST_BODY = 60_000


class Slot(NamedTuple):
    """A place that holds one entry. A second entry there proves equivocation."""

    session: bytes
    author: bytes
    phase: int
    round: int
    seq: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What the author of an entry states.

    `seq` counts the author's entries in this session, phase and round. A payload
    larger than one body travels as `chunks` entries, `chunk` = 0, 1, ..., each in
    a slot of its own. `prev_own_leaf` is the leaf hash of the author's previous
    entry (zeros for the first); `seen_size` and `seen_root` are the newest
    checkpoint that the author has verified.
    """

    version: int
    session: bytes
    phase: int
    kind: int
    round: int
    chunk: int
    chunks: int
    author: PublicKey
    seq: int
    prev_own_leaf: bytes
    seen_size: int
    seen_root: bytes
    body: bytes

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise UsageError(f"only version {VERSION} is known", "version")
        if not self.chunk < self.chunks:
            raise UsageError("a chunk number below the number of chunks", "chunk")

    @property
    def slot(self) -> Slot:
        return Slot(self.session, self.author.data, self.phase, self.round, self.seq)


ENTRY: Codec[Entry] = record(
    Entry,
    version=u16,
    session=fixed(32),
    phase=u8,
    kind=u8,
    round=u16,
    chunk=u16,
    chunks=u16,
    author=PUBLIC_KEY,
    seq=u32,
    prev_own_leaf=fixed(32),
    seen_size=u64,
    seen_root=fixed(32),
    body=opaque(0, LARGEST_BODY),
)


@dataclass(frozen=True, slots=True)
class SignedEntry:
    """An entry and a signature, well-formed; call `verify_entry` before believing it."""

    entry: Entry
    signature: bytes


SIGNED_ENTRY: Codec[SignedEntry] = record(SignedEntry, entry=ENTRY, signature=SIGNATURE)

LARGEST_ENTRY = SIGNED_ENTRY.max_size
SMALLEST_ENTRY = SIGNED_ENTRY.min_size


_HEAD: Final = Struct(">H32sBBHHH32sI32sQ32sH")
"""All of an entry up to the length of its body, and that."""

_known_key = lru_cache(maxsize=65_536)(PublicKey)
"""A key that is seen again is not looked at again: a log has many entries of each author."""


_Head: TypeAlias = tuple[
    int, bytes, int, int, int, int, int, bytes, int, bytes, int, bytes, int, PublicKey
]


def _well_formed(raw: bytes) -> _Head | None:
    """An entry's head and its author's key; None if anything is not as it should be."""
    if len(raw) < SMALLEST_ENTRY or type(raw) is not bytes:
        return None
    head = _HEAD.unpack_from(raw)
    length = head[12]
    sized = length <= LARGEST_BODY and len(raw) == _HEAD.size + length + SIGNATURE.max_size
    if head[0] != VERSION or head[5] >= head[6] or not sized:
        return None
    try:
        return *head, _known_key(head[7])
    except MalformedMessage:
        return None


def _decoded(raw: bytes) -> SignedEntry:
    """Decodes as `SIGNED_ENTRY` does in a fifth of the time; whatever is wrong, that says it."""
    head = _well_formed(raw)
    if head is None:
        return SIGNED_ENTRY.decode(raw)
    end = _HEAD.size + head[12]
    body = raw[_HEAD.size : end]
    return SignedEntry(Entry(*head[:7], head[13], *head[8:12], body), raw[end:])


def slot_of(raw: bytes) -> Slot:
    """The slot of an encoded entry. Decodes strictly; raises `MalformedMessage`."""
    head = _well_formed(raw)
    if head is None:
        return SIGNED_ENTRY.decode(raw).entry.slot
    return Slot(head[1], head[7], head[2], head[4], head[8])


class Submission(NamedTuple):
    """An entry on its way into the log: decoded, with its bytes and leaf hash."""

    signed: SignedEntry
    raw: bytes
    leaf: bytes

    @property
    def entry(self) -> Entry:
        return self.signed.entry

    @classmethod
    def decode(cls, raw: bytes, leaf: bytes | None = None) -> Submission:
        """Decode strictly; raises `MalformedMessage`. The signature is not verified.

        `leaf` is its hash, where the caller has computed it.
        """
        return cls(_decoded(raw), raw, leaf_hash(raw) if leaf is None else leaf)


def sign_entry(entry: Entry, key: SigningKey) -> bytes:
    """Sign an entry, and return the bytes to post. Only the same bytes may ever be sent again."""
    if entry.author != key.public:
        raise UsageError("the entry names another author than the signing key")
    encoded = ENTRY.encode(entry)
    return encoded + key.sign(pre_auth_encoding(ENTRY_PAYLOAD_TYPE, encoded))


def verify_entry(submission: Submission) -> None:
    """Return if the author signed this entry, raise `InvalidSignature` otherwise."""
    signed_part = submission.raw[: -SIGNATURE.max_size]
    message = pre_auth_encoding(ENTRY_PAYLOAD_TYPE, signed_part)
    verify(submission.entry.author, message, submission.signed.signature)


_KEY: Final = Struct(">IIBHI")


class SlotTable:
    """All slots that were used, in about 30 bytes each, and 45 for each author and session."""

    __slots__ = ("_authors", "_last", "_sessions", "_slots")

    def __init__(self) -> None:
        self._sessions = KeyTable(32)
        self._authors = KeyTable(32)
        self._slots = KeyTable(_KEY.size)
        self._last = b"", 0

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, slot: Slot) -> int:
        """Remember a slot and return its number, which is what `len` was before if it is new."""
        last, session = self._last  # entries of one session follow each other
        if slot.session != last:
            session = self._sessions.add(slot.session)
            self._last = slot.session, session
        author = self._authors.add(slot.author)
        return self._slots.add(_KEY.pack(session, author, slot.phase, slot.round, slot.seq))

    def find(self, slot: Slot) -> int | None:
        """The number of the slot; None if it was never used."""
        session, author = self._sessions.find(slot.session), self._authors.find(slot.author)
        if session is None or author is None:
            return None
        return self._slots.find(_KEY.pack(session, author, slot.phase, slot.round, slot.seq))
