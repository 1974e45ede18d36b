"""The chance of a party's steps, from what it was told and a secret of the round ([R1])."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from gopa.version import VERSION
from wire.domains import SESSION_CHANCE
from wire.errors import UsageError
from wire.secret import Guarded, SecretBytes

START: Final = bytes(32)
"""The chain of a journal without records."""

_FIRST: Final = 1024


def extend(chain: bytes, event: Iterable[bytes]) -> bytes:
    """The chain with one event more, given as the parts of its encoding."""
    hashed = hashlib.sha256(chain)
    for part in event:
        hashed.update(part)
    return hashed.digest()


class Chance(Guarded):
    """An `Rng` that answers only during a step, each step from a stream of its own."""

    __slots__ = ("_read", "_seed", "_stream")

    def __init__(self) -> None:
        self._seed: bytes | None = None
        self._stream = b""
        self._read = 0

    def begin(self, secret: SecretBytes, chain: bytes) -> None:
        """The step that takes the last event of this chain begins."""
        version = VERSION.encode()
        self._seed = SESSION_CHANCE + secret.reveal() + bytes([len(version)]) + version + chain
        self._stream, self._read = b"", 0

    def end(self) -> None:
        """The step is over: what it read is forgotten."""
        self._seed, self._stream, self._read = None, b"", 0

    def __call__(self, count: int) -> bytes:
        """The next bytes of the stream."""
        if self._seed is None:
            raise UsageError("chance is there for a step, and not between steps")
        end = self._read + count
        if end > len(self._stream):
            size = max(_FIRST, 2 * end)
            self._stream = hashlib.shake_256(self._seed).digest(size)
        found = self._stream[self._read : end]
        self._read = end
        return found
