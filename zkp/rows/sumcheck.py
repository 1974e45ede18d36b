"""Proves what a polynomial sums up to over a cube, without showing a partial sum.

In each round the prover commits to the coefficients of a polynomial in one variable, and a
challenge fixes that variable: what has to hold of the whole cube comes down to one point. The
coefficient of X is not sent: it follows from the sum that the round has to have.
Rules 14-E3 and 14-T4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Protocol, TypeAlias

from commitments import Pedersen
from commitments.group import Group, PointVec, Scalar, ScalarVec, SecretScalar, SecretScalarVec
from commitments.tables import ResidueTable, table_kernels
from wire.randomness import Rng
from zkp.rows.product_tests import ProductTests
from zkp.rows.shape import TESTS, Integers
from zkp.transcript import NonceSource, Transcript
from zkp.vectors import concatenate, constant, vector

# Of a sum of powers of integers, in bits.
_ROOM: Final = 126

Sources: TypeAlias = tuple[tuple[NonceSource, SecretScalarVec], ...]
"""Where blindings came from, and what they were."""


class Summand(Protocol):
    """A part of the polynomial; folds as challenges fix its variables."""

    def coefficients(self, half: int, /) -> SecretScalarVec:
        """The coefficients of 1, X^2, .. in the round whose halves have so many entries."""

    def fold(self, by: Scalar, half: int, /) -> None:
        """Fix the variable of the round."""


class Folded:
    """A table that several summands share, and that is folded once a round."""

    def __init__(self, table: ResidueTable) -> None:
        self.table = table

    def fold(self, by: Scalar, half: int) -> None:
        self.table = self.table.fold(by, half)

    def power_sums(self, exponent: int, half: int) -> SecretScalarVec:
        """The power sums of the table."""
        return self.table.power_sums(exponent, half)

    @property
    def value(self) -> SecretScalar:
        """What is left when all variables are fixed."""
        return self.table.scalars()[0]


class FoldedIntegers(Folded):
    """The table of integers of so many bits and a sign.

    While no variable is fixed its powers are those of the integers, if they are small.
    """

    def __init__(self, group: Group, integers: Integers, bits: int) -> None:
        self._kernels = table_kernels(group)
        super().__init__(self._kernels.of_integers(integers))
        room = _ROOM - len(integers).bit_length()
        self._integers, self._most = integers, room // (bits + 1)

    def fold(self, by: Scalar, half: int) -> None:
        self._most = 0
        super().fold(by, half)

    def power_sums(self, exponent: int, half: int) -> SecretScalarVec:
        if exponent > self._most:
            return super().power_sums(exponent, half)
        return self._kernels.integer_power_sums(self._integers, exponent, half)

    def power_sum(self, exponent: int) -> SecretScalar:
        """The sum of all entries to this power."""
        return self.power_sums(exponent, len(self.table))[0]


class TestsSummand:
    """What product tests choose of a table: first sums of columns, row by row, then the table.

    While rows are fixed there is a number for each row and test, and no product for each entry.
    """

    def __init__(self, group: Group, tests: ProductTests, parts: TestedRows) -> None:
        self._kernels, self._tests, self._parts = table_kernels(group), tests, parts
        self._choices, self._sums = Folded(parts.choices), Folded(parts.sums)
        self._own: Folded | None = None

    def coefficients(self, half: int) -> SecretScalarVec:
        width = self._tests.shape.width
        if half >= width:
            return self._choices.table.pair_sums(self._sums.table, half // width * TESTS)
        if self._own is None:
            columns = self._tests.columns
            self._own = Folded(self._kernels.combine_bits(self._choices.table, columns, width))
        return self._own.table.pair_sums(self._parts.table.table, half)

    def fold(self, by: Scalar, half: int) -> None:
        width = self._tests.shape.width
        if self._own is not None:
            self._own.fold(by, half)
            return
        for each in (self._choices, self._sums):
            each.fold(by, half // width * TESTS)


@dataclass(frozen=True, slots=True)
class TestedRows:
    """For each row and test the weight of its choice, and its sum of columns; and the table.

    Both are a row's numbers for all tests, one row after the other.
    """

    choices: ResidueTable
    sums: ResidueTable
    table: Folded


class PowerSummand:
    """A weight times a power of a table."""

    def __init__(self, table: Folded, exponent: int, weight: Scalar) -> None:
        self._table, self._exponent, self._weight = table, exponent, weight

    def coefficients(self, half: int) -> SecretScalarVec:
        return self._table.power_sums(self._exponent, half) * self._weight

    def fold(self, by: Scalar, half: int) -> None:
        """Nothing: who owns the table folds it."""


class PairSummand:
    """The product of two tables, of which the first one is its own."""

    def __init__(self, own: ResidueTable, shared: Folded) -> None:
        self._own, self._shared = Folded(own), shared

    def coefficients(self, half: int) -> SecretScalarVec:
        return self._own.table.pair_sums(self._shared.table, half)

    def fold(self, by: Scalar, half: int) -> None:
        self._own.fold(by, half)


class EntrySummand:
    """A weight times the entry of a table at an index: a table that is zero elsewhere, times it.

    Only two entries count in a round: what is left of the index says which.
    """

    def __init__(self, group: Group, table: Folded, index: int, weight: Scalar) -> None:
        self._group, self._table, self._index, self._weight = group, table, index, weight

    def coefficients(self, half: int) -> SecretScalarVec:
        table, place = self._table.table, self._index % half
        low, high = table.entry(place), table.entry(half + place)
        # X (lo + X step) where the bit of the round is 1, (1 - X) (lo + X step) where it is 0.
        step, zero = high - low, low - low
        ends = (zero, step) if self._index & half else (low, -step)
        return vector_of(self._group, *ends) * self._weight

    def fold(self, by: Scalar, half: int) -> None:
        one = self._group.scalar(1)
        self._weight = self._weight * (by if self._index & half else one - by)


def equality_at(group: Group, point: ScalarVec, index: int) -> Scalar:
    """eq(point, index): the product of p where a bit of the index is 1, and 1 - p where it is 0."""
    bits = [index >> at & 1 for at in reversed(range(len(point)))]
    factors = (p if bit else 1 - p for p, bit in zip(point.ints(), bits, strict=True))
    return group.scalar(prod(factors) % group.order)


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum over a cube of so many dimensions, of at most this degree in each variable.

    `shared` are the tables that no summand folds.
    """

    summands: tuple[Summand, ...]
    shared: tuple[Folded, ...]
    bits: int
    degree: int


