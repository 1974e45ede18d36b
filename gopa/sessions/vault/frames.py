"""Writes a record into a file, sealed or with a checksum, and binds it to its place (12-H4, 12-H6).

    frame = length (4 bytes) | check (4 bytes) | payload
    plain:  payload = content | SHA-256(label | place | content)
    sealed: payload = nonce (24 bytes) | XSalsa20-Poly1305(place | content)

The check is the beginning of SHA-256 of label, place and length: a damaged length is told
from a frame that was cut off.

The file `seal` of a vault holds its id and how its records are sealed (12-H6).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final, Protocol

from gopa.sessions.vault.interface import StateDiverged, VaultDamaged
from gopa.sessions.vault.private_files import PrivateFiles, write_new
from gopa.sessions.vault.protection import (
    KEY_SIZE,
    PROTECTION,
    NotForThisKey,
    Protection,
    Purpose,
    Secret,
    SecretBox,
    Unsealed,
    protect,
    unprotect,
)
from wire.codec import Codec, enumeration, fixed, record, u8, u16, u64
from wire.domains import VAULT_RECORD
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes

_LENGTH: Final = 4
_CHECK: Final = 4
_DIGEST: Final = 32
HEADER_SIZE: Final = _LENGTH + _CHECK
ID_SIZE: Final = 16
_VERSION_SIZE: Final = 2
_ZEROS: Final = bytes(8)


class File(IntEnum):
    """The files of a vault that are made of frames."""

    CURRENT = 1
    MEMORY = 2
    JOURNAL = 3


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a record belongs: vault, file, generation and number in the file."""

    vault: bytes
    file: File
    generation: int
    number: int


PLACE: Final[Codec[RecordPlace]] = record(
    RecordPlace, vault=fixed(ID_SIZE), file=enumeration(File, u8), generation=u64, number=u64
)


class Sealing(Protocol):
    """The sealing of payloads, which open in their place only."""

    def seal(self, place: bytes, content: bytes) -> bytes: ...
    def open(self, place: bytes, payload: bytes) -> bytes | None:
        """None if the payload is damaged or belongs elsewhere."""


class Checksummed:
    """A hash on payloads: damage and moves show, and whoever has the file can read it."""

    def seal(self, place: bytes, content: bytes) -> bytes:
        return content + _digest(place, content)

    def open(self, place: bytes, payload: bytes) -> bytes | None:
        content = payload[:-_DIGEST]
        return content if payload[-_DIGEST:] == _digest(place, content) else None


class Boxed(Guarded):
    """Payloads encrypted under the key of the vault."""

    __slots__ = ("_box", "_rng")

    def __init__(self, box: SecretBox, rng: Rng) -> None:
        self._box = box
        self._rng = rng

    def seal(self, place: bytes, content: bytes) -> bytes:
        return self._box.seal(place + content, self._rng)

    def open(self, place: bytes, payload: bytes) -> bytes | None:
        try:
            plain = self._box.decrypt(payload)
        except NotForThisKey:
            return None
        return plain[len(place) :] if plain.startswith(place) else None


def frame(sealing: Sealing, place: RecordPlace, content: bytes) -> bytes:
    """Make the frame of a record, which opens in this place only."""
    encoded = PLACE.encode(place)
    payload = sealing.seal(encoded, content)
    if len(payload) >= 1 << (8 * _LENGTH):
        raise UsageError("a record of 4 GiB does not fit into a vault", "record")
    length = len(payload).to_bytes(_LENGTH)
    return length + _check(encoded, length) + payload


def only_record(sealing: Sealing, place: RecordPlace, data: bytes) -> bytes:
    """The content of a file that is one frame; raises `VaultDamaged`."""
    found = list(records(sealing, place, data))
    if len(found) != 1 or found[0].end != len(data):
        raise _damaged(place)
    return found[0].content


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FoundRecord(Guarded):
    """A record, and where its frame ends in the file."""

    content: bytes
    end: int


