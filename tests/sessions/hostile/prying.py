"""Finding secrets in objects, and secrets in texts."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from gopa.protocol.party.states import RoundInput
from gopa.rounds.masks import SharedPoint
from wire.secret import SecretBytes

_SHORTEST = 6


@dataclass(frozen=True)
class Known:
    """A secret and what it is."""

    name: str
    data: bytes

    def spellings(self) -> Iterator[bytes]:
        """However a careless program may write it."""
        yield self.data
        yield self.data[::-1]
        for data in (self.data, self.data[::-1]):
            yield data.hex().encode()
            yield data.hex().upper().encode()
            yield base64.b64encode(data).rstrip(b"=")[:-1]
            yield repr(data)[2:-1].encode()
            yield str(int.from_bytes(data)).encode()


def secrets_of(thing: object, name: str = "") -> Iterator[Known]:  # noqa: C901 - one case for each kind
    """All secrets that can be reached from an object, by the path that leads there."""
    if isinstance(thing, SecretBytes):
        yield Known(name, thing.reveal())
    elif isinstance(thing, SharedPoint):
        yield Known(name, thing._point.to_bytes())
    elif isinstance(thing, RoundInput):
        yield Known(f"{name}.values", repr(thing.values).encode())
        yield from secrets_of(thing.opening, f"{name}.opening")
    elif is_dataclass(thing) and not isinstance(thing, type):
        for each in fields(thing):
            yield from secrets_of(getattr(thing, each.name), f"{name}.{each.name}")
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from secrets_of(value, f"{name}[{key if isinstance(key, int) else '..'}]")
    elif isinstance(thing, tuple | list):
        for number, value in enumerate(thing):
            yield from secrets_of(value, f"{name}[{number}]")
    elif "Secret" in type(thing).__name__ and callable(getattr(thing, "reveal", None)):
        yield from _scalars(thing, name)


def _scalars(thing: object, name: str) -> Iterator[Known]:
    """Of a scalar or a vector of them: each by itself, as 32 bytes."""
    shown: Any = thing.reveal()  # type: ignore[attr-defined]
    for number, scalar in enumerate(shown if hasattr(shown, "__len__") else [shown]):
        yield Known(f"{name}({number})", int(scalar).to_bytes(32, "little"))


def found_in(text: bytes, secrets: Mapping[bytes, str]) -> set[str]:
    """The names of those that stand there in one of their spellings."""
    return {
        name
        for data, name in secrets.items()
        for spelling in Known(name, data).spellings()
        if len(spelling) >= _SHORTEST and spelling in text
    }
