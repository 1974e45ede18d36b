from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Pedersen, RevealedOpening, VectorPedersen
from commitments.group import Group
from tests.group.backends import installed_groups
from tests.pace import examples
from tests.randomness import seeded
from wire.errors import InvalidProof, MalformedMessage, UsageError

GROUPS = st.sampled_from(installed_groups())
Q = 2**252 + 27742317777372353535851937790883648493


@given(GROUPS, st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6), st.integers(0, 99))
@settings(max_examples=examples(25), deadline=None)
def test_sums_and_multiples_open_to_sums_and_multiples(
    group: Group, values: list[int], factor: int
) -> None:
    key = VectorPedersen(group, len(values))
    secret = group.secret_scalars(values)
    first, first_opening = key.commit_fresh(secret, rng=seeded(1))
    second, second_opening = key.commit_fresh(-secret, rng=seeded(2))
    k = group.scalar(factor)
    combined = first.scale(k) + second
    opening = (first_opening.scale(k) + second_opening).reveal()
    key.verify_opening(combined, opening)
    assert opening.values.ints() == [(factor - 1) * v % Q for v in values]


def test_the_fast_commitment_to_public_values_is_the_same(group: Group) -> None:
    key = VectorPedersen(group, 4)
    values = group.scalars([1, -2, 3, 2**31])
    blinding = group.random_scalars(1, seeded(1))[0]
    assert key.vartime_commit(values, blinding) == key.commit(values.secret(), blinding)
    with pytest.raises(UsageError):
        key.vartime_commit(values.secret(), blinding)  # type: ignore[arg-type]


def test_every_changed_coordinate_is_refused(group: Group) -> None:
    key = VectorPedersen(group, 5)
    commitment, opening = key.commit_fresh(group.secret_scalars([0, 1, 2, 3, 4]), rng=seeded(1))
    revealed = opening.reveal()
    key.verify_opening(commitment, revealed)
    for position in range(5):
        bump = group.scalars([int(i == position) for i in range(5)])
        with pytest.raises(InvalidProof) as caught:
            key.verify_opening(
                commitment, RevealedOpening(key, revealed.values + bump, revealed.blindings)
            )
        assert caught.value.check == "01-V4"
    swapped = revealed.values.gather([1, 0, 2, 3, 4])
    with pytest.raises(InvalidProof):
        key.verify_opening(commitment, RevealedOpening(key, swapped, revealed.blindings))


def test_dimensions_never_mix(group: Group) -> None:
    two, three = VectorPedersen(group, 2), VectorPedersen(group, 3)
    short, short_opening = two.commit_fresh(group.secret_scalars([1, 2]), rng=seeded(1))
    long, long_opening = three.commit_fresh(group.secret_scalars([1, 2, 0]), rng=seeded(1))
    two.verify_opening(short, short_opening.reveal())
    assert short.to_bytes() != long.to_bytes()
    with pytest.raises(UsageError):
        short + long
    with pytest.raises(UsageError):
        short_opening + long_opening
    with pytest.raises(UsageError):
        two.verify_opening(long, long_opening.reveal())
    with pytest.raises(UsageError):
        three.commit(group.secret_scalars([1, 2]), group.random_scalars(1, seeded(1))[0])
    with pytest.raises(UsageError):
        short + Pedersen(group).commit_fresh(group.secret_scalars([1]), rng=seeded(3))[0]


def test_a_short_vector_does_not_pass_for_a_padded_one(group: Group) -> None:
    """With shared bases the bytes of (1, 2) would open as (1, 2, 0)."""
    two, three = VectorPedersen(group, 2), VectorPedersen(group, 3)
    commitment, opening = two.commit_fresh(group.secret_scalars([1, 2]), rng=seeded(1))
    revealed = opening.reveal()
    two.verify_opening(two.decode(commitment.to_bytes()), revealed)
    padded = RevealedOpening(three, group.scalars([1, 2, 0]), revealed.blindings)
    with pytest.raises(InvalidProof):
        three.verify_opening(three.decode(commitment.to_bytes()), padded)


@pytest.mark.parametrize("dimension", [0, -1, 2**24 + 1, True, "3"])
def test_impossible_dimensions_are_refused(group: Group, dimension: int) -> None:
    assert VectorPedersen(group, 1).dimension == 1
    with pytest.raises(UsageError):
        VectorPedersen(group, dimension)


def test_decoding_is_strict(group: Group) -> None:
    key = VectorPedersen(group, 2)
    commitment, _ = key.commit_fresh(group.secret_scalars([1, 2]), rng=seeded(1))
    data = commitment.to_bytes()
    assert key.decode(data) == commitment
    for bad in (data[:-1], data + b"\0", b"", data * 2, group.identity.to_bytes(), b"\xff" * 32):
        with pytest.raises(MalformedMessage):
            key.decode(bad)


@pytest.mark.parametrize("bits", [None, 8, 58])
def test_rows_are_committed_one_by_one(group: Group, bits: int | None) -> None:
    key = VectorPedersen(group, 3)
    values = [[1, -2, 255], [-256, 0, 7], [0, 0, 0]]
    rows = [group.secret_scalars(row) for row in values]
    blindings = group.random_scalars(3, seeded(1))
    made = key.commit_rows(rows, blindings, bits=bits)
    assert len(made) == 3
    for i, row in enumerate(rows):
        assert made.points[i] == key.commit(row, blindings[i]).points[0]
    assert len(key.commit_rows([], blindings[:0], bits=bits)) == 0


def test_rows_that_do_not_fit_are_refused(group: Group) -> None:
    key = VectorPedersen(group, 2)
    row, blindings = group.secret_scalars([1, 2]), group.random_scalars(2, seeded(1))
    assert len(key.commit_rows([row, row], blindings, bits=2)) == 2
    large, short = group.secret_scalars([1, 4]), group.secret_scalars([1])
    for rows in ([row], [row, row, row], [row, large], [row, short]):
        with pytest.raises(UsageError):
            key.commit_rows(rows, blindings, bits=2)
