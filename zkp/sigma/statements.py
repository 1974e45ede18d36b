"""Writes statements as linear relations: the notation, and the statements that protocols use.

A relation is written the way papers do (specification 02, section 3).

    build = RelationBuilder(group)
    x = build.scalar()
    H, X, Y = build.elements(3)
    build.equation(X, x * build.generator)
    build.equation(Y, x * H)
    relation = LinearRelation(build.shape(), points)

Terms keep the order in which they are written, left side first. A term without
a secret scalar is a constant and goes to the image; one with a scalar goes to the
terms; a term that changes sides changes its sign.

The statements that protocols use are in section 7. Each function says what its witness is, in
order; `witness` puts one together. The bases of commitments are any object with a value base and
a blinding base of unknown relation, for example `Pedersen`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add, index
from typing import Protocol

from commitments.group import (
    AnyScalar,
    Group,
    Point,
    PointVec,
    Scalar,
    SecretScalar,
    SecretScalarVec,
)
from wire.errors import UsageError
from zkp.sigma.relation import (
    ImageTerm,
    LinearRelation,
    RelationEquation,
    RelationShape,
    RelationTerm,
)


@dataclass(frozen=True, slots=True)
class _Summand:
    element: int
    coefficient: int
    scalar: int | None


@dataclass(frozen=True, slots=True)
class Combination:
    """A sum of elements, each with a public factor and at most one secret scalar."""

    summands: tuple[_Summand, ...]

    def __add__(self, other: Combination) -> Combination:
        return Combination(self.summands + other.summands)

    def __sub__(self, other: Combination) -> Combination:
        return self + -other

    def __neg__(self) -> Combination:
        return -1 * self

    def __rmul__(self, factor: int) -> Combination:
        return Combination(
            tuple(_Summand(s.element, factor * s.coefficient, s.scalar) for s in self.summands)
        )


@dataclass(frozen=True, slots=True)
class SecretName:
    """A secret scalar, times a public factor."""

    index: int
    factor: int = 1

    def __mul__(self, combination: Combination) -> Combination:
        if any(summand.scalar is not None for summand in combination.summands):
            raise UsageError("a product of two secret scalars is not linear: commit to one first")
        return Combination(
            tuple(
                _Summand(s.element, self.factor * s.coefficient, self.index)
                for s in combination.summands
            )
        )

    def __rmul__(self, factor: int) -> SecretName:
        return SecretName(self.index, factor * self.factor)

    def __neg__(self) -> SecretName:
        return -1 * self


class RelationBuilder:
    """The names and equations of a relation; indices follow the order of declaration."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._scalar_count = 0
        self._element_count = 1
        self._equations: list[RelationEquation] = []

    @property
    def generator(self) -> Combination:
        """The generator of the group, element 0."""
        return _element(0)

    def scalar(self) -> SecretName:
        """A new secret scalar."""
        self._scalar_count += 1
        return SecretName(self._scalar_count - 1)

    def scalars(self, count: int) -> list[SecretName]:
        """Several new secret scalars."""
        return [self.scalar() for _ in range(count)]

    def element(self) -> Combination:
        """A new element of the statement."""
        self._element_count += 1
        return _element(self._element_count - 1)

    def elements(self, count: int) -> list[Combination]:
        """So many new elements, undefined yet."""
        return [self.element() for _ in range(count)]

    def equation(self, left: Combination, right: Combination) -> None:
        """Demand that both sides are equal."""
        constants = [s for s in left.summands if s.scalar is None]
        constants += [s for s in (-right).summands if s.scalar is None]
        image = tuple(ImageTerm(s.element, s.coefficient) for s in constants)
        terms = tuple(
            RelationTerm(s.scalar, s.element, s.coefficient)
            for s in (-left).summands + right.summands
            if s.scalar is not None
        )
        self._equations.append(RelationEquation(image, terms))

    def shape(self) -> RelationShape:
        """The equations so far. `RelationShape.violation` says whether they are complete.

        Raises:
            UsageError: a declared scalar appears in no equation.
        """
        used = {term.scalar for equation in self._equations for term in equation.terms}
        if len(used) != self._scalar_count:
            raise UsageError("a declared scalar appears in no equation: use it or leave it out")
        return RelationShape(self._group, tuple(self._equations), self._element_count)


def _element(index: int) -> Combination:
    return Combination((_Summand(index, 1, None),))


class CommitmentBases(Protocol):
    """The bases of Com(v; r) = v * value_base + r * blinding_base."""

    @property
    def value_base(self) -> Point:
        """The base G, which the value multiplies."""

    @property
    def blinding_base(self) -> Point:
        """The base H, which the blinding multiplies."""


def witness(group: Group, *scalars: AnyScalar) -> SecretScalarVec:
    """Scalars in a row, as the witness of a relation."""
    one = group.scalars([1])
    row = group.secret_scalars([])
    for scalar in scalars:
        row = row.concat(one * scalar)
    return row


def discrete_log(group: Group, image: Point) -> LinearRelation:
    """The image is x * generator. Witness: x."""
    return LinearRelation(_discrete_log_shape(group), group.points([image]))


def representation(group: Group, bases: PointVec, image: Point) -> LinearRelation:
    """The image is the sum of x[i] * bases[i]. Witness: x[0], x[1], ...

    Says something about the x only if nobody knows a relation between the bases.
    """
    points = bases.concat(group.points([image]))
    return LinearRelation(_representation_shape(group, len(bases)), points)


def dleq(group: Group, images: PointVec, bases: PointVec) -> LinearRelation:
    """Chaum-Pedersen: images[0] = x * generator, images[i] = x * bases[i - 1]. Witness: x.

    The elements are the bases and then the images.
    """
    if len(images) != len(bases) + 1:
        raise UsageError("give one image for the generator and one for each base")
    return LinearRelation(dleq_shape(group, len(bases)), bases.concat(images))


