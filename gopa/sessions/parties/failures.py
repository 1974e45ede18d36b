"""Why a party stopped, as its memory keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from wire.codec import Codec, converted, enumeration, opaque, optional, record, u8, u32, u64, vector
from wire.errors import (
    FaultyBoard,
    FaultyParty,
    InvalidProof,
    InvalidSignature,
    MalformedMessage,
    ProtocolError,
    SuspectedPartyOrBoard,
    Unattributed,
)


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
