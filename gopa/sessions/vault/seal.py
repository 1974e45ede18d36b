"""The file `seal` of a vault: its id, and how its records are sealed ([H6])."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gopa.sessions.vault.errors import VaultDamaged
from gopa.sessions.vault.frames import ID_SIZE, Boxed, Checksummed, Sealing
from gopa.sessions.vault.private_files import PrivateFiles, write_new
from gopa.sessions.vault.protection import (
    PROTECTION,
    Protection,
    Purpose,
    Secret,
    Unsealed,
    protect,
    unprotect,
)
from gopa.sessions.vault.secret_box import KEY_SIZE, SecretBox
from wire.codec import Codec, fixed, record, u16
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Seal:
    """Version 1 of everything in the vault. Unsealed, it protects no key."""

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
    """A new vault's seal, durably: after a crash it is there or not."""
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
        VaultDamaged: the file is not a seal.
    """
    try:
        seal = SEAL.decode(path.read_bytes())
    except MalformedMessage as error:
        raise VaultDamaged(f"{path} is no seal of a vault: {error}") from None
    key = unprotect(seal.protection, Purpose.VAULT, secret, path)
    return seal.vault, Boxed(SecretBox(key), rng) if len(key) else Checksummed()
