from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import VectorPedersen, derive_generators
from commitments.group import Group, PointVec, ScalarVec
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from wire.errors import InvalidProof, UsageError
from zkp.equations import Equation, EquationSum, Family, Term, holds, require_all
from zkp.transcript import Transcript

GROUPS = st.sampled_from(proving_groups())
LEFT = Family(b"bits/left")


def drawn(group: Group, count: int, seed: int) -> ScalarVec:
    return group.random_scalars(count, seeded(seed)).reveal()


def own(group: Group, count: int) -> PointVec:
    return group.map_to_points(seeded("points")(64 * count))


def true_equation(group: Group, count: int, seed: int, check: str = "00-X1") -> Equation:
    """Terms over shared and own bases that cancel."""
    bases, scalars = derive_generators(group, LEFT.name, count), drawn(group, count, seed)
    total = group.points([bases.vartime_msm(scalars)])
    return Equation(check, (Term(LEFT, scalars), Term(total, group.scalars([-1]))))


def false_equation(group: Group, check: str) -> Equation:
    return Equation(check, (Term(own(group, 1), group.scalars([1])),))


def transcript() -> Transcript:
    fresh = Transcript(b"tests of equations")
    fresh.absorb(b"context", b"context")
    return fresh


@given(GROUPS, st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2**128)), max_size=8))
@settings(max_examples=examples(20), deadline=None)
def test_the_sum_is_what_the_terms_say(group: Group, parts: list[tuple[int, int]]) -> None:
    total, expected = EquationSum(group), group.identity
    for seed, (count, weight) in enumerate(parts):
        scalars, points, factor = drawn(group, count, seed), own(group, count), group.scalar(weight)
        family = VectorPedersen(group, count)
        terms = (
            Term(LEFT, scalars),
            Term(points, scalars),
            Term(Family(b"vector-pedersen/value", count), scalars),
        )
        total.add(Equation("00-X1", terms), factor)
        bases = derive_generators(group, LEFT.name, count)
        for vector in (bases, points, family.value_bases):
            expected = expected + vector.vartime_msm(scalars) * factor
    assert total.value() == expected


def test_many_equations_are_merged_on_the_way(group: Group) -> None:
    total = EquationSum(group)
    for seed in range(130):
        total.add(true_equation(group, 3, seed), group.scalar(seed + 1))
    assert total.value().is_identity()
    total.add(false_equation(group, "00-X2"), group.scalar(1))
    assert not total.value().is_identity()


def test_a_term_has_a_scalar_for_each_point(group: Group) -> None:
    points = own(group, 3)
    EquationSum(group).add(Equation("00-X1", (Term(points, drawn(group, 3, 1)),)), group.scalar(1))
    for count in (2, 4):
        short = Equation("00-X1", (Term(points, drawn(group, count, 1)),))
        with pytest.raises(UsageError):
            EquationSum(group).add(short, group.scalar(1))


def test_the_first_equation_that_fails_is_cited(group: Group) -> None:
    good = true_equation(group, 4, 1)
    require_all(group, [good, good], transcript())
    for equations, cited in (
        ([good, false_equation(group, "00-X2")], "00-X2"),
        ([false_equation(group, "00-X3"), good, false_equation(group, "00-X2")], "00-X3"),
    ):
        with pytest.raises(InvalidProof) as refused:
            require_all(group, equations, transcript())
        assert refused.value.check == cited


def test_errors_of_two_equations_do_not_cancel(group: Group) -> None:
    point = own(group, 1)
    up = Equation("00-X1", (Term(point, group.scalars([5])),))
    down = Equation("00-X2", (Term(point, group.scalars([-5])),))
    plain = EquationSum(group)
    plain.add(up, group.scalar(1))
    plain.add(down, group.scalar(1))
    assert plain.value().is_identity()
    assert not holds(group, up)
    with pytest.raises(InvalidProof):
        require_all(group, [up, down], transcript())
