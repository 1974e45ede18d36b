"""Which relations are refused, how they are encoded, and what the notation compiles to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from commitments.group import Group, Point
from tests.randomness import seeded
from tests.zkp.sigma.samples import accepted, base, compositions, context, proved, relations, sample
from tests.zkp.sigma.sigma_vectors import parse_composed, parse_relation
from wire.errors import InvalidProof, MalformedMessage, UsageError
from zkp.sigma import (
    AllOf,
    AnyOf,
    BatchVerifier,
    Form,
    ImageTerm,
    LinearRelation,
    RelationBuilder,
    RelationEquation,
    RelationShape,
    RelationTerm,
    Statement,
    prove,
    verify,
)
from zkp.sigma.pattern import RelationPattern
from zkp.sigma.proof import proof_length, prove_narg, verify_narg
from zkp.sigma.statements import discrete_log, witness

X_EQUALS_XG = RelationEquation((ImageTerm(1),), (RelationTerm(0, 0),))


def relation(
    group: Group,
    equations: Sequence[RelationEquation],
    points: Sequence[Point],
    elements: int | None = None,
) -> LinearRelation:
    count = 1 + len(points) if elements is None else elements
    return LinearRelation(RelationShape(group, tuple(equations), count), group.points(points))


def broken_relations(group: Group) -> dict[str, LinearRelation]:
    """For each rule a relation that breaks it and none before it."""
    X, Y = base(group, "X"), base(group, "Y")
    two_scalars = RelationEquation((ImageTerm(1),), (RelationTerm(0, 0), RelationTerm(2, 0)))
    cancelling = RelationEquation(
        (ImageTerm(1),), (RelationTerm(0, 0), RelationTerm(1, 2), RelationTerm(1, 3, -1))
    )
    return {
        "02-I1": relation(group, [], []),
        "02-I2 image": relation(
            group, [X_EQUALS_XG, RelationEquation((), (RelationTerm(0, 0),))], [X]
        ),
        "02-I2 terms": relation(group, [X_EQUALS_XG, RelationEquation((ImageTerm(1),), ())], [X]),
        "02-I3 scalar": relation(
            group, [RelationEquation((ImageTerm(1),), (RelationTerm(2**32, 0),))], [X]
        ),
        "02-I3 element": relation(
            group, [RelationEquation((ImageTerm(-1),), (RelationTerm(0, 0),))], [X]
        ),
        "02-I4": relation(group, [RelationEquation((ImageTerm(2),), (RelationTerm(0, 0),))], [X]),
        "02-I5": relation(group, [X_EQUALS_XG], [X, Y]),
        "02-I6": relation(group, [two_scalars], [X]),
        "02-I8": relation(group, [X_EQUALS_XG], [group.identity]),
        "02-I9": relation(
            group, [RelationEquation((ImageTerm(1), ImageTerm(2)), (RelationTerm(0, 0),))], [X, -X]
        ),
        "02-I9 zero": relation(
            group, [RelationEquation((ImageTerm(1, 0),), (RelationTerm(0, 0),))], [X]
        ),
        "02-I10": relation(group, [cancelling], [X, Y, Y]),
        "02-I10 zero": relation(
            group, [RelationEquation((ImageTerm(1),), (RelationTerm(0, 0, 0),))], [X]
        ),
    }


RULES = (
    "02-I1", "02-I2 image", "02-I2 terms", "02-I3 scalar", "02-I3 element", "02-I4", "02-I5",
    "02-I6", "02-I8", "02-I9", "02-I9 zero", "02-I10", "02-I10 zero",
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_degenerate_relations_are_refused_by_prover_and_verifier(group: Group, rule: str) -> None:
    statement, _ = accepted(group, "discrete_log")
    bad = broken_relations(group)[rule]
    refuse_everywhere(group, bad, rule.split(maxsplit=1)[0])
    refuse_everywhere(group, AllOf((statement, bad)), rule.split(maxsplit=1)[0])
    refuse_everywhere(group, AnyOf(1, (statement, bad)), rule.split(maxsplit=1)[0])


def refuse_everywhere(group: Group, bad: Statement, check: str) -> None:
    secret = group.secret_scalars([1])
    with pytest.raises(UsageError):
        prove(bad, secret, context(), rng=seeded(1))
    for form in Form:
        with pytest.raises(UsageError):
            prove_narg(form, bytes(32), bad, secret, secret)
        with pytest.raises(InvalidProof) as refusal:
            verify_narg(form, bytes(32), bad, bytes(64))
        assert refusal.value.check == check
    for form in Form:
        with pytest.raises(InvalidProof) as refusal:
            verify(bad, bytes(64), context(), form=form)
        assert refusal.value.check == check
    batch = BatchVerifier(group, rng=seeded(1))
    batch.add(bad, bytes(64), context())
    with pytest.raises(InvalidProof) as refusal:
        batch.verify()
    assert refusal.value.culprits == (0,)


def test_the_generator_cannot_be_replaced(group: Group) -> None:
    statement = discrete_log(group, base(group, "X"))
    assert statement.elements[0] == group.generator
    with pytest.raises(UsageError):
        replace(statement, points=statement.elements)


def test_points_that_differ_keep_a_column_alive(group: Group) -> None:
    x, Y, Z = group.secret_scalar(5), base(group, "Y"), base(group, "Z")
    difference = RelationEquation((ImageTerm(1),), (RelationTerm(0, 2), RelationTerm(0, 3, -1)))
    good = relation(group, [difference], [(Y - Z) * x, Y, Z])
    proved(good, witness(group, x))
    bad = relation(group, [difference], [base(group, "X"), Y, Y])
    assert bad.violation is not None
    assert bad.violation.check == "02-I10"


def test_encoding_of_the_chaum_pedersen_example(group: Group) -> None:
    one = (1).to_bytes(32, "little")

    def n(value: int) -> bytes:
        return value.to_bytes(4, "little")

    header = (
        n(2)
        + n(1) + n(2) + one + n(1) + n(0) + n(0) + one
        + n(1) + n(3) + one + n(1) + n(0) + n(1) + one
    )  # fmt: skip
    found = sample(group, "dleq").statement
    assert isinstance(found, LinearRelation)
    assert found.serialize() == header + found.points.to_bytes()


def test_encodings_can_be_read_back(group: Group) -> None:
    for found in relations(group):
        encoded = found.statement.serialize()
        assert parse_relation(group, encoded).serialize() == encoded
    for found in compositions(group):
        encoded = found.statement.serialize()
        assert parse_composed(group, encoded).serialize() == encoded


def test_no_encoding_is_a_prefix_of_another(group: Group) -> None:
    encodings = [found.statement.serialize() for found in compositions(group)]
    for i, first in enumerate(encodings):
        for j, second in enumerate(encodings):
            assert i == j or not second.startswith(first)


def test_received_elements_are_decoded_strictly(group: Group) -> None:
    statement = sample(group, "dleq").statement
    assert isinstance(statement, LinearRelation)
    data = statement.points.to_bytes()
    decoded = LinearRelation.decode(statement.shape, data)
    assert decoded.serialize() == statement.serialize()
    for wrong in (data[:-1], data + b"\0", b"", bytes(32) + data[32:], b"\xff" * 32 + data[32:]):
        with pytest.raises(MalformedMessage):
            LinearRelation.decode(statement.shape, wrong)


def test_proof_lengths(group: Group) -> None:
    lengths = {
        found.name: (
            proof_length(Form.BATCHABLE, found.statement),
            proof_length(Form.COMPACT, found.statement),
        )
        for found in (*relations(group), *compositions(group))
    }
    assert lengths["discrete_log"] == (64, 64)
    assert lengths["dleq"] == (96, 64)
    assert lengths["product"] == (256, 192)
    assert lengths["one_of_two"] == (160, 128)


def test_notation_compiles_as_the_draft_says(group: Group) -> None:
    build = RelationBuilder(group)
    x = build.scalar()
    X, E0, E1, M = build.elements(4)
    build.equation(X, x * build.generator)
    build.equation(M, x * E0 - E1)
    assert build.shape().equations == (
        RelationEquation((ImageTerm(1),), (RelationTerm(0, 0),)),
        RelationEquation((ImageTerm(4), ImageTerm(3)), (RelationTerm(0, 2),)),
    )


def test_notation_distributes_and_moves_terms_between_sides(group: Group) -> None:
    build = RelationBuilder(group)
    r, s = build.scalars(2)
    A, B, C = build.elements(3)
    build.equation(C - 2 * (r * (A + B)), -s * B + 3 * A - build.generator)
    assert build.shape().equations == (
        RelationEquation(
            (ImageTerm(3), ImageTerm(1, -3), ImageTerm(0, 1)),
            (RelationTerm(0, 1, 2), RelationTerm(0, 2, 2), RelationTerm(1, 2, -1)),
        ),
    )


def test_notation_refuses_what_is_not_linear_or_not_used(group: Group) -> None:
    build = RelationBuilder(group)
    x, y = build.scalars(2)
    A = build.element()
    with pytest.raises(UsageError):
        x * (y * A)
    build.equation(A, x * build.generator)
    with pytest.raises(UsageError):
        build.shape()
    build.equation(A, y * build.generator)
    assert build.shape().violation is None


def test_coefficients_may_exceed_the_order(group: Group) -> None:
    build = RelationBuilder(group)
    x, X = build.scalar(), build.element()
    build.equation(X, (group.order + 1) * x * build.generator)
    plain = sample(group, "discrete_log").statement
    assert isinstance(plain, LinearRelation)
    assert LinearRelation(build.shape(), plain.points).serialize() == plain.serialize()


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
