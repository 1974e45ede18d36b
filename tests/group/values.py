"""Values for the tests: edge cases first, and points of known discrete logarithm."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st

from commitments.group import Group, PointVec, ScalarVec, Stream
from tests.pace import examples
from wire.secret import SecretBytes

ORDER: Final = 2**252 + 27742317777372353535851937790883648493

FEW: Final = settings(max_examples=examples(15), deadline=None)
MANY: Final = settings(max_examples=examples(60), deadline=None)

EDGES: Final = (0, 1, 2, 3, ORDER - 1, ORDER - 2, ORDER - 3, ORDER // 2, ORDER // 2 + 1, 2**252)

residues: Final = st.one_of(
    st.sampled_from(EDGES),
    st.integers(0, 2**16),
    st.integers(ORDER - 2**16, ORDER - 1),
    st.integers(0, ORDER - 1),
)
integers: Final = st.one_of(
    residues, residues.map(lambda value: value - ORDER).filter(lambda v: v > -ORDER)
)


def rows(columns: int, most: int = 8, least: int = 0) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Lists of tuples of residues: several vectors of one length."""
    return st.lists(st.tuples(*[residues] * columns), min_size=least, max_size=most)


def column(table: Sequence[tuple[int, ...]], index: int) -> list[int]:
    return [row[index] for row in table]


def known_points(group: Group, logarithms: Sequence[int]) -> PointVec:
    """The generator times each of these."""
    return group.points([group.generator * group.scalar(value) for value in logarithms])


def random_points(group: Group, n: int, seed: str = "points") -> PointVec:
    return group.map_to_points(hashlib.shake_256(seed.encode()).digest(64 * n))


def random_residues(n: int, seed: str = "residues") -> list[int]:
    data = hashlib.shake_256(seed.encode()).digest(64 * n)
    return [int.from_bytes(data[i : i + 64], "little") % ORDER for i in range(0, len(data), 64)]


def random_scalars(group: Group, n: int, seed: str = "residues") -> ScalarVec:
    return group.scalars(random_residues(n, seed))


def stream(group: Group, seed: int = 7, domain: bytes = b"tests/stream") -> Stream:
    return group.stream(SecretBytes(bytes([seed]) * 32), domain)


def dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True)) % ORDER
