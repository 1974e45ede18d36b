"""Several relations as one, with scalars in common (specification 02, section 5).

This is how one secret is proved to satisfy several statements at once. `AllOf`
does not say that: it keeps the witnesses of its children apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from wire.errors import UsageError
from zkp.sigma.relation import LinearRelation
from zkp.sigma.shape import Equation, ImageTerm, Shape, Term


def conjoin(parts: Sequence[tuple[LinearRelation, Sequence[int]]]) -> LinearRelation:
    """All relations hold, for one list of scalars.

    Beside each relation stands, for each of its scalars, the index of that scalar
    in the joint witness: equal indices mean the same secret. Elements are kept
    apart, in order.

    Raises:
        UsageError: no parts, several groups, or a list of indices that does not fit.
    """
    if not parts:
        raise UsageError("give at least one relation")
    first = parts[0][0]
    points = first.group.points([])
    equations: list[Equation] = []
    for relation, indices in parts:
        if relation.group != first.group:
            raise UsageError("the relations must be over one group")
        if len(indices) != relation.shape.scalar_count:
            raise UsageError("give one joint index for each scalar of the relation")
        equations += _renumber(relation.shape, indices, len(points))
        points = points.concat(relation.points)
    return LinearRelation(Shape(first.group, tuple(equations), 1 + len(points)), points)


def _renumber(shape: Shape, scalars: Sequence[int], offset: int) -> list[Equation]:
    def element(index: int) -> int:
        return index + offset if index else 0

    return [
        Equation(
            tuple(ImageTerm(element(t.element), t.coefficient) for t in e.image),
            tuple(Term(scalars[t.scalar], element(t.element), t.coefficient) for t in e.terms),
        )
        for e in shape.equations
    ]
