"""Writing relations the way papers do (specification 02, section 3).

    build = RelationBuilder(group)
    x = build.scalar()
    H, X, Y = build.elements(3)
    build.equation(X, x * build.generator)
    build.equation(Y, x * H)
    relation = LinearRelation(build.shape(), points)

Terms keep the order in which they are written, left side first. A term without
a secret scalar is a constant and goes to the image; one with a scalar goes to the
terms; a term that changes sides changes its sign.
"""

from __future__ import annotations

from dataclasses import dataclass

from commitments.group import Group
from wire.errors import UsageError
from zkp.sigma.relation import ImageTerm, RelationEquation, RelationShape, RelationTerm


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
    """The name of a secret scalar, times a public factor."""

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
    """Collects names and equations; indices follow the order of declaration."""

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
        """Several new elements."""
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
