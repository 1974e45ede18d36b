"""What clients and server send each other, none of it secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

from declearn.messaging import Message
from declearn.secagg.api import EncryptedSpecs, SecaggSetupQuery, SecureAggregate
from declearn.utils import Aggregate

_Aggregate = TypeVar("_Aggregate", bound=Aggregate)


@dataclass
class GopaSecaggSetupQuery(SecaggSetupQuery):
    """The question for clients' keys, with the way in which numbers become integers."""

    typekey = "gopa-secagg-setup-query"


@dataclass
class GopaSecaggSetupReply(Message):
    """Which Ed25519 key the client has."""

    typekey = "gopa-secagg-setup-reply"

    key: bytes


@dataclass
class GopaQuery(Message):
    """A request of the tunnel; `manifest` is that of a new session, or empty."""

    typekey = "gopa-secagg-query"

    manifest: bytes
    request: bytes


@dataclass
class GopaReply(Message):
    """A reply of the tunnel; `refusal` says why there is none."""

    typekey = "gopa-secagg-reply"

    reply: bytes
    refusal: str = ""


def title_of(clipval: float) -> str:
    """The title of sessions whose numbers are clipped there.

    All clients of a session read it in the manifest: else a server could tell the others such a
    large `clipval` that their numbers come to nothing, and keep those of one client.
    """
    return f"declearn, numbers up to {float(clipval)!r}"


class GopaAggregate(SecureAggregate[_Aggregate]):
    """Where the numbers of an `Aggregate` stand among those of the message: `encrypted`.

    The numbers themselves are not in it, nor anywhere in the message.
    """

    def __init__(
        self,
        encrypted: list[int],
        enc_specs: EncryptedSpecs,
        cleartext: dict[str, Any] | None,
        agg_cls: type[_Aggregate],
        n_aggrg: int = 1,
    ) -> None:
        super().__init__(encrypted, enc_specs, cleartext, agg_cls, n_aggrg)

    def aggregate_encrypted(self, val_a: list[int], val_b: list[int]) -> list[int]:
        """The place, which all messages of a round share; `ValueError` if they do not."""
        if val_a != val_b:
            raise ValueError("clients have put their numbers in different places")
        return val_a


def outline(content: object) -> tuple[object, int]:
    """Where a message has its numbers, comparable, and how many there are.

    Messages of one round have equal outlines; the values of clear fields are not part of them.
    """
    if isinstance(content, GopaAggregate):
        sizes = sum(size for _, size, _ in content.enc_specs)
        clear = sorted((name, type(each).__name__) for name, each in content.cleartext.items())
        return (content.agg_cls.__qualname__, content.encrypted, content.enc_specs, clear), (
            content.encrypted[0] + sizes
        )
    if isinstance(content, int):
        return content, content + 1
    parts: list[tuple[object, object]] = []
    if is_dataclass(content):
        parts = [(each.name, getattr(content, each.name)) for each in fields(content)]
    elif isinstance(content, Mapping):
        parts = sorted(content.items())
    elif isinstance(content, list):
        parts = list(enumerate(content))
    found = [(name, *outline(part)) for name, part in parts]
    form = type(content).__name__, [(name, form) for name, form, _ in found]
    return form, max((size for *_, size in found), default=0)
