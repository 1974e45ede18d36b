"""Masks of arrays: cancelling at every width, taken away again, bound to their context."""

from __future__ import annotations

import hashlib
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from gopa.contract.words import pack_words, unpack_words, word_type
from gopa.rounds.masks import (
    EdgeContext,
    MaskLaw,
    RoundedGaussian,
    SelfContext,
    UniformMask,
    add_edge_words,
    add_self_words,
    edge_key_hash,
    seed_hash,
    sign,
)
from gopa.rounds.masks.self_masks import self_key
from tests.group.backends import installed_groups
from tests.group.values import FEW
from tests.rounds.masks.samples import EDGE, HIGH, LOW, OWN, SESSION, id_of, secret
from wire.domains import EDGE_WORDS, SELF_WORDS, stream_domain
from wire.errors import UsageError
from wire.secret import SecretBytes

LAWS: list[MaskLaw] = [UniformMask(), RoundedGaussian(50)]
laws = pytest.mark.parametrize("law", LAWS, ids=["uniform", "gaussian"])
types = pytest.mark.parametrize("dtype", ["u4", "u8", "i4", "i8"])


def inputs(n: int, dtype: str) -> Any:
    return (np.arange(n) * 977 - 300).astype(dtype)


@laws
@types
def test_the_two_ends_cancel(group: Group, law: MaskLaw, dtype: str) -> None:
    array = inputs(1000, dtype)
    add_edge_words(array, secret("key"), sign(LOW, HIGH), law, group=group)
    assert (array != inputs(1000, dtype)).mean() > 0.9
    add_edge_words(array, secret("key"), sign(HIGH, LOW), law, group=group)
    assert (array == inputs(1000, dtype)).all()


@laws
@types
def test_masks_come_from_the_stream_of_the_key(group: Group, law: MaskLaw, dtype: str) -> None:
    array: Any = np.zeros(300, dtype=dtype)
    add_edge_words(array, secret("key"), 1, law, group=group)
    expected: Any = np.zeros(300, dtype=dtype)
    stream = group.stream(secret("key"), stream_domain(EDGE_WORDS))
    if isinstance(law, RoundedGaussian):
        stream.add_wide_draws_to(expected, 1, law.table(group))
    else:
        stream.add_to(expected, 1)
    assert (array == expected).all()


@types
def test_own_masks_come_from_the_self_key(group: Group, dtype: str) -> None:
    array = inputs(300, dtype)
    expected = inputs(300, dtype)
    add_self_words(array, secret("seed"), OWN, group=group)
    group.stream(self_key(secret("seed"), OWN), stream_domain(SELF_WORDS)).add_to(expected, 1)
    assert (array == expected).all()
    add_self_words(array, secret("seed"), OWN, sign=-1, group=group)
    assert (array == inputs(300, dtype)).all()


def test_every_backend_adds_the_same() -> None:
    results: set[bytes] = set()
    for group in (None, *installed_groups()):
        array: Any = np.zeros(500, dtype="u8")
        add_edge_words(array, secret("key"), 1, RoundedGaussian(50), group=group)
        add_edge_words(array, secret("key"), 1, UniformMask(), group=group)
        add_self_words(array, secret("seed"), OWN, group=group)
        results.add(array.tobytes())
    assert len(results) == 1


@FEW
@given(
    parties=st.integers(2, 5),
    width=st.integers(1, 64),
    gaussian=st.booleans(),
    values=st.integers(-(2**70), 2**70),
)
def test_masks_cancel_over_a_graph_at_every_width(
    parties: int, width: int, gaussian: bool, values: int
) -> None:
    """What travels is packed; the sum of what arrives is that of the inputs mod 2^w."""
    group, n = installed_groups()[-1], 20
    law = RoundedGaussian(50) if gaussian else UniformMask()
    ids = [id_of(f"party {i}") for i in range(parties)]
    total: Any = np.zeros(n, dtype=word_type(width))
    for own in range(parties):
        array: Any = np.array(
            [(values + own * i) % (1 << width) for i in range(n)], dtype=word_type(width)
        )
        for u, v in combinations(range(parties), 2):
            if own in (u, v):
                other = u + v - own
                key = secret(f"edge {u} {v}")
                add_edge_words(array, key, sign(ids[own], ids[other]), law, group=group)
        add_self_words(array, secret(f"{own}"), SelfContext(SESSION, 1, ids[own]), group=group)
        total += unpack_words(pack_words(array, width), n, width)
    for own in range(parties):
        context = SelfContext(SESSION, 1, ids[own])
        add_self_words(total, secret(f"{own}"), context, -1, group=group)
    expected = [sum(values + own * i for own in range(parties)) % (1 << width) for i in range(n)]
    assert unpack_words(pack_words(total, width), n, width).tolist() == expected


