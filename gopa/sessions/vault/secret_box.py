"""XSalsa20-Poly1305 and Argon2id, on PyNaCl. The only module that imports it, and late."""

from __future__ import annotations

from typing import Final

from wire.errors import BackendError
from wire.secret import Guarded, SecretBytes

KEY_SIZE: Final = 32
NONCE_SIZE: Final = 24
SALT_SIZE: Final = 16
OVERHEAD: Final = NONCE_SIZE + 16
PASSES: Final = 3
MEMORY: Final = 64 * 2**20
_EXTRA: Final = "sealing needs PyNaCl: pip install 'gopa[session]'"


class NotForThisKey(Exception):
    """The box was not made with this key, or was changed."""


class SecretBox(Guarded):
    """Authenticated encryption under one key.

    Raises:
        BackendError: the extra `gopa[session]` is not installed.
    """

    __slots__ = ("_box",)

    def __init__(self, key: SecretBytes) -> None:
        try:
            from nacl.secret import SecretBox as Box
        except ImportError as error:
            raise BackendError(_EXTRA) from error
        self._box = Box(key.reveal())

    def encrypt(self, content: bytes, nonce: bytes) -> bytes:
        """The nonce, which is used once, and the box."""
        return bytes(self._box.encrypt(content, nonce))

    def decrypt(self, boxed: bytes) -> bytes:
        """What is inside; raises `NotForThisKey`."""
        from nacl.exceptions import CryptoError

        if len(boxed) < OVERHEAD:
            raise NotForThisKey
        try:
            return self._box.decrypt(boxed)
        except CryptoError:
            raise NotForThisKey from None


def stretch(passphrase: SecretBytes, salt: bytes) -> SecretBytes:
    """The key that Argon2id makes of a passphrase: 64 MiB, 3 passes ([H6]).

    Raises:
        BackendError: the extra `gopa[session]` is not installed.
    """
    try:
        from nacl.pwhash import argon2id
    except ImportError as error:
        raise BackendError(_EXTRA) from error
    made = argon2id.kdf(KEY_SIZE, passphrase.reveal(), salt, opslimit=PASSES, memlimit=MEMORY)
    return SecretBytes(made)