def records(sealing: Sealing, first: RecordPlace, data: bytes) -> Iterator[FoundRecord]:
    """The records of a file in order, up to a frame that a crash has left unfinished.

    A frame is unfinished if the file ends before it does, or, as file systems leave it that
    extend a file before they fill it, if it is the last one and ends in zeros, which no frame
    does. Raises `VaultDamaged` for any other that does not open.
    """
    at, number = 0, first.number
    while at < len(data):
        place = RecordPlace(first.vault, first.file, first.generation, number)
        found = _record(sealing, place, data, at)
        if found is None:
            return
        yield found
        at, number = found.end, number + 1


def _record(sealing: Sealing, place: RecordPlace, data: bytes, at: int) -> FoundRecord | None:
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
        return FoundRecord(content, end)
    if end == len(data) and payload.endswith(_ZEROS):
        return None
    raise _damaged(place)


def _digest(place: bytes, content: bytes) -> bytes:
    return hashlib.sha256(VAULT_RECORD + place + content).digest()


def _check(place: bytes, length: bytes) -> bytes:
    return hashlib.sha256(VAULT_RECORD + place + length).digest()[:_CHECK]


def _damaged(place: RecordPlace) -> VaultDamaged:
    where = f"record {place.number} of {place.file.name.lower()} {place.generation}"
    return VaultDamaged(f"{where} was changed or moved: put back a copy of the vault")


VERSION: Final = 2
"""With version 1 `current` held no mark (12-H8): vaults of it are refused by name."""


@dataclass(frozen=True, slots=True)
class Seal:
    """The id and the protected key of a vault, and the version of all that is in it."""

    version: int
    vault: bytes
    protection: Protection

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise UsageError(f"only version {VERSION} is known", "version")
        if isinstance(self.protection, Unsealed) and self.protection.content:
            raise UsageError("a vault that is not sealed has no key", "protection")


SEAL: Final[Codec[Seal]] = record(Seal, version=u16, vault=fixed(ID_SIZE), protection=PROTECTION)


def make_seal(files: PrivateFiles, path: Path, secret: Secret | None, rng: Rng) -> None:
    """Write a new vault's seal durably: after a crash it is there as a whole or not at all."""
    protection: Protection = Unsealed(b"")
    if secret is not None:
        key = SecretBytes(draw(rng, KEY_SIZE))
        protection = protect(key, Purpose.VAULT, secret, rng)
    data = SEAL.encode(Seal(VERSION, draw(rng, ID_SIZE), protection))
    scratch = path.with_name(f"{path.name}.new")
    if scratch.exists():
        files.unlink(scratch)
    write_new(files, scratch, data)
    files.rename(scratch, path)
    files.sync_directory(path.parent)


def read_seal(path: Path, secret: Secret | None, rng: Rng) -> tuple[bytes, Sealing]:
    """The vault's id, and what opens its records.

    Raises:
        WrongSecret: it is sealed with something else.
        StateDiverged: it is that of another version of the library.
        VaultDamaged: the file is not a seal.
    """
    data = path.read_bytes()
    _refuse_other_versions(data, path)
    try:
        seal = SEAL.decode(data)
    except MalformedMessage as error:
        raise VaultDamaged(f"{path} is no seal of a vault: {error}") from None
    key = unprotect(seal.protection, Purpose.VAULT, secret, path)
    return seal.vault, Boxed(SecretBox(key), rng) if len(key) else Checksummed()


def _refuse_other_versions(data: bytes, path: Path) -> None:
    found = int.from_bytes(data[:_VERSION_SIZE])
    if len(data) > _VERSION_SIZE and found in range(1, VERSION):
        raise StateDiverged(
            f"{path} is of version {found} of vaults, and this library reads version {VERSION}: go"
            " on with the version of the library that made it, or with the next session"
        )
