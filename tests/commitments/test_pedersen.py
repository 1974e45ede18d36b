"""Pedersen commitments to numbers and vectors: their keys, generators and openings."""

from __future__ import annotations

import copy
import hashlib
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments import (
    Commitment,
    Opening,
    Pedersen,
    RevealedOpening,
    VectorPedersen,
    decode_opening,
    derive_generators,
)
from commitments.generators import MAX_BASES, generator_name
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


@given(GROUPS, st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6), st.integers(0, 99))
@settings(max_examples=examples(25), deadline=None)
def test_sums_and_multiples_of_vectors_open(group: Group, values: list[int], factor: int) -> None:
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


DST = b"gopa/v1/commitments/generators"


def expand(message: bytes) -> bytes:
    """expand_message_xmd for 64 bytes, written again from RFC 9380 section 5.3.1."""
    tail = DST + bytes([len(DST)])
    b0 = hashlib.sha512(bytes(128) + message + b"\x00\x40" + b"\x00" + tail).digest()
    return hashlib.sha512(b0 + b"\x01" + tail).digest()


def name(family: str, dimension: int, index: int) -> bytes:
    encoded = family.encode()
    return bytes([len(encoded)]) + encoded + dimension.to_bytes(4, "big") + index.to_bytes(4, "big")


def test_pedersen_bases_are_rederived_from_their_names(group: Group) -> None:
    key = Pedersen(group)
    expected = group.map_to_points(
        expand(name("pedersen/value", 0, 0)) + expand(name("pedersen/blinding", 0, 0))
    )
    assert key.value_base == expected[0]
    assert key.blinding_base == expected[1]


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_vector_bases_are_rederived_from_their_names(group: Group, dimension: int) -> None:
    names = [name("vector-pedersen/value", dimension, index) for index in range(dimension)]
    expected = group.map_to_points(b"".join(map(expand, names)))
    assert VectorPedersen(group, dimension).value_bases == expected


def test_no_two_bases_are_equal(group: Group) -> None:
    seen = {group.generator.to_bytes(), group.identity.to_bytes()}
    key = Pedersen(group)
    bases = [key.value_base, key.blinding_base]
    for dimension in (1, 2, 3, 11, 12):
        bases += list(VectorPedersen(group, dimension).value_bases)
    for base in bases:
        encoded = base.to_bytes()
        assert encoded not in seen
        seen.add(encoded)


def test_names_frame_their_parts() -> None:
    spliced = [(b"g", 0, 12), (b"g1", 0, 2), (b"g", 1, 2), (b"g\x00", 0, 12), (b"g", 12, 0)]
    names = {generator_name(*parts) for parts in spliced}
    assert len(names) == len(spliced)


def test_a_prefix_family_grows_without_changing(group: Group) -> None:
    assert derive_generators(group, b"test", 5)[:3] == derive_generators(group, b"test", 3)


@pytest.mark.parametrize(
    ("family", "count"), [(b"", 1), (b"x" * 256, 1), (b"x", -1), (b"x", MAX_BASES + 1)]
)
def test_impossible_families_are_refused(group: Group, family: bytes, count: int) -> None:
    assert len(derive_generators(group, b"x", 1)) == 1
    with pytest.raises(UsageError):
        derive_generators(group, family, count)
