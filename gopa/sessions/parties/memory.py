"""What a party keeps between rounds ([H2]): everything of its state but a round's secrets.

A party in the middle of a round is never written down. It is what its journal makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from gopa.messages.organiser import ABORT, RESULT, Abort, Result
from gopa.party import Finished, Part
from gopa.party.chain import Chain
from gopa.party.states import Done, Stopped, Tally, Waiting
from gopa.sessions.parties.failures import FAILURE
from gopa.sessions.parties.records import POSTED, VALUES
from gopa.sessions.parties.runs import Run
from wire.codec import (
    Case,
    Codec,
    Record,
    boolean,
    converted,
    enumeration,
    fixed,
    i64,
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
from wire.secret import Guarded

VERSION: Final = 1


class _Part(IntEnum):
    ACTIVE = 1
    LATE = 2
    UNWILLING = 3
    LOST = 4
    TIMED_OUT = 5
    UNDATED = 6


@dataclass(frozen=True, slots=True)
class Left:
    """A round goes on without this party."""

    leaf: bytes
    logical: int
    attempt: int
    part: Part


Resting: TypeAlias = Waiting | Left | Done | Stopped
"""Where a party stands that has no secret of a round."""


class _Rest(IntEnum):
    WAITING = 1
    LEFT = 2
    DONE = 3
    STOPPED = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptInput(Guarded):
    """`Given` in bytes; blinding and commitment are empty where inputs have none."""

    logical: int
    values: tuple[int, ...]
    blinding: bytes
    commitment: bytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Memory(Guarded):
    """The memory of one generation. `secret` is the round secret ([R1]).

    `own_leaf` is that of the last entry this party made, `spoken` are rounds in which its
    key has said what this memory knows nothing of ([R4]), `last` the last round that ended.
    """

    version: int
    secret: bytes
    author: bytes
    chain: Chain
    tally: Tally
    stage: Resting
    inputs: tuple[KeptInput, ...]
    final_seen: bool
    listed: bool
    own_leaf: bytes
    seen_size: int
    seen_root: bytes
    spoken: tuple[int, ...]
    last: Finished | None

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise UsageError(f"only version {VERSION} is known", "version")
        if list(self.spoken) != sorted(set(self.spoken)):
            raise UsageError("rounds in increasing order", "spoken")


@dataclass(frozen=True, slots=True)
class _Ended:
    round: int
    logical: int
    attempt: int
    part: Part
    result: Result | None
    abort: Abort | None

    def __post_init__(self) -> None:
        if (self.result is None) == (self.abort is None):
            raise UsageError("a round ends with a result or an abort", "result")


def _finished(ended: _Ended) -> Finished:
    outcome = ended.result or ended.abort
    if outcome is None:
        raise UsageError("a round ends with a result or an abort", "result")
    return Finished(ended.round, ended.logical, ended.attempt, ended.part, outcome)


def _ended(found: Finished) -> _Ended:
    outcome = found.outcome
    return _Ended(
        found.round,
        found.logical,
        found.attempt,
        found.part,
        outcome if isinstance(outcome, Result) else None,
        outcome if isinstance(outcome, Abort) else None,
    )


_LEAF: Final = fixed(32)
_PART: Final = converted(
    enumeration(_Part, u8), lambda found: Part[found.name], lambda part: _Part[part.name]
)
_CHAIN: Final = record(
    Chain,
    organiser=_LEAF,
    session=_LEAF,
    leaf=_LEAF,
    index=i64,
    round=u16,
    ended=boolean,
    cut=u64,
    leaves=Run(_LEAF, 2**27),
    pending=Run(POSTED, 2**28),
    last=i64,
)
_TALLY: Final = record(
    Tally, logical=u16, attempts=u16, releases=u16, decided=boolean, excused=boolean
)
_WAITING: Final[Record[Waiting]] = record(Waiting)
_DONE: Final[Record[Done]] = record(Done)
_RESTING: Final[Codec[Resting]] = select(
    "Resting",
    enumeration(_Rest, u8),
    Case(_Rest.WAITING, _WAITING),
    Case(_Rest.LEFT, record(Left, leaf=_LEAF, logical=u16, attempt=u16, part=_PART)),
    Case(_Rest.DONE, _DONE),
    Case(_Rest.STOPPED, record(Stopped, error=FAILURE)),
)
_INPUT: Final = record(
    KeptInput, logical=u16, values=VALUES, blinding=opaque(0, 32), commitment=opaque(0, 32)
)
_LAST: Final = converted(
    record(
        _Ended,
        round=u16,
        logical=u16,
        attempt=u16,
        part=_PART,
        result=optional(RESULT),
        abort=optional(ABORT),
    ),
    _finished,
    _ended,
)

MEMORY: Final[Codec[Memory]] = record(
    Memory,
    version=u16,
    secret=fixed(32),
    author=fixed(32),
    chain=_CHAIN,
    tally=_TALLY,
    stage=_RESTING,
    inputs=Run(_INPUT, 2**31),
    final_seen=boolean,
    listed=boolean,
    own_leaf=_LEAF,
    seen_size=u64,
    seen_root=_LEAF,
    spoken=vector(u16, 0, 65_535),
    last=optional(_LAST),
)
