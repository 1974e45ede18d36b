"""Reproducible randomness for tests. Never use it outside of tests."""

from __future__ import annotations

import hashlib

from wire.randomness import Rng


def seeded(seed: int | str) -> Rng:
    """Bytes that depend on the seed and on how often was asked."""
    asked = 0

    def draw(count: int) -> bytes:
        nonlocal asked
        asked += 1
        return hashlib.shake_256(f"gopa tests/{seed}/{asked}".encode()).digest(count)

    return draw
