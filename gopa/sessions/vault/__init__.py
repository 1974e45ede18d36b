"""What a party or an organiser keeps between runs, sealed on a disk or in memory.

Read `interface` (`Vault`, and one in memory), `directory` (files), `guard` (against old copies).

    >>> import os
    >>> from gopa.sessions.vault import MemoryVault
    >>> vault = MemoryVault()
    >>> vault.begin(b"what is known"); vault.append(b"a step")
    >>> vault.memory(), vault.journal()
    (b'what is known', (b'a step',))

Specification: `specs/12-sessions.md`, section 1.
"""

from gopa.sessions.vault.directory import DirectoryVault
from gopa.sessions.vault.guard import FileGuard, Guard, VaultOutdated, VaultUnmarked
from gopa.sessions.vault.interface import (
    MemoryVault,
    StateDiverged,
    Vault,
    VaultBroken,
    VaultDamaged,
    VaultError,
    VaultExposed,
    VaultInUse,
    WrongSecret,
)
from gopa.sessions.vault.protection import Passphrase, SealingKey, Secret

__all__ = [
    "DirectoryVault",
    "FileGuard",
    "Guard",
    "MemoryVault",
    "Passphrase",
    "SealingKey",
    "Secret",
    "StateDiverged",
    "Vault",
    "VaultBroken",
    "VaultDamaged",
    "VaultError",
    "VaultExposed",
    "VaultInUse",
    "VaultOutdated",
    "VaultUnmarked",
    "WrongSecret",
]
