"""Every codec of the tree, and encodings of real values to begin with."""

from __future__ import annotations

import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

import bulletin_board
import commitments
import gopa
import wire
import zkp
from bulletin_board.entry import ENTRY, SIGNED_ENTRY
from gopa.contract.bodies import BODIES
from tests.built_on import BUILT_ON_OTHERS
from tests.contract.samples import MESSAGES, ROW_MESSAGES
from tests.fuzzing.corpus import bodies, entries
from tests.fuzzing.samples import values
from wire.codec import Codec
from wire.errors import GopaError

_ROOTS: Final = (wire, commitments, zkp, bulletin_board, gopa)
_OPTIONAL: Final = ("gopa.executors.cluster",)
_MOST: Final = 24


@cache
def codecs() -> Mapping[str, Codec[Any]]:
    """By where they stand, such as `gopa.contract.party.JOIN`; each once."""
    found: dict[str, Codec[Any]] = {}
    known: set[int] = set()
    for name in sorted(_modules()):
        module = import_module(name)
        for attribute, value in vars(module).items():
            if isinstance(value, Codec) and id(value) not in known:
                known.add(id(value))
                found[f"{name}.{attribute}"] = value
    return found


@cache
def seeds() -> Mapping[str, Sequence[bytes]]:
    """Encodings that each codec gives to values of the transcripts, and to their parts."""
    found: dict[str, dict[bytes, None]] = defaultdict(dict)
    found_values = list(_values())
    for name, codec in codecs().items():
        for value in found_values:
            if len(found[name]) >= _MOST:
                break
            with suppress(GopaError, AttributeError, TypeError, LookupError):
                data = codec.encode(value)
                if codec.encode(codec.decode(data)) == data:
                    found[name][data] = None
    return {name: tuple(each) for name, each in found.items()}


def _values() -> Iterator[Any]:
    """Whatever stands in a message, from the whole down to single fields; then the samples."""
    for value in values():
        yield from _parts(value)
    for raw in entries()[:40]:
        signed = SIGNED_ENTRY.decode(raw)
        yield signed
        yield ENTRY.decode(raw[: -len(signed.signature)])
    for kind, some in bodies().items():
        for body in some[:6]:
            with suppress(GopaError):
                yield from _parts(BODIES[kind].decode(body))
    for _, message in (MESSAGES | ROW_MESSAGES).values():
        yield from _parts(message)


def _parts(value: Any) -> Iterator[Any]:
    yield value
    if is_dataclass(value):
        for each in fields(value):
            yield from _parts(getattr(value, each.name))
    elif isinstance(value, tuple):
        for item in value[:3]:
            yield from _parts(item)


def _modules() -> Iterator[str]:
    for root in _ROOTS:
        for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            if found.name.startswith(BUILT_ON_OTHERS):
                continue
            if found.name not in _OPTIONAL and "__main__" not in found.name:
                yield found.name
