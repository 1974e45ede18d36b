"""Why a vault cannot be used. No message holds anything that the vault keeps."""

from __future__ import annotations

from wire.errors import GopaError


class VaultError(GopaError):
    """The vault cannot be used; what it holds is as it was."""


class VaultInUse(VaultError):
    """Another process uses the vault."""


class VaultExposed(VaultError):
    """Others than the owner can read or enter it. It is refused, not repaired ([H1])."""


class VaultDamaged(VaultError):
    """A file is missing, was changed, or belongs elsewhere ([H4], [H6])."""


class WrongSecret(VaultError):
    """Another passphrase or key file opens this, or none where one is needed, or the reverse."""


class VaultBroken(VaultError):
    """A write failed: what is on the disk is known only after the vault is opened again."""


class StateDiverged(VaultError):
    """The journal, told again, says something else than it did ([R3])."""
