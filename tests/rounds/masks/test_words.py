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
from gopa.contract.words import (
    MOST_WORDS,
    check_words,
    pack_words,
    packed_size,
    unpack_words,
    word_type,
)
from gopa.rounds.masks import (
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
from tests.group.values import FEW, MANY
from tests.rounds.masks.samples import (
    EDGE,
    EDGES,
    HIGH,
    LOW,
    OWN,
    SELVES,
    SESSION,
    id_of,
    laws,
    secret,
)
from wire.domains import EDGE_WORDS, SELF_WORDS, stream_domain
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes

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
    made = set()
    for context in SELVES:
        array: Any = np.zeros(8, dtype="u8")
        add_self_words(array, secret("seed"), context, group=group)
        made.add(array.tobytes())
    assert len(made) == 4


@pytest.mark.parametrize("bad", [0, 2, -2, 1.0, None, True])
def test_signs_are_checked(group: Group, bad: Any) -> None:
    array = inputs(5, "u4")
    add_self_words(array, secret("seed"), OWN, 1, group=group)
    add_self_words(array, secret("seed"), OWN, -1, group=group)
    for law in (UniformMask(), RoundedGaussian(50)):
        with pytest.raises(UsageError):
            add_edge_words(array, secret("key"), bad, law, group=group)
    with pytest.raises(UsageError):
        add_self_words(array, secret("seed"), OWN, bad, group=group)
    assert (array == inputs(5, "u4")).all()


@pytest.mark.parametrize("dtype", ["f8", "u2", "?", ">u4"])
def test_arrays_are_checked(group: Group, dtype: str) -> None:
    array: Any = np.zeros(5, dtype=dtype)
    for law in (UniformMask(), RoundedGaussian(50)):
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
    made = [edge_key_hash(key, context) for context in EDGES]
    made += [seed_hash(key, context) for context in SELVES]
    made += [edge_key_hash(secret("other"), EDGE), seed_hash(secret("other"), OWN)]
    assert len(set(made)) == len(made)


EVERY_WIDTH = pytest.mark.parametrize("width", range(1, 65))


def words(n: int, width: int) -> Any:
    data = hashlib.shake_128(b"words").digest(8 * n)
    values = np.frombuffer(data, dtype="<u8") & np.uint64((1 << width) - 1)
    return values.astype(word_type(width))


def as_integer(values: list[int], width: int) -> int:
    """The definition: word i at the bits width * i and up."""
    return sum(value << width * i for i, value in enumerate(values))


@pytest.mark.thirds(9)
@EVERY_WIDTH
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 63, 64, 65, 300])
def test_packing_is_the_definition(width: int, n: int) -> None:
    values = words(n, width)
    packed = pack_words(values, width)
    assert len(packed) == packed_size(n, width) == (n * width + 7) // 8
    assert int.from_bytes(packed, "little") == as_integer(values.tolist(), width)
    back = unpack_words(packed, n, width)
    assert back.dtype == word_type(width) == (np.uint32 if width <= 32 else np.uint64)
    assert back.tolist() == values.tolist()


@MANY
@given(data=st.data(), width=st.integers(1, 64))
def test_round_trips(data: st.DataObject, width: int) -> None:
    values = data.draw(st.lists(st.integers(0, (1 << width) - 1), max_size=80))
    packed = pack_words(np.array(values, dtype=np.uint64), width)
    assert unpack_words(packed, len(values), width).tolist() == values


@EVERY_WIDTH
def test_higher_bits_and_signs_are_cut_off(width: int) -> None:
    for dtype in ("i8", "u8", "i4", "u4"):
        array: Any = np.array([-1, -2, 1 << 31, -(1 << 31), 5]).astype(dtype)
        if width > 8 * array.itemsize:
            continue
        expected = [int(value) % (1 << width) for value in array]
        assert unpack_words(pack_words(array, width), 5, width).tolist() == expected


def test_arrays_of_any_layout() -> None:
    whole = words(40, 20)
    for view in (whole[::2], whole[::-1], whole.astype(">u4")):
        assert unpack_words(pack_words(view, 20), len(view), 20).tolist() == view.tolist()
        assert unpack_words(pack_words(view, 32), len(view), 32).tolist() == view.tolist()


def test_whole_words_are_their_bytes() -> None:
    small, large = words(9, 32), words(9, 64)
    assert pack_words(small, 32) == small.astype("<u4").tobytes()
    assert pack_words(large, 64) == large.astype("<u8").tobytes()
    back = unpack_words(pack_words(small, 32), 9, 32)
    back += 1  # a copy of its own, which masks may be added to


@EVERY_WIDTH
def test_another_length_is_refused(width: int) -> None:
    packed = pack_words(words(11, width), width)
    assert len(unpack_words(packed, 11, width)) == 11
    for bad in (packed[:-1], packed + b"\0", b""):
        with pytest.raises(MalformedMessage) as caught:
            unpack_words(bad, 11, width)
        assert caught.value.offset == min(len(bad), len(packed))
        with pytest.raises(MalformedMessage):
            check_words(bad, 11, width)


@EVERY_WIDTH
def test_unused_bits_must_be_zero(width: int) -> None:
    n = 11
    packed, used = pack_words(words(n, width), width), n * width
    assert len(unpack_words(packed, n, width)) == n
    check_words(packed, n, width)
    for bit in range(used, 8 * len(packed)):
        changed = (int.from_bytes(packed, "little") | 1 << bit).to_bytes(len(packed), "little")
        with pytest.raises(MalformedMessage) as caught:
            unpack_words(changed, n, width)
        assert caught.value.offset == len(packed) - 1
        with pytest.raises(MalformedMessage):
            check_words(changed, n, width)


@pytest.mark.parametrize("width", [0, -1, 65, 2**70, 8.0, "8", None, True])
def test_widths_are_checked(width: Any) -> None:
    for attempt in (
        lambda: pack_words(words(3, 8), width),
        lambda: unpack_words(bytes(3), 3, width),
        lambda: packed_size(3, width),
        lambda: word_type(width),
    ):
        with pytest.raises(UsageError):
            attempt()


@pytest.mark.parametrize("count", [-1, MOST_WORDS + 1, 1.0, None, True])
def test_counts_are_checked(count: Any) -> None:
    assert packed_size(MOST_WORDS, 1) == MOST_WORDS // 8
    with pytest.raises(UsageError):
        unpack_words(bytes(3), count, 8)


BAD_ARRAYS: dict[str, Any] = {
    "float": np.arange(3.0),
    "bytes": np.arange(3, dtype="u1"),
    "half": np.arange(3, dtype="i2"),
    "bool": np.zeros(3, dtype="?"),
    "two-dimensional": np.zeros((2, 2), dtype="u4"),
    "list": [1, 2, 3],
    "None": None,
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_to_pack_are_checked(name: str) -> None:
    assert pack_words(np.arange(3, dtype="u4"), 8) == b"\0\1\2"
    with pytest.raises(UsageError):
        pack_words(BAD_ARRAYS[name], 8)


def test_words_narrower_than_the_width_are_refused() -> None:
    narrow: Any = np.arange(3, dtype="u4")
    assert len(pack_words(narrow, 32)) == 12
    with pytest.raises(UsageError):
        pack_words(narrow, 33)


@pytest.mark.parametrize("data", [bytearray(3), memoryview(bytes(3)), "abc", None])
def test_only_bytes_are_unpacked(data: Any) -> None:
    assert unpack_words(bytes(3), 3, 8).tolist() == [0, 0, 0]
    with pytest.raises(UsageError):
        unpack_words(data, 3, 8)
