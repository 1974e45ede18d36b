"""Describes systems of linear equations over a group (specification 02, section 3).

An equation says: a public combination of the statement's elements (the image)
equals a combination whose coefficients contain secret scalars (the terms). A
`RelationShape` holds the equations without the elements, so that thousands of statements
of one kind share everything that does not depend on their points.

A relation is a shape with its group elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from commitments.group import (
    Group,
    Point,
    PointVec,
    Scalar,
    ScalarVec,
    SecretScalar,
    SecretScalarVec,
)
from wire.errors import InvalidProof, UsageError

_COUNT_LIMIT: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class ImageTerm:
    """coefficient * elements[element]."""

    element: int
    coefficient: int = 1


@dataclass(frozen=True, slots=True)
class RelationTerm:
    """coefficient * scalars[scalar] * elements[element]."""

    scalar: int
    element: int
    coefficient: int = 1


@dataclass(frozen=True, slots=True)
class RelationEquation:
    """The demand that the sum of the image terms equals the sum of the terms."""

    image: tuple[ImageTerm, ...]
    terms: tuple[RelationTerm, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """Why an instance proves nothing: the rule it breaks and what to change."""

    check: str
    message: str

    def as_usage_error(self) -> UsageError:
        """Make the error for the prover, who built the instance."""
        return UsageError(f"[{self.check}] {self.message}")

    def as_invalid_proof(self) -> InvalidProof:
        """The error of a verifier, whose instance may hold what others sent."""
        return InvalidProof(self.message, self.check)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of all equations, one equation after the other, in parallel lists."""

    elements: tuple[int, ...]
    scalars: tuple[int, ...]
    coefficients: ScalarVec
    lengths: tuple[int, ...]
    all_ones: bool

    def times_coefficients(self, factors: ScalarVec) -> ScalarVec:
        """The given factors, one for each entry, times the coefficients."""
        return factors if self.all_ones else factors * self.coefficients

    def times_coefficients_secret(self, factors: SecretScalarVec) -> SecretScalarVec:
        """The same for secret factors."""
        return factors if self.all_ones else factors * self.coefficients


