"""How a record stands in a file: sealed or with a checksum, bound to its place ([H4], [H6]).

    frame = length (4 bytes) | check (4 bytes) | payload
    plain:  payload = content | SHA-256(label | place | content)
    sealed: payload = nonce (24 bytes) | XSalsa20-Poly1305(place | content)

The check is the beginning of SHA-256 of label, place and length: a damaged length is told
from a frame that was cut off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

from gopa.sessions.vault.errors import VaultDamaged
from gopa.sessions.vault.secret_box import NONCE_SIZE, NotForThisKey, SecretBox
from wire.codec import Codec, enumeration, fixed, record, u8, u64
from wire.domains import VAULT_RECORD
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded

_LENGTH: Final = 4
_CHECK: Final = 4
_DIGEST: Final = 32
HEADER_SIZE: Final = _LENGTH + _CHECK
ID_SIZE: Final = 16
_ZEROS: Final = bytes(8)


class File(IntEnum):
    """The files of a vault that are made of frames."""

    CURRENT = 1
    MEMORY = 2
    JOURNAL = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record belongs: the vault, its file and generation, its number in the file."""

    vault: bytes
    file: File
    generation: int
    number: int


PLACE: Final[Codec[Place]] = record(
    Place, vault=fixed(ID_SIZE), file=enumeration(File, u8), generation=u64, number=u64
)


class Sealing(Protocol):
    """Makes payloads, and opens them in their place only."""

    def seal(self, place: bytes, content: bytes) -> bytes: ...
    def open(self, place: bytes, payload: bytes) -> bytes | None:
        """None if the payload is damaged or belongs elsewhere."""


class Checksummed:
    """Not sealed: what is damaged or was moved shows, and whoever can read it reads it."""

    def seal(self, place: bytes, content: bytes) -> bytes:
        return content + _digest(place, content)

    def open(self, place: bytes, payload: bytes) -> bytes | None:
        content = payload[:-_DIGEST]
        return content if payload[-_DIGEST:] == _digest(place, content) else None


class Boxed(Guarded):
    """Sealed under the key of the vault."""

    __slots__ = ("_box", "_rng")

    def __init__(self, box: SecretBox, rng: Rng) -> None:
        self._box = box
        self._rng = rng

    def seal(self, place: bytes, content: bytes) -> bytes:
        return self._box.encrypt(place + content, draw(self._rng, NONCE_SIZE))

    def open(self, place: bytes, payload: bytes) -> bytes | None:
        try:
            plain = self._box.decrypt(payload)
        except NotForThisKey:
            return None
        return plain[len(place) :] if plain.startswith(place) else None


def frame(sealing: Sealing, place: Place, content: bytes) -> bytes:
    """The frame of this record."""
    encoded = PLACE.encode(place)
    payload = sealing.seal(encoded, content)
    if len(payload) >= 1 << (8 * _LENGTH):
        raise UsageError("a record of 4 GiB does not fit into a vault", "record")
    length = len(payload).to_bytes(_LENGTH)
    return length + _check(encoded, length) + payload


def only_record(sealing: Sealing, place: Place, data: bytes) -> bytes:
    """The content of a file that is one frame; raises `VaultDamaged`."""
    found = list(records(sealing, place, data))
    if len(found) != 1 or found[0].end != len(data):
        raise _damaged(place)
    return found[0].content


@dataclass(frozen=True, slots=True, repr=False)
class Found(Guarded):
    """A record, and where its frame ends in the file."""

    content: bytes
    end: int


def records(sealing: Sealing, first: Place, data: bytes) -> Iterator[Found]:
    """The records of a file in order, up to a frame that a crash has left unfinished.

    A frame is unfinished if the file ends before it does, or, as file systems leave it that
    extend a file before they fill it, if it is the last one and ends in zeros, which no frame
    does. Raises `VaultDamaged` for any other that does not open.
    """
    at, number = 0, first.number
    while at < len(data):
        place = Place(first.vault, first.file, first.generation, number)
        found = _record(sealing, place, data, at)
        if found is None:
            return
        yield found
        at, number = found.end, number + 1


def _record(sealing: Sealing, place: Place, data: bytes, at: int) -> Found | None:
    """The record at this offset; None if it is unfinished."""
    header = data[at : at + HEADER_SIZE]
    if len(header) < HEADER_SIZE or not any(memoryview(data)[at:]):
        return None
    encoded, length = PLACE.encode(place), header[:_LENGTH]
    if header[_LENGTH:] != _check(encoded, length):
        raise _damaged(place)
    begin = at + HEADER_SIZE
    end = begin + int.from_bytes(length)
    if end > len(data):
        return None
    payload = data[begin:end]
    content = sealing.open(encoded, payload)
    if content is not None:
        return Found(content, end)
    if end == len(data) and payload.endswith(_ZEROS):
        return None
    raise _damaged(place)


def _digest(place: bytes, content: bytes) -> bytes:
    return hashlib.sha256(VAULT_RECORD + place + content).digest()


def _check(place: bytes, length: bytes) -> bytes:
    return hashlib.sha256(VAULT_RECORD + place + length).digest()[:_CHECK]


def _damaged(place: Place) -> VaultDamaged:
    where = f"record {place.number} of {place.file.name.lower()} {place.generation}"
    return VaultDamaged(f"{where} was changed or moved: put back a copy of the vault")
