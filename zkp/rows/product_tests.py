"""Tests that all entries of long vectors are small: sums of entries that coins have chosen.

A test chooses rows by one string of bits and columns by another, and adds up the entries in both.
A prover who has one large entry passes it three times in four, and all tests once in 2^149.
Rules 14-L4, 14-T1, 14-H1 and 14-H3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from commitments.group import Group, Scalar, ScalarVec, SecretScalarVec, Stream
from commitments.tables import ResidueTable, TableKernels, Words, table_kernels
from wire.errors import MalformedMessage
from wire.randomness import Rng, draw
from zkp.rows.shape import PAD_BITS, TESTS, Integers, RowShape
from zkp.vectors import vector

_MOST: Final = 1 << (PAD_BITS + 1)
TEST_SIZE: Final = 15
"""Bytes of a test: an integer in two's complement."""

_WORD: Final = 64


@dataclass(frozen=True, slots=True)
class ProductTests:
    """The strings of bits of all tests: rows for each of the vectors, and columns for all."""

    shape: RowShape
    rows: tuple[bytes, ...]
    columns: bytes

    @classmethod
    def draw(cls, shape: RowShape, vectors: int, coins: Stream) -> ProductTests:
        """The tests of so many vectors, as public coins decide."""
        row, column = -(-shape.rows // 8), shape.width // 8
        drawn = np.frombuffer(coins.bytes(TESTS * (vectors * row + column)), np.uint8)
        drawn = drawn.reshape(TESTS, -1)
        rows = (drawn[:, row * each : row * (each + 1)].tobytes() for each in range(vectors))
        return cls(shape, tuple(rows), drawn[:, row * vectors :].tobytes())

    def column_sums(self, group: Group, vector: Integers) -> Integers:
        """The sums of chosen columns, for each row of a vector and each test."""
        sums = table_kernels(group).row_bit_sums(vector, self.columns, self.shape.width)
        return np.frombuffer(sums, np.int64).reshape(self.shape.rows, TESTS)

    def sums(self, sums_of_columns: Sequence[Integers]) -> Integers:
        """What the tests of these vectors give, from their sums of columns."""
        total = np.zeros(TESTS, np.int64)
        for strings, sums in zip(self.rows, sums_of_columns, strict=True):
            total += np.einsum("ki,ik->k", self._bits(strings), sums)
        return total

    def row_choices(
        self, kernels: TableKernels, vector: int, weights: ResidueTable
    ) -> ResidueTable:
        """The test's weight where it has chosen the row, for each row and each test."""
        bits = np.ascontiguousarray(self._bits(self.rows[vector]).T).reshape(-1)
        return kernels.of_integers(bits).times(weights)

    def at(
        self, rows: ResidueTable, columns: ResidueTable, weights: ResidueTable
    ) -> tuple[Scalar, ...]:
        """The sum of the tests' weights times their choices at a point, for each vector.

        `rows` and `columns` are the tables of equality with its two halves.
        """
        chosen = columns.bit_inners(self.columns).times(weights)
        return tuple(rows.bit_inners(each).inner(chosen).reveal() for each in self.rows)

    def _bits(self, strings: bytes) -> Integers:
        found = np.frombuffer(strings, np.uint8).reshape(TESTS, -1)
        bits = np.unpackbits(found, axis=1, count=self.shape.rows, bitorder="little")
        return bits.astype(np.int64)


def powers_for_tests(group: Group, base: Scalar) -> ResidueTable:
    """What the tests are multiplied by: base^(k+1) for test k."""
    kernels, squares = table_kernels(group), [base]
    for _ in range((TESTS - 1).bit_length() - 1):
        squares.append(squares[-1] * squares[-1])
    factors = vector(group, squares[::-1])
    return kernels.combine(factors[-1:], [kernels.products(factors, TESTS)])


def draw_pads(group: Group, rng: Rng) -> SecretScalarVec:
    """Uniform integers that hide the tests of one party in one round, and are used once."""
    half = PAD_BITS // 2
    # Halves fit in 64 bits: Python would make integers whose length depends on a pad.
    halves = np.zeros((2 * TESTS, 8), np.uint8)
    drawn = np.frombuffer(draw(rng, TESTS * PAD_BITS // 8), np.uint8)
    halves[:, : half // 8] = drawn.reshape(2 * TESTS, -1)
    low, high = (
        group.secret_scalars(np.ascontiguousarray(part).astype(np.int64))
        for part in halves.view("<i8").reshape(TESTS, 2).T
    )
    return low + high * group.scalar(1 << half)


def hidden_tests(group: Group, sums: Integers, pads: SecretScalarVec) -> tuple[int, ...]:
    """The tests as they are posted: with the pads added."""
    total = (pads + group.secret_scalars(sums)).reveal().ints()
    half = group.order // 2
    return tuple(value - group.order if value > half else value for value in total)


def encode_tests(tests: Sequence[int]) -> bytes:
    """The bytes of the tests, in order (14-M1)."""
    return b"".join(test.to_bytes(TEST_SIZE, "big", signed=True) for test in tests)


def check_tests(data: bytes) -> None:
    """Raises `MalformedMessage` for bytes of tests that no honest party sends (14-M2)."""
    high, low = _halves(data)
    most = _MOST >> _WORD
    if (high >= most).any() or (high < -most).any() or (low[high == -most] == 0).any():
        raise MalformedMessage(f"{TESTS} tests below 2^{PAD_BITS + 1} in size are needed", "tests")


def scalars_of_tests(group: Group, data: bytes) -> ScalarVec:
    """The tests of these bytes as scalars; integers beyond 64 bits would be slow one by one."""
    tests = np.frombuffer(data, np.uint8).reshape(-1, TEST_SIZE)
    words = np.zeros((len(tests), TEST_SIZE + 1), np.uint8)
    words[:, :TEST_SIZE] = tests[:, ::-1]
    words[:, TEST_SIZE - 1] ^= 0x80  # adds half of what the bytes hold: nothing is negative
    half = group.scalar(1 << (8 * TEST_SIZE - 1))
    return group.reduce_scalars(words.tobytes(), TEST_SIZE + 1) - half


def _halves(data: bytes) -> tuple[Integers, Words]:
    """What is above the lowest 64 bits of each test, and these bits."""
    if len(data) != TESTS * TEST_SIZE:
        raise MalformedMessage(f"tests have {TESTS * TEST_SIZE} bytes", "tests")
    padded = np.zeros((TESTS, 16), np.uint8)
    padded[:, 1:] = np.frombuffer(data, np.uint8).reshape(TESTS, TEST_SIZE)
    padded[:, 0] = np.where(padded[:, 1] >> 7, 255, 0)
    return padded.view(">i8")[:, 0].astype(np.int64), padded.view(">u8")[:, 1].astype(np.uint64)
