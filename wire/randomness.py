"""A source of randomness, which is always an argument, and draws from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from wire.errors import UsageError

Rng: TypeAlias = Callable[[int], bytes]
"""`rng(n)` returns n bytes nobody else can predict, for example `os.urandom`.

Library code never reaches for the operating system's generator itself; the
outermost API passes it in. Tests and simulations pass a seeded one.
"""


def draw(rng: Rng, n: int) -> bytes:
    """Exactly n bytes from `rng`.

    A source that answers with fewer bytes, or with something else, would
    silently weaken a key or a nonce; it raises `UsageError` instead.
    """
    data = rng(n)
    if type(data) is not bytes or len(data) != n:
        raise UsageError(f"the random source must return exactly {n} bytes when asked for {n}")
    return data