def same_logarithm(group: Group, images: PointVec, bases: PointVec) -> LinearRelation:
    """images[i] = x * bases[i] for every i. Witness: x."""
    if len(images) != len(bases):
        raise UsageError("give one image for each base")
    return LinearRelation(_same_logarithm_shape(group, len(bases)), bases.concat(images))


def opening(group: Group, bases: CommitmentBases, commitment: Point) -> LinearRelation:
    """The commitment is Com(v; r). Witness: v, r."""
    return representation(group, _pair(group, bases), commitment)


def equal_values(
    group: Group, commitments: Sequence[tuple[CommitmentBases, Point]]
) -> LinearRelation:
    """All commitments hide one value v, each under its own bases. Witness: v, r[0], r[1], ..."""
    points = [p for b, c in commitments for p in (b.value_base, b.blinding_base, c)]
    return LinearRelation(_equal_values_shape(group, len(commitments)), group.points(points))


def product(
    group: Group, bases: CommitmentBases, left: Point, right: Point, result: Point
) -> LinearRelation:
    """`result` hides the product of what `left` and `right` hide. Use `product_witness`."""
    points = _pair(group, bases).concat(group.points([left, right, result]))
    return LinearRelation(_product_shape(group), points)


def product_witness(
    group: Group,
    left: tuple[SecretScalar, SecretScalar],
    right: tuple[SecretScalar, SecretScalar],
    result_blinding: SecretScalar,
) -> SecretScalarVec:
    """The witness of `product` from the openings (value, blinding) of both factors."""
    bridge = result_blinding - right[0] * left[1]
    return witness(group, *left, *right, bridge)


def linear_among_values(
    group: Group,
    bases: CommitmentBases,
    commitments: PointVec,
    coefficients: Sequence[int],
    constant: int,
) -> LinearRelation:
    """The hidden values v satisfy: sum of coefficients[i] * v[i] = constant.

    Witness: the same combination of the blindings. The proof shows knowledge of
    this combination, not of an opening of each commitment.
    """
    if len(commitments) != len(coefficients):
        raise UsageError("give one coefficient for each commitment")
    points = _pair(group, bases).concat(commitments)
    factors = tuple(_integer(coefficient) for coefficient in coefficients)
    shape = _linear_among_values_shape(group, factors, _integer(constant))
    return LinearRelation(shape, points)


def opens_to(
    group: Group, bases: CommitmentBases, commitment: Point, value: Scalar
) -> LinearRelation:
    """`commitment` hides the public value. Witness: r."""
    return linear_among_values(group, bases, group.points([commitment]), [1], int(value))


def _integer(value: int) -> int:
    """Require an int: 1.0 would find, or spoil, what is cached for 1."""
    try:
        return int(index(value))
    except TypeError:
        raise UsageError(f"a coefficient is an integer, not {type(value).__name__}") from None


def _pair(group: Group, bases: CommitmentBases) -> PointVec:
    return group.points([bases.value_base, bases.blinding_base])


@lru_cache(maxsize=8)
def _discrete_log_shape(group: Group) -> RelationShape:
    build = RelationBuilder(group)
    x, X = build.scalar(), build.element()
    build.equation(X, x * build.generator)
    return build.shape()


@lru_cache(maxsize=64)
def _representation_shape(group: Group, n: int) -> RelationShape:
    build = RelationBuilder(group)
    bases, image = build.elements(n), build.element()
    scalars = build.scalars(n)
    build.equation(image, _sum([x * base for x, base in zip(scalars, bases, strict=True)]))
    return build.shape()


@lru_cache(maxsize=64)
def dleq_shape(group: Group, n: int) -> RelationShape:
    """The shape of `dleq` with n bases, for statements that are received as bytes."""
    build = RelationBuilder(group)
    x, bases, images = build.scalar(), build.elements(n), build.elements(n + 1)
    for base, image in zip([build.generator, *bases], images, strict=True):
        build.equation(image, x * base)
    return build.shape()


@lru_cache(maxsize=64)
def _same_logarithm_shape(group: Group, n: int) -> RelationShape:
    build = RelationBuilder(group)
    x, bases, images = build.scalar(), build.elements(n), build.elements(n)
    for base, image in zip(bases, images, strict=True):
        build.equation(image, x * base)
    return build.shape()


@lru_cache(maxsize=64)
def _equal_values_shape(group: Group, n: int) -> RelationShape:
    build = RelationBuilder(group)
    v, blindings = build.scalar(), build.scalars(n)
    for r in blindings:
        G, H, C = build.elements(3)
        build.equation(C, v * G + r * H)
    return build.shape()


@lru_cache(maxsize=8)
def _product_shape(group: Group) -> RelationShape:
    build = RelationBuilder(group)
    G, H, A, B, C = build.elements(5)
    a, r, b, s, bridge = build.scalars(5)
    build.equation(A, a * G + r * H)
    build.equation(B, b * G + s * H)
    build.equation(C, b * A + bridge * H)
    return build.shape()


@lru_cache(maxsize=64)
def _linear_among_values_shape(
    group: Group, coefficients: tuple[int, ...], constant: int
) -> RelationShape:
    build = RelationBuilder(group)
    G, H, *commitments = build.elements(2 + len(coefficients))
    r = build.scalar()
    weighted = [k * C for k, C in zip(coefficients, commitments, strict=True)]
    build.equation(_sum([*weighted, -constant * G]), r * H)
    return build.shape()


def _sum(parts: list[Combination]) -> Combination:
    if not parts:
        raise UsageError("give at least one base")
    return reduce(add, parts)
