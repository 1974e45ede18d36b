"""Keeps what a party or an organiser needs between runs. `specs/12-sessions.md`, section 1."""

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
