"""What a host and a party send each other. `specs/12-sessions.md`, section 7."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from bulletin_board.entry import LARGEST_ENTRY, SMALLEST_ENTRY
from bulletin_board.note import LARGEST_NOTE
from gopa.contract.phases import Phase
from gopa.protocol.party import Fetch
from gopa.sessions.parties.journal import Run
from wire.codec import (
    Case,
    Codec,
    boolean,
    enumeration,
    fixed,
    opaque,
    optional,
    record,
    select,
    u8,
    u16,
    u64,
    vector,
)
from wire.errors import UsageError

VERSION: Final = 3
"""Two stands in front of what is packed."""
_HASH: Final = fixed(32)
_LARGEST_PROOF: Final = 63
_LARGEST_SHOWN: Final = 2**26
_MOST_CUTS: Final = 2**20
_LARGEST_LOG: Final = 2**28


@dataclass(frozen=True, slots=True)
class TunnelEntry:
    """A signed entry of the log; it is proved to be at `index`."""

    index: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class OwnEntry:
    """The proof that the log has an entry that the party itself made, by its leaf alone."""

    index: int
    leaf: bytes


@dataclass(frozen=True, slots=True)
class HiddenEntry:
    """The proof that the log has an entry with nothing but sums, by its leaf alone (12-N12)."""

    index: int
    leaf: bytes


Shown: TypeAlias = TunnelEntry | OwnEntry | HiddenEntry


class ShownKind(IntEnum):
    """How an entry is shown."""

    ENTRY = 1
    OWN = 2
    HIDDEN = 3


# A host that lies could send tens of millions of tiny entries, which take many times their size.
_RAW: Final = opaque(SMALLEST_ENTRY, LARGEST_ENTRY)
SHOWN: Final[Codec[Shown]] = select(
    "Shown",
    enumeration(ShownKind, u8),
    Case(ShownKind.ENTRY, record(TunnelEntry, index=u64, raw=_RAW)),
    Case(ShownKind.OWN, record(OwnEntry, index=u64, leaf=_HASH)),
    Case(ShownKind.HIDDEN, record(HiddenEntry, index=u64, leaf=_HASH)),
)


@dataclass(frozen=True, slots=True)
class TunnelRequest:
    """What the log has for a party (12-N2).

    `consistency` leads from the checkpoint that the party has to this one, `proof` shows that the
    entries in `shown` are under it, and which roots the log had at `cuts`, those of the closes
    among them. `whole` is either empty or all of the log's first entries, and `prefix` leads from
    them to the checkpoint.
    """

    version: int
    session: bytes
    checkpoint: bytes
    consistency: tuple[bytes, ...] = ()
    shown: tuple[Shown, ...] = ()
    cuts: tuple[int, ...] = ()
    proof: tuple[bytes, ...] = ()
    whole: tuple[bytes, ...] = ()
    prefix: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        _require_version(self.version, VERSION)


REQUEST: Final[Codec[TunnelRequest]] = record(
    TunnelRequest,
    version=u16,
    session=_HASH,
    checkpoint=opaque(1, LARGEST_NOTE),
    consistency=vector(_HASH, 0, _LARGEST_PROOF),
    shown=Run(SHOWN, _LARGEST_SHOWN),
    cuts=vector(u64, 0, _MOST_CUTS),
    proof=Run(_HASH, 2**24),
    whole=Run(_RAW, _LARGEST_LOG),
    prefix=vector(_HASH, 0, _LARGEST_PROOF),
)


class Want(IntEnum):
    """What the next request has to show besides what the organiser and the party posted."""

    NOTHING = 0
    ENTRIES = 1
    """What the fetch asks for."""
    LOG = 2
    """The whole log below the cut of the fetch: something follows that a lookup may not decide."""


@dataclass(frozen=True, slots=True)
class TunnelReply:
    """What the party posts, and what it is to be shown next (12-N3).

    `size` is that of the checkpoint it has, `start` the index from which on it has not heard the
    organiser and itself. `needs_value`: a round is open to which it has given no value. `over`:
    it says nothing more in this session.
    """

    version: int
    session: bytes
    party: bytes
    size: int
    start: int
    want: Want
    fetch: Fetch | None
    needs_value: bool
    over: bool
    posts: tuple[bytes, ...]

    def __post_init__(self) -> None:
        _require_version(self.version, VERSION)
        if (self.want is Want.NOTHING) != (self.fetch is None):
            raise UsageError("a fetch exactly if something is wanted", "fetch")


_FETCH: Final = record(
    Fetch, phase=enumeration(Phase, u8), round=u16, cut=u64, authors=vector(_HASH, 0, 2**20)
)
REPLY: Final[Codec[TunnelReply]] = record(
    TunnelReply,
    version=u16,
    session=_HASH,
    party=_HASH,
    size=u64,
    start=u64,
    want=enumeration(Want, u8),
    fetch=optional(_FETCH),
    needs_value=boolean,
    over=boolean,
    posts=Run(_RAW, 2**28),
)


def _require_version(version: int, known: int) -> None:
    if version != known:
        raise UsageError(f"only version {known} is known", "version")
