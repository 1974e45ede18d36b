"""Reproducible inputs for benchmarks."""

from __future__ import annotations

import hashlib

from wire.randomness import Rng


def seeded(seed: int) -> Rng:
    """A generator whose bytes depend on the seed and on how much was asked before."""
    state = hashlib.shake_128(b"gopa bench" + seed.to_bytes(8, "big"))
    asked = 0

    def draw(count: int) -> bytes:
        nonlocal asked
        block = state.copy()
        block.update(asked.to_bytes(8, "big"))
        asked += 1
        return block.digest(count)

    return draw
