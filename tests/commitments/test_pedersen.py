from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import Pedersen, RevealedOpening, decode_opening
from commitments.group import Group
from tests.group.backends import installed_groups
from tests.pace import examples
from tests.randomness import seeded
from wire.errors import InvalidProof, MalformedMessage, UsageError

GROUPS = st.sampled_from(installed_groups())
Q = 2**252 + 27742317777372353535851937790883648493
SCALARS = st.one_of(st.sampled_from([0, 1, Q - 1, -1]), st.integers(0, Q - 1))


@given(GROUPS, SCALARS, SCALARS, SCALARS)
@settings(max_examples=examples(25), deadline=None)
def test_sums_and_multiples_open_to_sums_and_multiples(
    group: Group, v: int, w: int, factor: int
) -> None:
    key = Pedersen(group)
    first, first_opening = key.commit_fresh(group.secret_scalars([v]), rng=seeded(v))
    second, second_opening = key.commit_fresh(group.secret_scalars([w]), rng=seeded(w + 1))
    k = group.scalar(factor)
    combined = (first + second).scale(k) - second
    opening = ((first_opening + second_opening).scale(k) - second_opening).reveal()
    key.verify_opening(combined, opening)
    assert opening.values.ints() == [(factor * (v + w) - w) % Q]


def test_one_wrong_opening_of_a_hundred_is_named(group: Group) -> None:
    key = Pedersen(group)
    values = group.secret_scalars(range(100))
    commitment, secret = key.commit_fresh(values, rng=seeded("hundred"))
    opening = secret.reveal()
    key.verify_opening(commitment, opening)
    bump = group.scalars([1 if i in (3, 77) else 0 for i in range(100)])
    for wrong in (
        RevealedOpening(key, opening.values + bump, opening.blindings),
        RevealedOpening(key, opening.values, opening.blindings - bump),
    ):
        with pytest.raises(InvalidProof) as caught:
            key.verify_opening(commitment, wrong)
        assert caught.value.culprits == (3, 77)
        assert caught.value.check == "01-P4"


def test_encodings_round_trip_and_are_strict(group: Group) -> None:
    key = Pedersen(group)
    commitment, opening = key.commit_fresh(group.secret_scalars([5, 6]), rng=seeded(1))
    data = commitment.to_bytes()
    assert key.decode(data, 2) == commitment
    revealed = opening.reveal()
    assert decode_opening(key, revealed.to_bytes(), 2) == revealed
    identity = group.identity.to_bytes()
    for bad, count in (
        (data[:-1], 2),
        (data + b"\0", 2),
        (data, 1),
        (data, 3),
        (b"", 2),
        (identity + data[32:], 2),
        (data[:32] + identity, 2),
        (data[:32] + b"\xff" * 32, 2),
    ):
        with pytest.raises(MalformedMessage):
            key.decode(bad, count)
    scalars = revealed.to_bytes()
    for bad in (scalars[:-1], scalars + b"\0", scalars[:-32] + Q.to_bytes(32, "little")):
        with pytest.raises(MalformedMessage):
            decode_opening(key, bad, 2)


def test_lengths_and_keys_never_mix(group: Group) -> None:
    key = Pedersen(group)
    two, two_opening = key.commit_fresh(group.secret_scalars([5, 6]), rng=seeded(1))
    three, three_opening = key.commit_fresh(group.secret_scalars([5, 6, 7]), rng=seeded(2))
    assert len(two + two) == 2
    with pytest.raises(UsageError):
        two + three
    with pytest.raises(UsageError):
        two_opening + three_opening
    with pytest.raises(UsageError):
        key.verify_opening(two, three_opening.reveal())
    with pytest.raises(UsageError):
        key.commit(group.secret_scalars([1]), group.random_scalars(2, seeded(3)))
    with pytest.raises(UsageError):
        RevealedOpening(key, group.scalars([1]), group.scalars([1, 2]))


def test_openings_keep_their_secrets(group: Group) -> None:
    key = Pedersen(group)
    _, opening = key.commit_fresh(group.secret_scalars([123456789]), rng=seeded(1))
    blinding = str(opening.reveal().blindings.ints()[0])
    for text in (repr(opening), str(opening), f"{opening}"):
        assert "123456789" not in text
        assert blinding not in text
    for leak in (
        lambda: opening == opening,  # noqa: PLR0124  comparing is the leak under test
        lambda: hash(opening),
        lambda: pickle.dumps(opening),
        lambda: copy.copy(opening),
        lambda: copy.deepcopy(opening),
    ):
        with pytest.raises(UsageError):
            leak()


def test_a_known_relation_between_the_bases_would_break_binding(group: Group) -> None:
    """Why nobody may choose H: with H = tG every opening can be turned into any other."""
    generator = group.generator
    t = group.scalar(12345)
    h = generator * t
    value, blinding = group.scalar(3), group.scalar(99)
    commitment = generator * value + h * blinding
    other = group.scalar(1_000_000)
    forged = blinding + (value - other) * t.inverse()
    assert generator * other + h * forged == commitment
    key = Pedersen(group)
    with pytest.raises(TypeError):
        Pedersen(group, h)  # type: ignore[call-arg]
    with pytest.raises((AttributeError, TypeError)):
        key.blinding_base = h  # type: ignore[misc]


@pytest.mark.parametrize("scalar", [1, 2, 12345, Q - 1])
def test_h_is_no_small_multiple_of_the_other_bases(group: Group, scalar: int) -> None:
    key = Pedersen(group)
    for base in (group.generator, key.value_base):
        assert base * group.scalar(scalar) != key.blinding_base
    assert not key.value_base.is_identity()
    assert not key.blinding_base.is_identity()
