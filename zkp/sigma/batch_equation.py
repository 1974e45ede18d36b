"""The verification equations of many proofs as one weighted sum (specification 02, section 8).

An equation is: commitment + challenge * image - terms(responses) = 0. Each is
multiplied by its own random weight and all are added. Equations of one shape are
handled column by column, so the work in Python grows with the number of shapes
and the arithmetic is done by vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from commitments.group import Group, Point, PointVec, Scalar, ScalarVec
from zkp.sigma.relation import LinearRelation
from zkp.sigma.shape import Shape
from zkp.vectors import concatenate, vector


@dataclass(frozen=True, slots=True)
class Pool:
    """What all proofs of a batch consist of, each kind in one vector."""

    group: Group
    elements: PointVec
    commitments: PointVec
    challenges: ScalarVec
    responses: ScalarVec


@dataclass(frozen=True, slots=True)
class Claim:
    """One relation to check, and where in the pool its parts begin."""

    relation: LinearRelation
    element: int
    commitment: int
    challenge: int
    response: int


def weighted_sum(pool: Pool, claims: Sequence[Claim], weights: ScalarVec) -> Point:
    """The sum of all equations times their weights: the identity if all of them hold.

    `weights` has one entry for each equation of each claim.
    """
    by_shape: dict[Shape, list[Claim]] = {}
    for claim in claims:
        by_shape.setdefault(claim.relation.shape, []).append(claim)
    total, used = _Sum(pool), 0
    for shape, members in by_shape.items():
        end = used + len(members) * shape.equation_count
        total.add(shape, members, weights[used:end])
        used = end
    return total.evaluate()


@dataclass(slots=True)
class _Sum:
    """Points by their position in the pool, and what multiplies them."""

    pool: Pool
    commitments: list[int] = field(default_factory=list)
    weights: list[ScalarVec] = field(default_factory=list)
    elements: list[int] = field(default_factory=list)
    encodings: list[bytes] = field(default_factory=list)
    factors: list[ScalarVec] = field(default_factory=list)
    generator: list[Scalar] = field(default_factory=list)

    def add(self, shape: Shape, members: list[Claim], weights: ScalarVec) -> None:
        """Add all equations of claims of one shape; weights equation by equation."""
        columns = _columns(self.pool, shape, members, weights)
        self.weights.append(weights)
        for row in range(shape.equation_count):
            self.commitments += [claim.commitment + row for claim in members]
        size = self.pool.group.point_size
        for element, factors in columns.items():
            if element == 0:
                self.generator.append(factors.sum())
                continue
            start, end = (element - 1) * size, element * size
            self.elements += [claim.element + element - 1 for claim in members]
            self.encodings += [claim.relation.encoded_points[start:end] for claim in members]
            self.factors.append(factors)

    def evaluate(self) -> Point:
        """The sum. Weights are short, so the commitments get a sum of their own."""
        pool, group = self.pool, self.pool.group
        zero = group.scalars([])
        weights = concatenate(self.weights, zero)
        first = pool.commitments.gather(self.commitments).vartime_msm(weights)
        positions, factors = self._merge_shared(concatenate(self.factors, zero))
        points = pool.elements.gather(positions).concat(group.points([group.generator]))
        generator = sum(self.generator, start=group.scalar(0))
        return first + points.vartime_msm(factors.concat(vector(group, [generator])))

    def _merge_shared(self, factors: ScalarVec) -> tuple[list[int], ScalarVec]:
        """Each different element once, with all of its factors added up."""
        uses: dict[bytes, list[int]] = {}
        for index, encoding in enumerate(self.encodings):
            uses.setdefault(encoding, []).append(index)
        single = [indices[0] for indices in uses.values() if len(indices) == 1]
        shared = [indices for indices in uses.values() if len(indices) > 1]
        sums = vector(self.pool.group, [factors.gather(indices).sum() for indices in shared])
        positions = [self.elements[i] for i in single + [indices[0] for indices in shared]]
        return positions, factors.gather(single).concat(sums)


def _columns(
    pool: Pool, shape: Shape, members: list[Claim], weights: ScalarVec
) -> dict[int, ScalarVec]:
    """What multiplies each element: one vector over the claims for each index."""
    n, group = len(members), pool.group
    challenges = pool.challenges.gather([claim.challenge for claim in members])
    responses = [
        pool.responses.gather([claim.response + scalar for claim in members])
        for scalar in range(shape.scalar_count)
    ]
    columns: dict[int, ScalarVec] = {}

    def add(element: int, factors: ScalarVec, coefficient: int) -> None:
        if coefficient != 1:
            factors = factors * group.scalar(coefficient % group.order)
        columns[element] = columns[element] + factors if element in columns else factors

    for row, equation in enumerate(shape.equations):
        weight = weights[row * n : (row + 1) * n]
        for image in equation.image:
            add(image.element, weight * challenges, image.coefficient)
        for term in equation.terms:
            add(term.element, weight * responses[term.scalar], -term.coefficient)
    return columns
