"""Joins, sums and decodes vectors of public scalars and points, for several proofs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, cast

from commitments.group import Group, Scalar, ScalarVec
from wire.errors import MalformedMessage


class _Joinable(Protocol):
    def concat(self, other: Any, /) -> Any: ...


V = TypeVar("V", bound=_Joinable)


def concatenate(parts: Sequence[V], empty: V) -> V:
    """All parts in one vector; copies each element log(len(parts)) times."""
    level = list(parts)
    while len(level) > 1:
        pairs = [a.concat(b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0] if level else empty


def vector(group: Group, scalars: Sequence[Scalar]) -> ScalarVec:
    """A vector of these scalars."""
    encoded = b"".join([scalar.to_bytes() for scalar in scalars])
    return group.decode_scalars(encoded, len(scalars))


def constant(group: Group, value: int, length: int) -> ScalarVec:
    """The same scalar in every place."""
    return group.scalars([value] * length)


def weighted_sum(
    group: Group, weights: Sequence[Scalar], vectors: Sequence[ScalarVec]
) -> ScalarVec:
    """The sum of weights[k] * vectors[k]; at least one vector, all of one length."""
    # The group's method gives a secret only where a vector is secret; none is here.
    return cast("ScalarVec", group.combine_scalars(vector(group, weights), vectors))


@contextmanager
def errors_offset_by(start: int) -> Iterator[None]:
    """Inside, parts of a proof are decoded that begin at byte `start` of it."""
    try:
        yield
    except MalformedMessage as error:
        offset = None if error.offset is None else start + error.offset
        raise MalformedMessage(error.message, "proof", offset) from error
