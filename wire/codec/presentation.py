"""The text of a message format, as specifications print it."""

from __future__ import annotations

from typing import Any

from wire.codec.base import Codec
from wire.errors import UsageError


def describe(codec: Codec[Any]) -> str:
    """Every named type in `codec`, innermost first, in the notation of `specs/00-wire.md`.

    Specifications quote this text and a test compares the two, so neither can
    drift. Two different types of one name raise `UsageError`.
    """
    seen: dict[str, str] = {}
    for name, text in codec.definitions():
        if seen.setdefault(name, text) != text:
            raise UsageError(f"two different types are called {name}")
    return "\n\n".join(seen.values())
