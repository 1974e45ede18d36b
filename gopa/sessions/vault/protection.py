"""Protects a key at rest: by nothing, a passphrase, or a key file (12-H6).

Boxes are XSalsa20-Poly1305 and passphrases go through Argon2id, both from PyNaCl. This is the
only module that imports it.

A key file seals vaults and identities without a passphrase. One line: the name of the format, a
space, and 64 hexadecimal digits.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final, TypeAlias

from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import SecretBox as NaclBox

from bulletin_board.storage.directory import read_secret, write_secret
from gopa.sessions.vault.interface import VaultDamaged, WrongSecret
from gopa.sessions.vault.private_files import PrivateFiles
from wire.codec import Case, Codec, enumeration, fixed, opaque, record, select, u8
from wire.domains import BOX_NONCE
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import Guarded, SecretBytes

KEY_SIZE: Final = 32
NONCE_SIZE: Final = 24
SALT_SIZE: Final = 16
OVERHEAD: Final = NONCE_SIZE + 16
PASSES: Final = 3
MEMORY: Final = 64 * 2**20


class NotForThisKey(Exception):
    """A box that was not made with this key, or was changed."""


class SecretBox(Guarded):
    """Encryption and authentication under one key."""

    __slots__ = ("_box", "_key")

    def __init__(self, key: SecretBytes) -> None:
        self._key = key
        self._box = NaclBox(key.reveal())

    def seal(self, content: bytes, rng: Rng) -> bytes:
        """A nonce and the box. Equal nonces of two contents would show how they differ.

        So the nonce follows from key, content and fresh bytes: a generator that repeats gives
        the same one for the same content only.
        """
        given = BOX_NONCE + draw(rng, NONCE_SIZE) + content
        nonce = hmac.digest(self._key.reveal(), given, "sha256")[:NONCE_SIZE]
        return self.encrypt(content, nonce)

    def encrypt(self, content: bytes, nonce: bytes) -> bytes:
        """The nonce, which is used once, and the box."""
        return bytes(self._box.encrypt(content, nonce))

    def decrypt(self, boxed: bytes) -> bytes:
        """What is inside; raises `NotForThisKey`."""
        if len(boxed) < OVERHEAD:
            raise NotForThisKey
        try:
            return self._box.decrypt(boxed)
        except CryptoError:
            raise NotForThisKey from None


def stretch(passphrase: SecretBytes, salt: bytes) -> SecretBytes:
    """The key that Argon2id makes of a passphrase: 64 MiB, 3 passes (12-H6)."""
    made = argon2id.kdf(KEY_SIZE, passphrase.reveal(), salt, opslimit=PASSES, memlimit=MEMORY)
    return SecretBytes(made)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Passphrase(Guarded):
    """A passphrase, which a person remembers."""

    text: SecretBytes

    def __post_init__(self) -> None:
        if not len(self.text):
            raise UsageError("a passphrase is not empty", "passphrase")

    @classmethod
    def of(cls, text: str) -> Passphrase:
        """The passphrase of a text, the same for all ways in which keyboards compose a letter."""
        return cls(SecretBytes(unicodedata.normalize("NFC", text).encode()))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SealingKey(Guarded):
    """The 32 random bytes of a key file."""

    data: SecretBytes

    def __post_init__(self) -> None:
        if len(self.data) != KEY_SIZE:
            raise UsageError(f"a key for sealing has {KEY_SIZE} bytes", "key")


Secret: TypeAlias = Passphrase | SealingKey


class Purpose(IntEnum):
    """What is protected: a key of one kind does not pass for one of the other."""

    VAULT = 1
    IDENTITY = 2


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Unsealed(Guarded):
    """A key in the open, for whoever can read the file; empty where there is none."""

    content: bytes


@dataclass(frozen=True, slots=True)
class ByPassphrase:
    """A key in a box, under the key that Argon2id makes of passphrase and salt."""

    salt: bytes
    box: bytes


@dataclass(frozen=True, slots=True)
class ByKey:
    """A key in a box, under the key of a key file."""

    box: bytes


Protection: TypeAlias = Unsealed | ByPassphrase | ByKey


class _Tag(IntEnum):
    UNSEALED = 0
    PASSPHRASE = 1
    KEY = 2


_BOX: Final = fixed(OVERHEAD + 1 + KEY_SIZE)
PROTECTION: Final[Codec[Protection]] = select(
    "Protection",
    enumeration(_Tag, u8),
    Case(_Tag.UNSEALED, record(Unsealed, content=opaque(0, KEY_SIZE))),
    Case(_Tag.PASSPHRASE, record(ByPassphrase, salt=fixed(SALT_SIZE), box=_BOX)),
    Case(_Tag.KEY, record(ByKey, box=_BOX)),
)


def protect(content: SecretBytes, purpose: Purpose, secret: Secret, rng: Rng) -> Protection:
    """Seal a key of 32 bytes."""
    plain = bytes([purpose]) + content.reveal()
    if isinstance(secret, SealingKey):
        return ByKey(SecretBox(secret.data).seal(plain, rng))
    salt = draw(rng, SALT_SIZE)
    return ByPassphrase(salt, SecretBox(stretch(secret.text, salt)).seal(plain, rng))


def unprotect(
    found: Protection, purpose: Purpose, secret: Secret | None, path: Path
) -> SecretBytes:
    """Open what was protected; errors name `path`, where it stands.

    Raises:
        WrongSecret: something else is needed than was given, or it does not open this.
    """
    if isinstance(found, Unsealed):
        if secret is not None:
            # Whoever can write here could have put an open file in the place of a sealed one.
            raise WrongSecret(f"{path} is not sealed: use it without a passphrase or a key file")
        return SecretBytes(found.content)
    if isinstance(found, ByPassphrase):
        if not isinstance(secret, Passphrase):
            raise WrongSecret(f"{path} is sealed with a passphrase: give it")
        key = stretch(secret.text, found.salt)
        return _unboxed(found.box, purpose, key, f"the passphrase for {path}")
    if not isinstance(secret, SealingKey):
        raise WrongSecret(f"{path} is sealed with a key file: name it")
    return _unboxed(found.box, purpose, secret.data, f"the key file for {path}")


def _unboxed(box: bytes, purpose: Purpose, key: SecretBytes, what: str) -> SecretBytes:
    try:
        plain = SecretBox(key).decrypt(box)
    except NotForThisKey:
        raise WrongSecret(f"{what} is not the one that it was sealed with") from None
    if plain[0] != purpose:
        raise WrongSecret(f"{what} seals something else there")
    return SecretBytes(plain[1:])


_NAME: Final = b"gopa-sealing-key-1 "
_LINE: Final = re.compile(re.escape(_NAME) + rb"([0-9a-f]{64})\n")


def create(path: Path, *, rng: Rng) -> SealingKey:
    """Make a new key file that only its owner can read; `UsageError` if it exists."""
    data = draw(rng, KEY_SIZE)
    write_secret(path, SecretBytes(_NAME + data.hex().encode() + b"\n"))
    PrivateFiles().sync_directory(path.parent)
    return SealingKey(SecretBytes(data))


def load(path: Path) -> SealingKey:
    """Read the key in a key file.

    Raises:
        UsageError: the file is missing, or others can read it.
        VaultDamaged: it is no key file.
    """
    found = _LINE.fullmatch(read_secret(path).reveal())
    if found is None:
        raise VaultDamaged(f"{path} is no key file for sealing")
    return SealingKey(SecretBytes(bytes.fromhex(found[1].decode())))