@dataclass(frozen=True, slots=True)
class HiddenValue:
    """A number and the blinding of its commitment."""

    value: SecretScalar
    blinding: SecretScalar


@dataclass(frozen=True, slots=True)
class SumcheckProof:
    """The messages, the point that the challenges make, and the claim about it."""

    rounds: PointVec
    point: ScalarVec
    left: HiddenValue
    sources: Sources


def prove_sum(
    group: Group, polynomial: Polynomial, claim: HiddenValue, transcript: Transcript, *, rng: Rng
) -> SumcheckProof:
    """Prove that the polynomial adds up to the value of a commitment."""
    key, degree = Pedersen(group), polynomial.degree
    messages: list[PointVec] = []
    point: list[Scalar] = []
    sources: list[tuple[NonceSource, SecretScalarVec]] = []
    known = vector_of(group, claim.value, claim.blinding)
    for left in reversed(range(polynomial.bits)):
        half = 1 << left
        parts = [each.coefficients(half) for each in polynomial.summands]
        found = _padded_sum(group, parts, degree)
        witness = known.concat(found)
        source = transcript.nonce_source(b"long/round", group, degree, witness, rng)
        blindings = source.draw()
        sources.append((source, blindings))
        message = key.commit(found, blindings).points
        transcript.absorb_points(b"long/round", message)
        by = transcript.challenge(b"long/point", group)
        value, blinding = (
            _at(group, claimed, sent, by)
            for claimed, sent in ((claim.value, found), (claim.blinding, blindings))
        )
        claim = HiddenValue(value, blinding)
        for summand in polynomial.summands:
            summand.fold(by, half)
        for table in polynomial.shared:
            table.fold(by, half)
        messages.append(message)
        point.append(by)
    rounds = concatenate(messages, group.points([]))
    return SumcheckProof(rounds, vector(group, point), claim, tuple(sources))


@dataclass(frozen=True, slots=True)
class SumClaim:
    """What commitment the last round leaves: a combination of the messages and the first."""

    point: ScalarVec
    first: Scalar
    rounds: ScalarVec


def follow_sum(
    group: Group, rounds: PointVec, bits: int, degree: int, transcript: Transcript
) -> SumClaim:
    """Draw the challenges of a prover's messages: `degree` points for each round."""
    encoded, size = rounds.to_bytes(), degree * group.point_size
    drawn: list[Scalar] = []
    for at in range(bits):
        message = encoded[size * at : size * (at + 1)]
        transcript.absorb_encoded_points(b"long/round", message)
        drawn.append(transcript.challenge(b"long/point", group))
    later = [group.scalar(1)]
    for by in reversed(drawn):
        later.append(later[-1] * by)
    first = later.pop()
    # For each round: what its message is multiplied by in all rounds behind it.
    point, behind = vector(group, drawn), vector(group, later[::-1])
    linear = power = behind * point
    columns = [behind - linear - linear]
    for _ in range(2, degree + 1):
        power = power * point
        columns.append(power - linear)
    order = [bits * k + at for at in range(bits) for k in range(degree)]
    return SumClaim(point, first, concatenate(columns, linear).gather(order))


def vector_of(group: Group, *scalars: SecretScalar) -> SecretScalarVec:
    """A secret vector of these scalars."""
    zero, found = group.secret_scalars([0]), group.secret_scalars([])
    for scalar in scalars:
        found = found.concat(zero + scalar)
    return found


def _padded_sum(group: Group, parts: Sequence[SecretScalarVec], degree: int) -> SecretScalarVec:
    total = group.secret_scalars([0] * degree)
    for part in parts:
        total = total + part.concat(constant(group, 0, degree - len(part)))
    return total


def _at(group: Group, claimed: SecretScalar, sent: SecretScalarVec, by: Scalar) -> SecretScalar:
    """The value at a point of the polynomial with these coefficients and this sum at 0 and 1."""
    order, x = group.order, int(by)
    factors = [1 - 2 * x, *(pow(x, k, order) - x for k in range(2, len(sent) + 1))]
    own = group.scalars([factor % order for factor in factors])
    return claimed * by + sent.inner(own)