@dataclass(frozen=True, slots=True)
class Interleaved:
    """The terms of each equation and then its image, in an order in which one sum covers both.

    `order` picks from the list of all terms followed by all image entries.
    """

    elements: tuple[int, ...]
    order: tuple[int, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RelationShape:
    """Equations over elements 0 .. element_count - 1, where element 0 is the generator.

    Building a shape refuses nothing: `violation` is None for a shape that keeps
    rules 02-I1 to 02-I6, and provers and verifiers refuse the others.
    """

    group: Group
    equations: tuple[RelationEquation, ...]
    element_count: int

    @cached_property
    def violation(self) -> Violation | None:
        """The first rule of 02-I1 to 02-I6 that the equations break."""
        broken = ((rule, message) for bad, rule, message in _rules(self) if bad)
        return next((Violation(rule, message) for rule, message in broken), None)

    @cached_property
    def scalar_count(self) -> int:
        """One more than the largest scalar index."""
        return 1 + max((t.scalar for e in self.equations for t in e.terms), default=-1)

    @property
    def equation_count(self) -> int:
        """How many group elements a commitment has."""
        return len(self.equations)

    @cached_property
    def terms(self) -> Side:
        """All terms of the right-hand sides."""
        return _flatten(self.group, [e.terms for e in self.equations])

    @cached_property
    def image(self) -> Side:
        """The left-hand sides; their scalar is the challenge, index 0."""
        rows = [
            [RelationTerm(0, t.element, t.coefficient) for t in e.image] for e in self.equations
        ]
        return _flatten(self.group, rows)

    @cached_property
    def interleaved(self) -> Interleaved:
        """Interleave both sides, equation by equation."""
        return _interleave(self.terms, self.image)

    @cached_property
    def header(self) -> bytes:
        """The serialization of everything but the elements."""
        out = [_u32(self.equation_count)]
        images, rows = self.image.coefficients.to_bytes(), self.terms.coefficients.to_bytes()
        size, image_at, term_at = self.group.scalar_size, 0, 0
        for equation in self.equations:
            out.append(_u32(len(equation.image)))
            for image in equation.image:
                out += [_u32(image.element), images[image_at : image_at + size]]
                image_at += size
            out.append(_u32(len(equation.terms)))
            for term in equation.terms:
                out += [_u32(term.scalar), _u32(term.element), rows[term_at : term_at + size]]
                term_at += size
        return b"".join(out)

    @cached_property
    def uncertain_images(self) -> tuple[int, ...]:
        """Equations whose image might be the identity although no element is."""
        order = self.group.order
        merged = [
            _merge(order, [(t.element, t.coefficient) for t in e.image]) for e in self.equations
        ]
        return tuple(i for i, row in enumerate(merged) if len(row) != 1)

    @cached_property
    def uncertain_columns(self) -> tuple[int, ...]:
        """Scalars that might have no effect although no element is the identity."""
        certain = certain_scalars(self.group.order, self.equations)
        return tuple(sorted({*range(self.scalar_count)} - certain))

    def column(self, scalar: int) -> list[dict[int, int]]:
        """What multiplies the scalar in each equation: non-zero coefficients by element."""
        order = self.group.order
        return [
            _merge(order, [(t.element, t.coefficient) for t in e.terms if t.scalar == scalar])
            for e in self.equations
        ]


def certain_scalars(order: int, equations: Iterable[RelationEquation]) -> set[int]:
    """Scalars that multiply one element alone in some equation: they have an effect."""
    certain: set[int] = set()
    for equation in equations:
        rows: dict[int, list[tuple[int, int]]] = {}
        for t in equation.terms:
            rows.setdefault(t.scalar, []).append((t.element, t.coefficient))
        certain |= {scalar for scalar, row in rows.items() if len(_merge(order, row)) == 1}
    return certain


def _merge(order: int, factors: Sequence[tuple[int, int]]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for element, coefficient in factors:
        sums[element] = sums.get(element, 0) + coefficient
    return {element: total % order for element, total in sums.items() if total % order}


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _flatten(group: Group, rows: Sequence[Sequence[RelationTerm]]) -> Side:
    flat = [term for row in rows for term in row]
    return Side(
        elements=tuple(term.element for term in flat),
        scalars=tuple(term.scalar for term in flat),
        coefficients=group.scalars([term.coefficient % group.order for term in flat]),
        lengths=tuple(len(row) for row in rows),
        all_ones=all(term.coefficient == 1 for term in flat),
    )


def _interleave(terms: Side, image: Side) -> Interleaved:
    order: list[int] = []
    term_at, image_at = 0, len(terms.elements)
    for term_count, image_count in zip(terms.lengths, image.lengths, strict=True):
        order += range(term_at, term_at + term_count)
        order += range(image_at, image_at + image_count)
        term_at, image_at = term_at + term_count, image_at + image_count
    elements = terms.elements + image.elements
    lengths = tuple(a + b for a, b in zip(terms.lengths, image.lengths, strict=True))
    return Interleaved(tuple(elements[i] for i in order), tuple(order), lengths)


def _rules(shape: RelationShape) -> Iterator[tuple[bool, str, str]]:
    """Whether a rule is broken, the rule, what to change. Each relies on those before it."""
    equations = shape.equations
    yield not equations, "02-I1", "the relation has no equation: add one"
    empty = any(not e.terms or not e.image for e in equations)
    yield empty, "02-I2", "an equation has an empty side: give it an image and terms"
    elements = {t.element for e in equations for t in e.image}
    elements |= {t.element for e in equations for t in e.terms}
    scalars = {t.scalar for e in equations for t in e.terms}
    counts = {len(equations), *(len(side) for e in equations for side in (e.image, e.terms))}
    huge = any(not 0 <= n < _COUNT_LIMIT for n in elements | scalars | counts)
    yield huge, "02-I3", "an index or a count does not fit in 32 bits"
    outside = max(elements) >= shape.element_count
    yield outside, "02-I4", "an equation names an element that the statement does not have"
    unused = len(elements - {0}) != shape.element_count - 1
    yield unused, "02-I5", "the statement has an element that no equation uses"
    free = len(scalars) != max(scalars) + 1
    yield free, "02-I6", "a scalar index appears in no equation: its response is free"


@dataclass(frozen=True, eq=False)
class LinearRelation:
    """The statement "I know scalars that satisfy these equations".

    `points` are the elements from index 1 on; index 0 is always the generator and
    cannot be replaced. Every point the statement depends on is an element of its
    own: a sum of points computed beforehand would let one proof serve every pair
    of points with that sum.
    """

    shape: RelationShape
    points: PointVec

    def __post_init__(self) -> None:
        if len(self.points) != self.shape.element_count - 1:
            raise UsageError(
                f"the shape has {self.shape.element_count - 1} elements besides the generator, "
                f"not {len(self.points)}"
            )

    @classmethod
    def decode(cls, shape: RelationShape, data: bytes) -> LinearRelation:
        """The relation whose elements were received as bytes.

        Raises:
            MalformedMessage: wrong length, not canonical, or the identity.
        """
        relation = cls(shape, shape.group.decode_points(data, shape.element_count - 1))
        # Decoding is strict, so these bytes are what encoding would give again.
        relation.__dict__["encoded_points"] = data
        return relation

    @property
    def group(self) -> Group:
        """The group of the elements."""
        return self.shape.group

    @cached_property
    def elements(self) -> PointVec:
        """All elements, the generator first."""  # I7
        return self.group.points([self.group.generator]).concat(self.points)

    @cached_property
    def encoded_points(self) -> bytes:
        """The encodings of the elements from index 1 on."""
        return self.points.to_bytes()

    @cached_property
    def violation(self) -> Violation | None:
        """The first rule of 02-I1 to 02-I10 that the relation breaks."""
        return self.shape.violation or _find_violation(self)

    def serialize(self) -> bytes:
        """The encoding that binds the whole statement; prefix-free."""
        return self.shape.header + self.encoded_points

    def image(self) -> PointVec:
        """The left-hand side of each equation."""
        side = self.shape.image
        return self.elements.gather(side.elements).vartime_segment_msm(
            side.coefficients, side.lengths
        )

    def images(self, equations: Sequence[int]) -> PointVec:
        """The left-hand sides of these equations."""
        side = self.shape.image
        ends, lengths = list(accumulate(side.lengths)), [side.lengths[at] for at in equations]
        entries = [
            entry
            for at, length in zip(equations, lengths, strict=True)
            for entry in range(ends[at] - length, ends[at])
        ]
        points = self.elements.gather([side.elements[entry] for entry in entries])
        return points.vartime_segment_msm(side.coefficients.gather(entries), lengths)

    def simulate(self, challenge: Scalar, responses: ScalarVec) -> PointVec:
        """The commitment that the verification equation demands for these two.

        Time depends on the arguments: they are public.
        """
        shape = self.shape
        factors = shape.terms.times_coefficients(responses.gather(shape.terms.scalars))
        factors = factors.concat(shape.image.coefficients * -challenge)
        both = shape.interleaved
        points = self.elements.gather(both.elements)
        return points.vartime_segment_msm(factors.gather(both.order), both.lengths)

    def commit(self, nonces: SecretScalarVec, offset: SecretScalar | None = None) -> PointVec:
        """The right-hand sides at `nonces`, minus `offset` times the images; constant time.

        An offset is the challenge of a simulated branch, or a zero that must look
        like one.
        """
        shape = self.shape
        terms = shape.terms
        factors = terms.times_coefficients_secret(nonces.gather(terms.scalars))
        if offset is None:
            return _sums(self.group, self.elements.gather(terms.elements), factors, terms.lengths)
        factors = factors.concat(shape.image.coefficients * -offset)
        both = shape.interleaved
        points = self.elements.gather(both.elements)
        return _sums(self.group, points, factors.gather(both.order), both.lengths)


def _sums(
    group: Group, points: PointVec, factors: SecretScalarVec, lengths: tuple[int, ...]
) -> PointVec:
    if all(length == 1 for length in lengths):
        return points * factors
    ends = list(accumulate(lengths))
    runs = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    return group.points([points[run].msm(factors[run]) for run in runs])


def _find_violation(relation: LinearRelation) -> Violation | None:
    """Rules 02-I8 to 02-I10, for a relation of a valid shape."""
    if relation.points.find_identity() is not None:  # I8
        return Violation("02-I8", "an element of the statement is the identity")
    shape = relation.shape
    images = relation.images(shape.uncertain_images)
    if images.find_identity() is not None:  # I9
        return Violation("02-I9", "an image is the identity: zeros satisfy the equation")
    for scalar in shape.uncertain_columns:
        if all(_combine(relation, row).is_identity() for row in shape.column(scalar)):  # I10
            return Violation("02-I10", "a scalar cancels out of every equation")
    return None


def _combine(relation: LinearRelation, row: dict[int, int]) -> Point:
    coefficients = relation.group.scalars(list(row.values()))
    return relation.elements.gather(list(row)).vartime_msm(coefficients)
