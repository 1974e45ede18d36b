"""Key files: what seals vaults and identities without a passphrase ([H6]).

One line: the name of the format, a space, and 64 hexadecimal digits.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from bulletin_board.storage.directory import read_secret, write_secret
from gopa.sessions.vault.errors import VaultDamaged
from gopa.sessions.vault.private_files import PrivateFiles
from gopa.sessions.vault.protection import SealingKey
from gopa.sessions.vault.secret_box import KEY_SIZE
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

_NAME: Final = b"gopa-sealing-key-1 "
_LINE: Final = re.compile(re.escape(_NAME) + rb"([0-9a-f]{64})\n")


def create(path: Path, *, rng: Rng) -> SealingKey:
    """A new key file that only its owner can read; `UsageError` if it exists."""
    data = draw(rng, KEY_SIZE)
    write_secret(path, SecretBytes(_NAME + data.hex().encode() + b"\n"))
    PrivateFiles().sync_directory(path.parent)
    return SealingKey(SecretBytes(data))


def load(path: Path) -> SealingKey:
    """The key in a key file.

    Raises:
        UsageError: the file is missing, or others can read it.
        VaultDamaged: it is no key file.
    """
    found = _LINE.fullmatch(read_secret(path).reveal())
    if found is None:
        raise VaultDamaged(f"{path} is no key file for sealing")
    return SealingKey(SecretBytes(bytes.fromhex(found[1].decode())))
