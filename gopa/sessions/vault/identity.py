"""Files with the signing key of a party or an organiser (12-H2, 12-H6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bulletin_board.storage.directory import read_secret, write_secret
from gopa.sessions.vault.interface import VaultDamaged
from gopa.sessions.vault.private_files import PrivateFiles
from gopa.sessions.vault.protection import (
    PROTECTION,
    Protection,
    Purpose,
    Secret,
    Unsealed,
    protect,
    unprotect,
)
from wire.codec import Codec, fixed, record
from wire.ed25519 import PUBLIC_KEY, SEED_SIZE, PublicKey, SigningKey
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

_LONGEST_LINE: Final = 512
_PUBLIC_HALF: Final = re.compile(rb"[0-9a-f]{64}[ \t]*(#|\r?\n|\Z)")
_FORMAT: Final = b"gopa-identity-1\n"


@dataclass(frozen=True, slots=True)
class _Identity:
    """The public key is in the open, so that it can be shown without a passphrase."""

    format: bytes
    public: PublicKey
    protection: Protection

    def __post_init__(self) -> None:
        if self.format != _FORMAT:
            raise UsageError("not an identity, or one of another version", "format")
        if isinstance(self.protection, Unsealed) and len(self.protection.content) != SEED_SIZE:
            raise UsageError(f"a signing key has {SEED_SIZE} bytes", "protection")


_IDENTITY: Final[Codec[_Identity]] = record(
    _Identity, format=fixed(len(_FORMAT)), public=PUBLIC_KEY, protection=PROTECTION
)


def create(path: Path, *, rng: Rng, secret: Secret | None = None) -> SigningKey:
    """Make a new signing key in a new file that only its owner can read.

    Raises:
        UsageError: the file exists; nothing is ever written over.
    """
    seed = SecretBytes(draw(rng, SEED_SIZE))
    key = SigningKey(seed)
    protection: Protection = Unsealed(seed.reveal())
    if secret is not None:
        protection = protect(seed, Purpose.IDENTITY, secret, rng)
    data = _IDENTITY.encode(_Identity(_FORMAT, key.public, protection))
    _write(path, data)
    return key


def copy(source: Path, path: Path) -> None:
    """Put a signing key into a new file, too, sealed as the first one is; raises as `create`."""
    data = read_secret(source)
    _decoded(data, source)
    _write(path, data.reveal())


def _write(path: Path, data: bytes) -> None:
    try:
        write_secret(path, SecretBytes(data))
        PrivateFiles().sync_directory(path.parent)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "path") from None


def load(path: Path, secret: Secret | None = None) -> SigningKey:
    """Read the signing key in a file.

    Raises:
        UsageError: the file is missing, or others can read it.
        VaultDamaged: it is no identity, or its keys do not belong together.
        WrongSecret: it is sealed with something else, or sealed only one of the two says.
    """
    found = _read(path)
    key = SigningKey(unprotect(found.protection, Purpose.IDENTITY, secret, path))
    if key.public != found.public:
        raise VaultDamaged(f"{path} names another public key than the one of its signing key")
    return key


def public_key(path: Path) -> PublicKey:
    """The public key that a file names, also where it is sealed; `load` checks that it fits."""
    return _read(path).public


def is_sealed(path: Path) -> bool:
    """Whether a passphrase or a key file is needed."""
    return not isinstance(_read(path).protection, Unsealed)


def _refuse_public_half(path: Path) -> None:
    """Refuse a file with a public key by name: `chmod` would not make it a secret one."""
    try:
        with path.open("rb") as file:
            begins = file.read(_LONGEST_LINE)
    except OSError:
        return
    if _PUBLIC_HALF.match(begins):
        beside = path.with_suffix("") if path.suffix == ".pub" else None
        name = f"name {beside}" if beside else "name the file that `gopa keygen` made beside it"
        raise UsageError(f"{path} is the public half of a key: {name}", "identity")


def _read(path: Path) -> _Identity:
    _refuse_public_half(path)
    return _decoded(read_secret(path), path)


def _decoded(data: SecretBytes, path: Path) -> _Identity:
    try:
        return _IDENTITY.decode(data.reveal())
    except MalformedMessage as error:
        raise VaultDamaged(f"{path} is no key as `gopa keygen` makes it ({error})") from None
