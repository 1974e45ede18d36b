"""The argument accepts true statements of every shape, also the smallest and oddest."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Opening, Pedersen, VectorPedersen, derive_generators
from commitments.group import Group, Scalar, SecretScalarVec
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.randomness import seeded
from tests.zkp.bits.samples import KINDS, Sample, sample, transcript
from wire.errors import InvalidProof, UsageError
from zkp.bits import (
    BitCommitment,
    BitForm,
    BitStatement,
    CommittedValue,
    CommittedVector,
    ConstraintShape,
    Layout,
    Openings,
    Public,
    commit_bits,
    layout_of,
    proof_size,
    prove_committed,
    prover,
    verify,
)
from zkp.bits.layout import padded_length
from zkp.bits.witness import WitnessScalars

GROUPS = st.sampled_from(proving_groups())
MIXTURES = st.lists(st.sampled_from(KINDS), min_size=1, max_size=5)


@given(GROUPS, st.integers(1, 40), MIXTURES, st.integers(0, 1000))
@settings(max_examples=examples(40), deadline=None)
def test_every_true_statement_is_proved(
    group: Group, bit_count: int, kinds: list[str], seed: int
) -> None:
    made = sample(group, bit_count, kinds, seed)
    proof = made.prove(seed=seed)
    assert len(proof) == proof_size(group, made.shape().layout)
    made.verify(proof)


@pytest.mark.parametrize("bit_count", [1, 2, 3, 7, 8, 9, 11, 15, 16, 23, 31, 47, 64, 100])
def test_every_length_has_the_documented_size(group: Group, bit_count: int) -> None:
    made = sample(group, bit_count, ["public"])
    made.verify(made.prove())
    M = made.shape().layout.length
    assert bit_count <= M
    assert M.bit_count() <= 3
    folds = M.bit_length() - 1
    assert len(made.prove()) == 32 * (9 + 2 * folds + 2 * (M.bit_count() - 1))


def test_sixty_four_bits_take_672_bytes(group: Group) -> None:
    assert proof_size(group, layout_of(64)) == 672


@given(st.integers(1, 1 << 20))
def test_no_shorter_length_has_so_few_ones(positions: int) -> None:
    length = padded_length(positions)
    assert length.bit_count() <= 3
    assert all(n.bit_count() > 3 for n in range(positions, min(length, positions + 4096)))


@pytest.mark.parametrize(
    ("bit_count", "dimensions"),
    [(0, ()), (-1, ()), (4, (2, 2)), (4, (3, 1)), (4, (0,)), (1 << 25, ())],
)
def test_impossible_layouts_are_refused(bit_count: int, dimensions: tuple[int, ...]) -> None:
    with pytest.raises(UsageError):
        Layout(bit_count, dimensions)


def test_bits_committed_early_prove_later(group: Group) -> None:
    made = sample(group, 10, ["committed", "2"])
    bits = group.secret_scalars(made.bits)
    early = commit_bits(group, layout_of(10, (2,)), bits, transcript(), rng=seeded(1))
    openings = made.secret_openings()
    proof = prove_committed(made.statement(), early, openings, transcript(), rng=seeded(2))
    verify(made.statement(), proof, transcript(), committed=early.point)
    verify(made.statement(), proof, transcript())
    other = commit_bits(group, layout_of(10, (2,)), bits, transcript(), rng=seeded(3))
    with pytest.raises(InvalidProof) as refused:
        verify(made.statement(), proof, transcript(), committed=other.point)
    assert refused.value.check == "06-A12"


def test_a_bit_commitment_serves_once(group: Group) -> None:
    made = sample(group, 5, ["committed"])
    bits = group.secret_scalars(made.bits)
    early = commit_bits(group, layout_of(5), bits, transcript(), rng=seeded(1))
    openings = made.secret_openings()
    made.verify(prove_committed(made.statement(), early, openings, transcript(), rng=seeded(2)))
    with pytest.raises(UsageError):
        prove_committed(made.statement(), early, openings, transcript(), rng=seeded(2))


def test_a_bit_commitment_has_one_layout(group: Group) -> None:
    made = sample(group, 5, ["committed"])
    bits = group.secret_scalars([*made.bits, 0])
    early = commit_bits(group, layout_of(6), bits, transcript(), rng=seeded(1))
    with pytest.raises(UsageError):
        prove_committed(
            made.statement(), early, made.secret_openings(), transcript(), rng=seeded(2)
        )


def test_secrets_do_not_leave(group: Group) -> None:
    made = sample(group, 5, ["committed"])
    bits = group.secret_scalars(made.bits)
    early = commit_bits(group, layout_of(5), bits, transcript(), rng=seeded(1))
    for secret in (early, made.secret_openings()):
        assert repr(secret) == f"<{type(secret).__name__}: secret>"
        with pytest.raises(UsageError):
            pickle.dumps(secret)
        with pytest.raises(UsageError):
            hash(secret)
        with pytest.raises(UsageError):
            _ = secret == object()


def test_proofs_of_one_statement_differ(group: Group) -> None:
    made = sample(group, 5, ["committed"])
    assert made.prove(seed=1) != made.prove(seed=2)


def test_a_repeating_generator_still_hides(group: Group) -> None:
    """Two statements with equal randomness: were sigma and s equal, S would be equal too."""
    first, second = sample(group, 5, ["committed"]), sample(group, 5, ["committed"], seed=2)
    a, b = first.prove(seed=1), second.prove(seed=1)
    assert a[32:64] != b[32:64]
    assert a[:32] != b[:32]


def test_known_randomness_does_not_confirm_a_guess_of_the_bits(group: Group) -> None:
    """Bits can be guessed; the openings that hedge their commitment cannot."""
    made = sample(group, 5, ["committed"])
    proof = made.prove(seed=1)
    made.verify(proof)
    bits, bound = group.secret_scalars(made.bits), transcript()
    made.statement().absorb(bound)
    layout = made.shape().layout
    opening = made.openings[0]
    known = opening.values.concat(opening.blindings)

    def guess(hedge: SecretScalarVec | None) -> bytes:
        return commit_bits(group, layout, bits, bound, rng=seeded(1), hedge=hedge).point.to_bytes()

    assert proof[:32] == guess(known)
    assert proof[:32] != guess(None)
    assert proof[:32] != guess(known + group.scalar(1))


def false_statements(group: Group) -> dict[str, Sample]:
    """Statements that the witness does not satisfy, each wrong in one place."""
    wrong = {}
    for kind in ("public", "committed", "2"):
        constant = sample(group, 6, [kind, "committed"])
        constant.constants[0] += 1
        wrong[f"constant of {kind}"] = constant
    opening = sample(group, 6, ["committed"])
    opening.openings[0] = sample(group, 6, ["committed"], seed=9).openings[0]
    wrong["value"] = opening
    blinding = sample(group, 6, ["committed"])
    blinding.commitments[0] = sample(group, 6, ["committed"], seed=9).commitments[0]
    wrong["commitment"] = blinding
    vector = sample(group, 6, ["2"])
    vector.vectors[0] = sample(group, 6, ["2"], seed=9).vectors[0]
    wrong["vector commitment"] = vector
    bit = sample(group, 6, ["committed"])
    bit.constraints = list(sample(group, 6, ["committed"], seed=5).constraints)
    bit.varying = list(sample(group, 6, ["committed"], seed=5).varying)
    wrong["row"] = bit
    return wrong


NAMES = [
    "constant of public", "constant of committed", "constant of 2", "value", "commitment",
    "vector commitment", "row",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_witness_that_does_not_fit_is_refused(group: Group, name: str) -> None:
    sample(group, 6, ["committed", "2"]).prove()
    with pytest.raises(UsageError):
        false_statements(group)[name].prove()


def test_openings_are_of_the_kind_that_their_constraint_commits_with(group: Group) -> None:
    made = sample(group, 6, ["committed", "1"])
    made.prove()
    value, vector = made.openings[0], made.vector_openings[0]
    made.openings[0] = Opening(VectorPedersen(group, 1), value.values, value.blindings)
    with pytest.raises(UsageError):
        made.prove()
    made.openings[0] = value
    made.vector_openings[0] = Opening(Pedersen(group), vector.values, vector.blindings)
    with pytest.raises(UsageError):
        made.prove()


def test_statements_have_the_parts_of_their_shape(group: Group) -> None:
    made = sample(group, 6, ["committed", "2"])
    shape = made.shape()
    with pytest.raises(UsageError):
        ConstraintShape(group, 6, [])
    for position in (6, -1, True):
        with pytest.raises(UsageError):
            ConstraintShape(group, 6, [Public(BitForm(((position, 1),)))])
    parts = {"constants": made.constants, "varying": made.varying}
    commitments = {"commitments": made.commitments, "vectors": made.vectors}
    statement = BitStatement.of(shape, **parts, **commitments)  # type: ignore[arg-type]
    verify(statement, made.prove(), transcript())
    other = sample(group, 6, ["1"]).vectors
    for name, wrong in {
        "constants": [*made.constants, 0],
        "varying": [*made.varying, 0],
        "commitments": made.commitments * 2,
        "vectors": [],
    }.items():
        changed = {**parts, **commitments, name: wrong}
        with pytest.raises(UsageError) as caught:
            BitStatement.of(shape, **changed)  # type: ignore[arg-type]
        assert caught.value.field == name
    for name in ("commitments", "vectors"):
        with pytest.raises(UsageError):
            BitStatement.of(shape, **{**parts, **commitments, name: other})  # type: ignore[arg-type]


def test_openings_are_those_of_the_statement(group: Group) -> None:
    made = sample(group, 6, ["committed", "2"])
    made.prove()
    own, vector = made.openings[0], made.vector_openings[0]
    two = Opening(vector.key, group.secret_scalars([1, 2, 3, 4]), group.secret_scalars([5, 6]))
    for openings, vectors in (
        ([], [vector]),
        ([own, own], [vector]),
        ([vector], [vector]),
        ([own], []),
        ([own], [own]),
        ([own], [two]),
    ):
        with pytest.raises(UsageError):
            WitnessScalars.of(made.statement(), Openings(openings, vectors))


def test_shapes_are_equal_where_they_say_the_same(group: Group) -> None:
    made = sample(group, 6, ["committed", "2"])
    shape, same = made.shape(), made.shape()
    assert shape == same
    assert hash(shape) == hash(same)
    assert shape != ConstraintShape(group, 7, made.constraints)
    assert shape != shape.digest
    assert len(repr(shape)) < 100


def test_values_that_are_no_bits_are_refused(group: Group) -> None:
    made = sample(group, 6, ["public"])
    made.prove()
    for value in (2, -1, group.order - 1):
        bits = group.secret_scalars([*made.bits[:-1], value])
        with pytest.raises(UsageError):
            commit_bits(group, layout_of(6), bits, transcript(), rng=seeded(1))
    with pytest.raises(UsageError):
        commit_bits(
            group, layout_of(7), group.secret_scalars(made.bits), transcript(), rng=seeded(1)
        )


EMPTY = BitForm(())


def made_of(
    group: Group, bits: list[int], *constraints: CommittedValue | Public | CommittedVector
) -> Sample:
    """A true statement with constants 0 that commits to what the rows give."""
    made = Sample(group, bits, list(constraints))
    for seed, constraint in enumerate(constraints):
        rows = constraint.rows if isinstance(constraint, CommittedVector) else (constraint.row,)
        values = [sum(k * bits[at] for at, k in row.fixed) % group.order for row in rows]
        made.constants += [0] * len(rows)
        if isinstance(constraint, CommittedVector):
            made.commit_vector(values, seed)
        elif isinstance(constraint, CommittedValue):
            made.commit(values[0], seed)
        else:
            made.constants[-1] = -values[0] % group.order
    return made


def largest(group: Group) -> BitForm:
    return BitForm(((0, group.order - 1), (1, 1 - group.order)))


CANCELS = BitForm(((0, 1), (0, -1)))
BIT = BitForm(((0, 1),))

SHAPES: dict[str, Callable[[Group], Sample]] = {
    "one bit": lambda group: made_of(group, [1], CommittedValue(BIT)),
    "one bit, public": lambda group: made_of(group, [1], Public(BIT)),
    "one bit, one coordinate": lambda group: made_of(group, [1], CommittedVector((BIT,))),
    "more coordinates than bits": lambda group: made_of(
        group, [1], CommittedVector((BIT, EMPTY, BIT))
    ),
    "no bit enters": lambda group: made_of(group, [1], CommittedValue(EMPTY)),
    "no bit enters, public": lambda group: made_of(group, [0], Public(EMPTY)),
    "no bit enters the vector": lambda group: made_of(group, [0], CommittedVector((EMPTY, EMPTY))),
    "coefficients cancel": lambda group: made_of(
        group, [1], CommittedValue(CANCELS), Public(CANCELS)
    ),
    "largest coefficients": lambda group: made_of(group, [1, 1], CommittedValue(largest(group))),
    "one row three times": lambda group: made_of(group, [1, 0], *[CommittedValue(BIT)] * 3),
    "one key three times": lambda group: made_of(group, [1, 0], *[CommittedVector((BIT, BIT))] * 3),
    "keys in falling order": lambda group: sample(group, 3, ["3", "1", "2", "1"]),
}


def shift_constant(made: Sample, place: int, by: int) -> None:
    made.constants[place] = (made.constants[place] + by) % made.group.order


def shift_commitment(made: Sample, place: int, by: int) -> None:
    key, scalar = Pedersen(made.group), made.group.scalar(by)
    old, opening = made.commitments[place], made.openings[place]
    made.commitments[place] = replace(old, points=old.points + key.value_base * scalar)
    made.openings[place] = Opening(key, opening.values + scalar, opening.blindings)


def shift_coordinate(made: Sample, place: int, coordinate: int, by: int) -> None:
    group, opening, old = made.group, made.vector_openings[place], made.vectors[place]
    key = VectorPedersen(group, len(opening.values))
    error = group.scalars([by * (i == coordinate) for i in range(key.dimension)])
    points = old.points + key.value_bases.vartime_msm(error)
    made.vectors[place] = replace(old, points=points)
    made.vector_openings[place] = Opening(key, opening.values + error, opening.blindings)


def falsehoods(made: Sample) -> list[Callable[[Sample], None]]:
    """One change for every value that a statement speaks of, and pairs that cancel."""
    changes: list[Callable[[Sample], None]] = [
        partial(shift_constant, place=i, by=1) for i in range(len(made.constants))
    ]
    changes += [partial(shift_commitment, place=i, by=1) for i in range(len(made.commitments))]
    sizes = [len(opening.values) for opening in made.vector_openings]
    for i, size in enumerate(sizes):
        changes += [partial(shift_coordinate, place=i, coordinate=j, by=1) for j in range(size)]
    if len(made.commitments) > 1:
        changes.append(partial(cancelling, shift=shift_commitment))
    if len(sizes) > 1 and sizes[0] == sizes[1]:
        changes.append(partial(cancelling, shift=partial(shift_coordinate, coordinate=0)))
    return changes


def cancelling(made: Sample, shift: Callable[..., None]) -> None:
    """One more in the first, one less in the second."""
    shift(made, place=0, by=1)
    shift(made, place=1, by=-1)


@pytest.mark.parametrize("name", SHAPES)
def test_no_false_value_passes(group: Group, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SHAPES[name](group)
    honest.verify(honest.prove())
    monkeypatch.setattr(prover, "require_satisfied", lambda *_: None)
    monkeypatch.setattr(prover, "require_valid", lambda *_: None)
    for change in falsehoods(honest):
        made = SHAPES[name](group)
        made.verify(made.prove())
        change(made)
        with pytest.raises(InvalidProof) as refused:
            made.verify(made.prove())
        assert refused.value.check == "06-A9"


@pytest.mark.parametrize(
    "pair", [(0, -1), (1, 0), (2, 1), (-1, -2), (2, 0), (1, 1), (0, 0), (0, 1)]
)
@pytest.mark.parametrize("position", [0, 13])
def test_only_zero_and_one_are_bits(
    group: Group, position: int, pair: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any a on a left base and b on the right one, on a bit and on a padding bit."""
    a, b = pair
    made = made_of(group, [0] * 13, Public(BitForm(((1, 1),))), CommittedVector((BIT, EMPTY)))
    layout = made.shape().layout
    assert layout.bit_positions == 14
    unit = group.scalars([int(i == position) for i in range(14)])
    halves = prover._Proving._halves

    def shifted(
        proving: prover._Proving, bits: SecretScalarVec, y: Scalar, z: Scalar
    ) -> prover._Halves:
        """r holds bits - 1 already; it shall hold b where the bits hold a."""
        found = halves(proving, bits, y, z)
        extra = (unit * group.powers(y, 14) * group.scalar(b - a + 1)).concat(group.scalars([0, 0]))
        return replace(found, right_0=found.right_0 + extra)

    monkeypatch.setattr(prover, "require_satisfied", lambda *_: None)
    monkeypatch.setattr(prover, "require_valid", lambda *_: None)
    monkeypatch.setattr(prover._Proving, "_halves", shifted)
    bits, blinding = (unit * group.scalar(a)).secret(), group.secret_scalar(5)
    left, right = (derive_generators(group, name, 14) for name in (b"bits/left", b"bits/right"))
    point = left.msm(bits) - right.sum() + right[position] * group.scalar(b + 1)
    point = point + Pedersen(group).blinding_base * blinding
    committed = BitCommitment(group, layout, point, bits, group.scalars([1]) * blinding)
    if position == 0:
        made.vectors.clear()
        made.vector_openings.clear()
        made.commit_vector([a, 0], 1)
    proof = prove_committed(
        made.statement(), committed, made.secret_openings(), transcript(), rng=seeded(1)
    )
    if pair in {(0, -1), (1, 0)}:
        made.verify(proof)
        return
    with pytest.raises(InvalidProof) as refused:
        made.verify(proof)
    assert refused.value.check == "06-A9"
