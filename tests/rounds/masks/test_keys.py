"""Keys: equal at both ends, apart from each other, bound to everything they are for."""

from __future__ import annotations

import copy
import hmac
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments.group import Group
from gopa.rounds.masks import (
    EdgeContext,
    SelfContext,
    SharedPoint,
    UniformMask,
    deal,
    edge_key,
    edge_mask,
    edge_masks,
    self_mask,
    share_key,
    shared_point,
)
from gopa.rounds.masks.self_masks import self_key
from tests.group.backends import installed_groups
from tests.group.values import FEW
from tests.randomness import seeded
from tests.rounds.masks.samples import (
    EDGE,
    EDGES,
    HIGH,
    LOW,
    OWN,
    SELVES,
    SESSION,
    both_ends,
    edge_key_of,
    id_of,
    key_pair,
    secret,
)
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes


def hkdf(secret_input: bytes, salt: bytes, info: bytes) -> bytes:
    """RFC 5869 with one block of output, from its definition."""
    extracted = hmac.digest(salt, secret_input, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def test_both_ends_derive_the_same_keys(group: Group) -> None:
    one, other = both_ends(group)
    assert one.reveal() == other.reveal()
    assert edge_key(one, EDGE).reveal() == edge_key(other, EDGE).reveal()
    for dealer, recipient in ((LOW, HIGH), (HIGH, LOW)):
        first = share_key(one, EDGE, dealer, recipient).reveal()
        assert first == share_key(other, EDGE, dealer, recipient).reveal()


def test_keys_are_those_of_the_specification(group: Group) -> None:
    shared = both_ends(group)[0]
    point, where = shared.reveal().to_bytes(), (3).to_bytes(2)
    info = b"gopa/v1/masks/edge-key" + where + LOW + HIGH
    assert edge_key(shared, EDGE).reveal() == hkdf(point, SESSION, info)
    info = b"gopa/v1/masks/share-key" + where + HIGH + LOW
    assert share_key(shared, EDGE, HIGH, LOW).reveal() == hkdf(point, SESSION, info)
    info = b"gopa/v1/masks/self-key" + where + LOW
    assert self_key(secret("seed"), OWN).reveal() == hkdf(id_of("secret seed"), SESSION, info)


@FEW
@given(a=st.integers(1, 2**250), b=st.integers(1, 2**250), number=st.integers(0, 2**16 - 1))
def test_both_ends_always_agree(a: int, b: int, number: int) -> None:
    for group in installed_groups():
        u, v = group.secret_scalar(a), group.secret_scalar(b)
        context = EdgeContext(SESSION, number, LOW, HIGH)
        one, other = shared_point(u, group.generator * v), shared_point(v, group.generator * u)
        assert edge_key(one, context).reveal() == edge_key(other, context).reveal()


def test_every_field_changes_every_key(group: Group) -> None:
    """And no key of one purpose is one of another."""
    shared = both_ends(group)[0]
    keys = set()
    for point in (shared, shared_point(key_pair(group, "w"), group.generator)):
        for each in EDGES:
            keys.add(edge_key(point, each).reveal())
            keys.add(share_key(point, each, each.low, each.high).reveal())
            keys.add(share_key(point, each, each.high, each.low).reveal())
    assert len(keys) == 2 * 3 * len(EDGES)


def test_self_keys_are_bound_to_seed_session_round_and_party() -> None:
    keys = {self_key(secret(name), each).reveal() for name in ("one", "two") for each in SELVES}
    assert len(keys) == 8


def test_a_revealed_point_leads_to_the_same_keys(group: Group) -> None:
    """What an accusation needs: the point travels as 32 bytes and anybody derives the keys."""
    shared = both_ends(group)[0]
    data = shared.reveal().to_bytes()
    for reader in installed_groups():
        again = SharedPoint.from_revealed(reader.decode_point(data))
        assert edge_key(again, EDGE).reveal() == edge_key(shared, EDGE).reveal()
        pad = share_key(again, EDGE, LOW, HIGH).reveal()
        assert pad == share_key(shared, EDGE, LOW, HIGH).reveal()


def test_the_identity_is_refused_everywhere(group: Group) -> None:
    scalar = key_pair(group, "u")
    assert shared_point(scalar, group.generator).reveal() == group.generator * scalar
    with pytest.raises(UsageError):
        shared_point(scalar, group.identity)
    with pytest.raises(UsageError):
        shared_point(group.secret_scalar(0), group.generator)
    with pytest.raises(UsageError):
        SharedPoint.from_revealed(group.identity)


P = 2**255 - 19

SMALL_ORDER = {
    "order 1": 1,
    "order 2": P - 1,
    "order 4": 0,
    "order 8": 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD83D3D706A17C7,
}


@pytest.mark.parametrize("name", SMALL_ORDER)
@pytest.mark.parametrize("sign", [0, 1])
def test_points_of_small_order_do_not_decode(group: Group, name: str, sign: int) -> None:
    """Curve points whose order divides 8, as Ed25519 and X25519 would encode them."""
    good = (group.generator * key_pair(group, "u")).to_bytes()
    assert group.decode_point(good).to_bytes() == good
    data = (SMALL_ORDER[name] | sign << 255).to_bytes(32, "little")
    with pytest.raises(MalformedMessage):
        group.decode_point(data)


@pytest.mark.parametrize(
    "ends",
    [(LOW, LOW), (HIGH, HIGH), (LOW, bytes(32)), (bytes(32), HIGH), (b"", HIGH), (LOW, LOW + HIGH)],
    ids=["low low", "high high", "stranger to", "stranger from", "empty", "long"],
)
def test_share_keys_join_the_two_ends_only(group: Group, ends: tuple[bytes, bytes]) -> None:
    shared = both_ends(group)[0]
    assert len(share_key(shared, EDGE, LOW, HIGH)) == 32
    with pytest.raises(UsageError):
        share_key(shared, EDGE, *ends)


BAD_EDGES: dict[str, tuple[Any, ...]] = {
    "equal ids": (SESSION, 3, LOW, LOW),
    "wrong order": (SESSION, 3, HIGH, LOW),
    "short session": (SESSION[:31], 3, LOW, HIGH),
    "long id": (SESSION, 3, LOW, HIGH + b"\0"),
    "empty id": (SESSION, 3, b"", HIGH),
    "text": (SESSION, 3, LOW.hex(), HIGH),
    "bytearray": (SESSION, 3, LOW, bytearray(HIGH)),
    "negative round": (SESSION, -1, LOW, HIGH),
    "large round": (SESSION, 2**16, LOW, HIGH),
    "float round": (SESSION, 3.0, LOW, HIGH),
    "bool round": (SESSION, True, LOW, HIGH),
    "no session": (None, 3, LOW, HIGH),
}


@pytest.mark.parametrize("name", BAD_EDGES)
def test_contexts_are_checked(name: str) -> None:
    assert EdgeContext(SESSION, 0, LOW, HIGH).round == 0
    assert EdgeContext(SESSION, 2**16 - 1, LOW, HIGH).round == 2**16 - 1
    session, number, low, high = BAD_EDGES[name]
    with pytest.raises(UsageError):
        EdgeContext(session, number, low, high)


@pytest.mark.parametrize("bad", [(SESSION, 3, LOW[:31]), (SESSION[1:], 3, LOW), (SESSION, -1, LOW)])
def test_self_contexts_are_checked(bad: tuple[bytes, int, bytes]) -> None:
    assert SelfContext(SESSION, 3, LOW) == OWN
    with pytest.raises(UsageError):
        SelfContext(*bad)


def test_edges_are_named_in_either_order() -> None:
    assert EdgeContext.between(SESSION, 3, LOW, HIGH) == EDGE
    assert EdgeContext.between(SESSION, 3, HIGH, LOW) == EDGE
    with pytest.raises(UsageError):
        EdgeContext.between(SESSION, 3, LOW, LOW)
    with pytest.raises(UsageError):
        EdgeContext.between(SESSION, 3, LOW[1:], HIGH)


NOT_KEYS: dict[str, Callable[[], Any]] = {
    "bytes": lambda: bytes(32),
    "short": lambda: SecretBytes(bytes(31)),
    "long": lambda: SecretBytes(bytes(33)),
    "None": lambda: None,
}


@pytest.mark.parametrize("name", NOT_KEYS)
def test_seeds_are_32_secret_bytes(name: str) -> None:
    assert len(self_key(SecretBytes(bytes(32)), OWN)) == 32
    with pytest.raises(UsageError):
        self_key(NOT_KEYS[name](), OWN)


def test_keys_come_from_shared_points_only(group: Group) -> None:
    assert len(edge_key(both_ends(group)[0], EDGE)) == 32
    stranger: Any = both_ends(group)[0].reveal()
    with pytest.raises(UsageError):
        edge_key(stranger, EDGE)


def secrets(group: Group) -> list[Any]:
    own = self_mask(group, secret("seed"), OWN, 1)
    dealing = deal(group, own, [1, 2], 2, seeded(1))
    return [
        both_ends(group)[0],
        edge_key_of(group),
        edge_mask(group, secret("key"), UniformMask(), 1),
        edge_masks(group, [secret("key")], UniformMask(), 1),
        own,
        dealing,
        dealing.shares[0],
        dealing.shares[0].to_bytes(),
    ]


@pytest.mark.parametrize(
    "attempt",
    [pickle.dumps, copy.copy, copy.deepcopy, hash, lambda s: s == s, lambda s: s != 1],  # noqa: PLR0124
    ids=["pickle", "copy", "deepcopy", "hash", "equal", "unequal"],
)
def test_ways_out(group: Group, attempt: Callable[[Any], Any]) -> None:
    for value in secrets(group):
        with pytest.raises(UsageError) as caught:
            attempt(value)
        assert len("".join(traceback.format_exception(caught.value))) < 4000


def test_nothing_prints(group: Group) -> None:
    point = both_ends(group)[0].reveal().to_bytes().hex()
    for value in secrets(group):
        text = f"{value} {value!r} {[value]}"
        assert len(text) < 200
        assert point[:8] not in text
        assert "secret" in text.lower()
