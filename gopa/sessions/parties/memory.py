"""Writes down what a party keeps between rounds (12-H2), and makes its state from that again.

All of its state is kept but a round's secrets. A party in the middle of a round is never written
down: it is what its journal makes of it. Why a party stopped is kept, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from commitments.group import Group
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import ABORT, RESULT, Abort, ResultMessage
from gopa.contract.terms import Terms
from gopa.protocol.party import Finished, Part, PartyState
from gopa.protocol.party.chain import Chain
from gopa.protocol.party.ending import next_round
from gopa.protocol.party.rows import kept_input
from gopa.protocol.party.states import (
    AttemptCount,
    BetweenRounds,
    Done,
    Outside,
    RoundInput,
    RoundOpened,
    Stage,
    Stopped,
)
from gopa.rounds.context import RoundContext, opening_of
from gopa.sessions.parties.journal import POSTED, VALUES, Run
from wire.codec import (
    Case,
    Codec,
    RecordCodec,
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
    u32,
    u64,
    vector,
)
from wire.errors import (
    FaultyBoard,
    FaultyParty,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    SuspectedPartyOrBoard,
    Unattributed,
    UsageError,
)
from wire.secret import Guarded, SecretBytes


class _What(IntEnum):
    MALFORMED = 1
    INVALID_PROOF = 2
    INVALID_SIGNATURE = 3
    FAULTY_PARTY = 4
    SUSPECTED = 5
    FAULTY_BOARD = 6
    UNATTRIBUTED = 7


@dataclass(frozen=True, slots=True)
class _Failure:
    """All that any of them says; what one does not say is empty. `where`: field or check."""

    what: _What
    message: bytes
    where: bytes = b""
    offset: int | None = None
    culprits: tuple[int, ...] = ()
    party: bytes = b""
    evidence: bytes = b""


_LONGEST: Final = 65_535
_FAILURE: Final = record(
    _Failure,
    what=enumeration(_What, u8),
    message=opaque(0, _LONGEST),
    where=opaque(0, _LONGEST),
    offset=optional(u64),
    culprits=vector(u32, 0, 2**20),
    party=opaque(0, 255),
    evidence=opaque(0, 2**24),
)


def _failure(error: ProtocolError) -> _Failure:
    """What is kept; of an error of another kind its text."""
    if isinstance(error, MalformedMessage):
        what = _What.MALFORMED
        return _Failure(what, _text(error.message), _text(error.field), error.offset)
    if isinstance(error, InvalidProof):
        signature = isinstance(error, InvalidSignature)
        what = _What.INVALID_SIGNATURE if signature else _What.INVALID_PROOF
        return _Failure(what, _text(error.message), _text(error.check), culprits=error.culprits)
    if isinstance(error, FaultyParty):
        what, evidence = _What.FAULTY_PARTY, error.evidence
        return _Failure(what, _text(error.message), party=error.party, evidence=evidence)
    if isinstance(error, SuspectedPartyOrBoard):
        return _Failure(_What.SUSPECTED, _text(error.message), party=error.party)
    if isinstance(error, FaultyBoard):
        return _Failure(_What.FAULTY_BOARD, _text(error.message), evidence=error.evidence)
    return _Failure(_What.UNATTRIBUTED, _text(str(error)))


def _error(found: _Failure) -> ProtocolError:
    error = _named(found)
    if _failure(error) != found:
        raise MalformedMessage("a failure that says what its kind does not")
    return error


def _named(found: _Failure) -> ProtocolError:
    return _MAKERS[found.what](found, _read(found.message), _read(found.where))


_MAKERS: Final[dict[_What, Callable[[_Failure, str, str], ProtocolError]]] = {
    _What.MALFORMED: lambda found, message, field: MalformedMessage(message, field, found.offset),
    _What.INVALID_PROOF: lambda found, message, check: InvalidProof(message, check, found.culprits),
    _What.INVALID_SIGNATURE: lambda found, message, check: InvalidSignature(
        message, check, found.culprits
    ),
    _What.FAULTY_PARTY: lambda found, message, _: FaultyParty(message, found.party, found.evidence),
    _What.SUSPECTED: lambda found, message, _: SuspectedPartyOrBoard(message, found.party),
    _What.FAULTY_BOARD: lambda found, message, _: FaultyBoard(message, found.evidence),
    _What.UNATTRIBUTED: lambda _, message, __: Unattributed(message),
}


def _text(text: str) -> bytes:
    return text[: _LONGEST // 4].encode("utf-8", "replace")


def _read(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("the text of an error is UTF-8") from None


FAILURE: Final[Codec[ProtocolError]] = converted(_FAILURE, _error, _failure)


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
    """The news that a round goes on without this party."""

    leaf: bytes
    logical: int
    attempt: int
    part: Part


Resting: TypeAlias = BetweenRounds | Left | Done | Stopped
"""Where a party stands that has no secret of a round."""


class _Rest(IntEnum):
    WAITING = 1
    LEFT = 2
    DONE = 3
    STOPPED = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptInput(Guarded):
    """A `RoundInput` in bytes; blinding and commitment may be empty.

    Where vectors are proved row by row both have as many items as the vector has rows.
    """

    logical: int
    values: Sequence[int]
    blinding: bytes
    commitment: bytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PartyMemory(Guarded):
    """The memory of one generation. `secret` is the round secret (12-R1).

    `own_leaf` is that of the last entry this party made, `spoken` are rounds in which its
    key has said what this memory knows nothing of (12-R4), `last` the last round that ended.
    """

    version: int
    secret: bytes
    author: bytes
    chain: Chain
    tally: AttemptCount
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
    result: ResultMessage | None
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
        outcome if isinstance(outcome, ResultMessage) else None,
        outcome if isinstance(outcome, Abort) else None,
    )


_LEAF: Final = fixed(32)
_MOST_ROWS: Final = 2**20
_PART: Final = converted(
    enumeration(_Part, u8), lambda found: Part[found.name], lambda part: _Part[part.name]
)
CHAIN: Final = record(
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
    AttemptCount, logical=u16, attempts=u16, releases=u16, decided=boolean, excused=boolean
)
_WAITING: Final[RecordCodec[BetweenRounds]] = record(BetweenRounds)
_DONE: Final[RecordCodec[Done]] = record(Done)
_RESTING: Final[Codec[Resting]] = select(
    "Resting",
    enumeration(_Rest, u8),
    Case(_Rest.WAITING, _WAITING),
    Case(_Rest.LEFT, record(Left, leaf=_LEAF, logical=u16, attempt=u16, part=_PART)),
    Case(_Rest.DONE, _DONE),
    Case(_Rest.STOPPED, record(Stopped, error=FAILURE)),
)
_INPUT: Final = record(
    KeptInput,
    logical=u16,
    values=VALUES,
    blinding=opaque(0, _MOST_ROWS),
    commitment=opaque(0, _MOST_ROWS),
)
LAST: Final = converted(
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

MEMORY: Final[Codec[PartyMemory]] = record(
    PartyMemory,
    version=u16,
    secret=fixed(32),
    author=fixed(32),
    chain=CHAIN,
    tally=_TALLY,
    stage=_RESTING,
    inputs=Run(_INPUT, 2**31),
    final_seen=boolean,
    listed=boolean,
    own_leaf=_LEAF,
    seen_size=u64,
    seen_root=_LEAF,
    spoken=vector(u16, 0, 65_535),
    last=optional(LAST),
)


@dataclass(frozen=True, slots=True)
class RestoreContext:
    """What a state is restored with, besides a memory."""

    manifest: Manifest
    id: bytes
    group: Group

    def context(self, number: int) -> RoundContext:
        return RoundContext(self.manifest, self.id, number, self.group)


def rests(stage: Stage) -> bool:
    """Whether a party in this stage has no secret of a round."""
    return isinstance(stage, BetweenRounds | Outside | Done | Stopped)


def memory_of(  # noqa: PLR0913 - everything besides the state
    state: PartyState,
    terms: Terms,
    *,
    author: bytes,
    secret: SecretBytes,
    spoken: frozenset[int] = frozenset(),
    last: Finished | None = None,
) -> PartyMemory:
    """Make the memory of a state that rests; inputs that no round can ask for are left out.

    Raises `UsageError` in the middle of a round.
    """
    usable = _usable(state, terms)
    return PartyMemory(
        version=VERSION,
        secret=secret.reveal(),
        author=author,
        chain=state.chain,
        tally=state.tally,
        stage=_resting(state.stage),
        inputs=tuple(_kept(given) for given in state.inputs if usable(given)),
        final_seen=state.final_seen,
        listed=state.listed,
        own_leaf=state.own_leaf,
        seen_size=state.seen_size,
        seen_root=state.seen_root,
        spoken=tuple(sorted(each for each in spoken if each >= state.chain.round)),
        last=last,
    )


def state_of(memory: PartyMemory, session: RestoreContext) -> PartyState:
    """The state that a memory was made of; raises `MalformedMessage` if it cannot be one."""
    return PartyState(
        chain=memory.chain,
        stage=_stage(memory, session),
        tally=memory.tally,
        inputs=tuple(_given(kept, session) for kept in memory.inputs),
        final_seen=memory.final_seen,
        listed=memory.listed,
        own_leaf=memory.own_leaf,
        seen_size=memory.seen_size,
        seen_root=memory.seen_root,
    )


def _usable(state: PartyState, terms: Terms) -> Callable[[RoundInput], bool]:
    """Whether a round that is open or may come asks for this input."""
    if isinstance(state.stage, Done | Stopped):
        return lambda _: False
    coming = next_round(state.tally, terms)
    if isinstance(state.stage, Outside):
        coming = state.tally.logical, 0
    first = terms.rounds if coming is None else coming[0]
    return lambda given: given.logical >= first


def _resting(stage: Stage) -> Resting:
    if isinstance(stage, Outside):
        opened = stage.opened
        return Left(opened.leaf, opened.logical, opened.attempt, stage.part)
    if isinstance(stage, BetweenRounds | Done | Stopped):
        return stage
    raise UsageError("a party in the middle of a round is not written down", "stage")


def _stage(memory: PartyMemory, session: RestoreContext) -> Stage:
    stage = memory.stage
    if not isinstance(stage, Left):
        return stage
    if not memory.chain.round:
        raise MalformedMessage("a round is left that never opened", "stage")
    context = session.context(memory.chain.round)
    return Outside(RoundOpened(context, stage.leaf, stage.logical, stage.attempt), stage.part)


def _kept(given: RoundInput) -> KeptInput:
    return KeptInput(given.logical, given.values, given.blindings, given.commitment)


def _given(kept: KeptInput, session: RestoreContext) -> RoundInput:
    context = session.context(1)
    proved = context.proved
    if (bool(kept.blinding), bool(kept.commitment)) != (proved, proved):
        raise MalformedMessage("an input is committed to exactly in full mode", "inputs")
    if not proved:
        return RoundInput(kept.logical, kept.values)
    if context.in_rows:
        given = RoundInput(kept.logical, kept.values)
        return kept_input(context, kept.blinding, kept.commitment, given)
    blinding = session.group.decode_scalars(kept.blinding, 1).secret()[0]
    values = session.group.secret_scalars(kept.values)
    return RoundInput(
        kept.logical, kept.values, opening_of(context.key, values, blinding), kept.commitment
    )
