"""Derives reproducible randomness for simulations. Whoever knows the seed knows every secret."""

from __future__ import annotations

import hashlib

from wire.domains import SIMULATED_STREAMS
from wire.randomness import Rng


class SeededStreams:
    """Derives independent streams from one seed, one for each name."""

    __slots__ = ("_seed",)

    def __init__(self, seed: bytes) -> None:
        self._seed = seed

    def named(self, name: str) -> Rng:
        """Bytes that depend on the seed, the name, and how often this stream was asked."""
        prefix = SIMULATED_STREAMS + hashlib.sha256(self._seed).digest() + name.encode()
        asked = 0

        def draw(count: int) -> bytes:
            nonlocal asked
            asked += 1
            return hashlib.shake_128(prefix + b"/" + asked.to_bytes(8)).digest(count)

        return draw
