"""Shapes of a pattern are those that their equations make when they are written out."""

from __future__ import annotations

import pytest

from commitments.group import Group
from tests.zkp.sigma.samples import base
from wire.errors import UsageError
from zkp.sigma import LinearRelation, RelationBuilder, RelationShape
from zkp.sigma.pattern import RelationPattern

FACTORS = [(5, 7, 2**130, 3), (1, 1, 1, 1), (-1, 0, 4, -(2**200))]


def written(group: Group, u: int, v: int, w: int, t: int) -> RelationShape:
    """x G = X; u X + v Y = x Y + y H; X + Y = w x H + t z X; Y = z G."""
    build = RelationBuilder(group)
    X, Y, H = build.elements(3)
    x, y, z = build.scalars(3)
    build.equation(X, x * build.generator)
    build.equation(u * X + v * Y, x * Y + y * H)
    build.equation(X + Y, w * (x * H) + t * (z * X))
    build.equation(Y, z * build.generator)
    return build.shape()


def filled(group: Group, u: int, v: int, w: int, t: int) -> RelationShape:
    pattern = RelationPattern(written(group, 1, 1, 1, 1), images=[1], terms=[2])
    return pattern.shape(group.scalars([u, v]), group.scalars([w, t]))


@pytest.mark.parametrize("factors", FACTORS, ids=str)
def test_a_filled_pattern_is_the_shape_of_its_equations(
    group: Group, factors: tuple[int, int, int, int]
) -> None:
    found, wanted = filled(group, *factors), written(group, *factors)
    order = group.order
    reduced = RelationShape(
        group,
        tuple(
            type(each)(
                tuple(type(t)(t.element, t.coefficient % order) for t in each.image),
                tuple(type(t)(t.scalar, t.element, t.coefficient % order) for t in each.terms),
            )
            for each in wanted.equations
        ),
        wanted.element_count,
    )
    assert found.equations == reduced.equations
    assert found.header == wanted.header
    assert found.violation is None
    assert found.interleaved == wanted.interleaved
    assert found.scalar_count == wanted.scalar_count
    for ours, theirs in ((found.image, wanted.image), (found.terms, wanted.terms)):
        assert ours.coefficients == theirs.coefficients
        assert (ours.elements, ours.scalars, ours.lengths) == (
            theirs.elements,
            theirs.scalars,
            theirs.lengths,
        )
    assert {*wanted.uncertain_images} <= {*found.uncertain_images}
    assert {*wanted.uncertain_columns} <= {*found.uncertain_columns}


def test_factors_that_make_a_relation_degenerate_are_found(group: Group) -> None:
    """With the factors of one twin everything is well, with those of the other nothing is shown."""
    X, Y, H = (base(group, name) for name in "XYH")
    points = group.points([X, Y, H])
    assert LinearRelation(filled(group, 5, 7, 2, 3), points).violation is None
    cases = [
        ((0, 0, 2, 3), "02-I9"),
        ((0, 1, 2, 3), None),
        ((5, 7, 0, 0), None),  # x and z are in other equations as well
    ]
    for factors, rule in cases:
        for shape in (filled(group, *factors), written(group, *factors)):
            violation = LinearRelation(shape, points).violation
            assert (violation and violation.check) == rule


def test_a_pattern_takes_a_factor_for_each_entry(group: Group) -> None:
    pattern = RelationPattern(written(group, 1, 1, 1, 1), images=[1], terms=[2])
    two = group.scalars([1, 2])
    assert pattern.shape(two, two).violation is None
    more = group.scalars([1, 2, 3])
    for images, terms in ((two[:1], two), (two, two[:1]), (more, two), (two, more)):
        with pytest.raises(UsageError):
            pattern.shape(images, terms)
