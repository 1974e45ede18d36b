"""The smallest and oddest statements, and values that are no bits, with careless provers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from commitments import Opening, Pedersen, VectorPedersen, derive_generators
from commitments.group import Group, Scalar, SecretScalarVec
from tests.randomness import seeded
from tests.zkp.bits.samples import Sample, sample, transcript
from wire.errors import InvalidProof
from zkp.bits import (
    BitCommitment,
    BitForm,
    CommittedValue,
    CommittedVector,
    Public,
    prove_committed,
    prover,
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
