"""A system of linear equations with its group elements (specification 02, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from commitments.group import (
    Group,
    Point,
    PointVec,
    Scalar,
    ScalarVec,
    SecretScalar,
    SecretScalarVec,
)
from wire.errors import UsageError
from zkp.sigma.shape import Shape, Violation


@dataclass(frozen=True, eq=False)
class LinearRelation:
    """The statement "I know scalars that satisfy these equations".

    `points` are the elements from index 1 on; index 0 is always the generator and
    cannot be replaced. Every point the statement depends on is an element of its
    own: a sum of points computed beforehand would let one proof serve every pair
    of points with that sum.
    """

    shape: Shape
    points: PointVec

    def __post_init__(self) -> None:
        if len(self.points) != self.shape.element_count - 1:
            raise UsageError(
                f"the shape has {self.shape.element_count - 1} elements besides the generator, "
                f"not {len(self.points)}"
            )

    @classmethod
    def decode(cls, shape: Shape, data: bytes) -> LinearRelation:
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
    if shape.uncertain_images:
        image = relation.image()
        if any(image[i].is_identity() for i in shape.uncertain_images):  # I9
            return Violation("02-I9", "an image is the identity: zeros satisfy the equation")
    for scalar in shape.uncertain_columns:
        if all(_combine(relation, row).is_identity() for row in shape.column(scalar)):  # I10
            return Violation("02-I10", "a scalar cancels out of every equation")
    return None


def _combine(relation: LinearRelation, row: dict[int, int]) -> Point:
    coefficients = relation.group.scalars(list(row.values()))
    return relation.elements.gather(list(row)).vartime_msm(coefficients)
