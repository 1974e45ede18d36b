"""Vaults for tests."""

from __future__ import annotations

from pathlib import Path

from bulletin_board import KeyKind, NoteSigner, VerifierKey
from gopa.sessions.vault import DirectoryVault, Guard, Passphrase, SealingKey, Secret
from gopa.sessions.vault.private_files import PrivateFiles
from tests.randomness import seeded
from wire.secret import SecretBytes

LOG: VerifierKey = NoteSigner("log.test", KeyKind.LOG, SecretBytes(b"\x05" * 32)).verifier
KEY = SealingKey(SecretBytes(b"\x17" * 32))
OTHER_KEY = SealingKey(SecretBytes(b"\x18" * 32))
PASSPHRASE = Passphrase.of("correct horse battery staple")
OTHER_PASSPHRASE = Passphrase.of("Correct horse battery staple")
SECRETS: list[Secret | None] = [None, KEY]
SECRET_NAMES = ["plain", "sealed"]


def opened(
    path: Path,
    secret: Secret | None = None,
    files: PrivateFiles | None = None,
    guard: Guard | None = None,
) -> DirectoryVault:
    rng = seeded("vault")
    return DirectoryVault(path, LOG, rng=rng, secret=secret, guard=guard, files=files)