def test_gaussian_words_are_the_same_integers_at_every_size(group: Group) -> None:
    made = []
    for dtype in ("i4", "i8", "u4", "u8"):
        array: Any = np.zeros(200, dtype=dtype)
        add_edge_words(array, secret("key"), 1, RoundedGaussian(50), group=group)
        made.append(array.astype("i4").tolist())
    assert made[0] == made[1] == made[2] == made[3]
    assert 30 < np.std(made[0]) < 70


def test_own_masks_are_bound_to_their_context(group: Group) -> None:
    contexts = [
        OWN,
        SelfContext(id_of("another session"), 3, LOW),
        SelfContext(SESSION, 4, LOW),
        SelfContext(SESSION, 3, HIGH),
    ]
    made = set()
    for context in contexts:
        array: Any = np.zeros(8, dtype="u8")
        add_self_words(array, secret("seed"), context, group=group)
        made.add(array.tobytes())
    assert len(made) == 4


@pytest.mark.parametrize("bad", [0, 2, -2, 1.0, None, True])
def test_signs_are_checked(group: Group, bad: Any) -> None:
    array = inputs(5, "u4")
    add_self_words(array, secret("seed"), OWN, 1, group=group)
    add_self_words(array, secret("seed"), OWN, -1, group=group)
    for law in LAWS:
        with pytest.raises(UsageError):
            add_edge_words(array, secret("key"), bad, law, group=group)
    with pytest.raises(UsageError):
        add_self_words(array, secret("seed"), OWN, bad, group=group)
    assert (array == inputs(5, "u4")).all()


@pytest.mark.parametrize("dtype", ["f8", "u2", "?", ">u4"])
def test_arrays_are_checked(group: Group, dtype: str) -> None:
    array: Any = np.zeros(5, dtype=dtype)
    for law in LAWS:
        with pytest.raises(UsageError):
            add_edge_words(array, secret("key"), 1, law, group=group)
    with pytest.raises(UsageError):
        add_self_words(array, secret("seed"), OWN, group=group)
    assert not array.any()


def test_keys_and_laws_are_checked(group: Group) -> None:
    array, bad = inputs(5, "u4"), SecretBytes(bytes(31))
    law: Any = "uniform"
    for attempt in (
        lambda: add_edge_words(array, bad, 1, UniformMask(), group=group),
        lambda: add_edge_words(array, secret("key"), 1, law, group=group),
        lambda: add_self_words(array, bad, OWN, group=group),
        lambda: edge_key_hash(bad, EDGE),
        lambda: seed_hash(bad, OWN),
    ):
        with pytest.raises(UsageError):
            attempt()
    assert (array == inputs(5, "u4")).all()


def test_hashes_are_those_of_the_specification() -> None:
    where, data = (3).to_bytes(2), id_of("secret key")
    parts = b"gopa/v1/masks/edge-hash" + SESSION + where + LOW + HIGH + data
    assert edge_key_hash(secret("key"), EDGE) == hashlib.sha256(parts).digest()
    parts = b"gopa/v1/masks/seed-hash" + SESSION + where + LOW + data
    assert seed_hash(secret("key"), OWN) == hashlib.sha256(parts).digest()


def test_a_copied_hash_is_the_hash_of_nothing_elsewhere() -> None:
    """Somebody repeats the hash of another edge, round, session or party as its own."""
    key = secret("key")
    edges = [
        EDGE,
        EdgeContext(id_of("another session"), 3, LOW, HIGH),
        EdgeContext(SESSION, 4, LOW, HIGH),
        EdgeContext(SESSION, 3, bytes(32), HIGH),
        EdgeContext(SESSION, 3, LOW, b"\xff" * 32),
    ]
    selves = [
        OWN,
        SelfContext(id_of("another session"), 3, LOW),
        SelfContext(SESSION, 4, LOW),
        SelfContext(SESSION, 3, HIGH),
    ]
    made = [edge_key_hash(key, context) for context in edges]
    made += [seed_hash(key, context) for context in selves]
    made += [edge_key_hash(secret("other"), EDGE), seed_hash(secret("other"), OWN)]
    assert len(set(made)) == len(made)
