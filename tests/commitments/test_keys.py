"""What was made under one key means nothing under another, also where all sizes fit."""

from __future__ import annotations

import pytest

from commitments import Commitment, Opening, Pedersen, RevealedOpening, VectorPedersen
from commitments.group import Group
from tests.randomness import seeded
from wire.errors import UsageError

Key = Pedersen | VectorPedersen


def keys(group: Group, kind: str) -> tuple[Key, Key]:
    """A key, and another whose commitments to one value have the same form."""
    scalar, vector = Pedersen(group), VectorPedersen(group, 1)
    return (scalar, vector) if kind == "scalar" else (vector, scalar)


@pytest.mark.parametrize("kind", ["scalar", "vector"])
def test_a_part_under_another_key_is_refused(group: Group, kind: str) -> None:
    key, other = keys(group, kind)
    commitment, secret = key.commit_fresh(group.secret_scalars([5]), rng=seeded(1))
    opening = secret.reveal()
    key.verify_opening(commitment, opening)
    with pytest.raises(UsageError):
        key.verify_opening(Commitment(other, commitment.points), opening)
    with pytest.raises(UsageError):
        key.verify_opening(commitment, RevealedOpening(other, opening.values, opening.blindings))


@pytest.mark.parametrize("kind", ["scalar", "vector"])
def test_the_key_is_part_of_what_is_compared(group: Group, kind: str) -> None:
    key, other = keys(group, kind)
    commitment, secret = key.commit_fresh(group.secret_scalars([5]), rng=seeded(1))
    opening = secret.reveal()
    assert Commitment(key, commitment.points) == commitment
    assert Commitment(other, commitment.points) != commitment
    assert RevealedOpening(key, opening.values, opening.blindings) == opening
    assert RevealedOpening(other, opening.values, opening.blindings) != opening
    assert len({commitment, Commitment(key, commitment.points)}) == 1
    assert len({opening, RevealedOpening(key, opening.values, opening.blindings)}) == 1
    assert commitment != commitment.to_bytes()
    assert opening != opening.to_bytes()


def test_a_second_commitment_or_opening_of_a_vector_is_not_overlooked(group: Group) -> None:
    key = VectorPedersen(group, 2)
    commitment, secret = key.commit_fresh(group.secret_scalars([5, 6]), rng=seeded(1))
    opening = secret.reveal()
    key.verify_opening(commitment, opening)
    two = Commitment(key, commitment.points.concat(commitment.points))
    with pytest.raises(UsageError):
        key.verify_opening(two, opening)
    twice = RevealedOpening(
        key, opening.values.concat(opening.values), opening.blindings.concat(opening.blindings)
    )
    with pytest.raises(UsageError):
        key.verify_opening(commitment, twice)


@pytest.mark.parametrize("dimension", [1, 2])
def test_openings_have_as_many_values_as_their_key_says(group: Group, dimension: int) -> None:
    key = VectorPedersen(group, dimension)
    values, blindings = (
        group.random_scalars(dimension, seeded(1)),
        group.random_scalars(1, seeded(2)),
    )
    assert len(Opening(key, values, blindings)) == 1
    for wrong in (values.concat(values), values[1:]):
        with pytest.raises(UsageError):
            Opening(key, wrong, blindings)
        with pytest.raises(UsageError):
            RevealedOpening(key, wrong.reveal(), blindings.reveal())
