"""Sessions, parties, keys and contexts for the tests of masks."""

from __future__ import annotations

import hashlib

import pytest

from commitments.group import Group, SecretScalar
from gopa.rounds.masks import (
    EdgeContext,
    RoundedGaussian,
    SelfContext,
    SharedPoint,
    UniformMask,
    edge_key,
    share_key,
    shared_point,
)
from wire.secret import SecretBytes


def id_of(name: str) -> bytes:
    return hashlib.sha256(f"masks tests/{name}".encode()).digest()


SESSION = id_of("session")
LOW, HIGH = sorted([id_of("u"), id_of("v")])
EDGE = EdgeContext(SESSION, 3, LOW, HIGH)
OWN = SelfContext(SESSION, 3, LOW)
EDGES = (
    EDGE,
    EdgeContext(id_of("another session"), 3, LOW, HIGH),
    EdgeContext(SESSION, 4, LOW, HIGH),
    EdgeContext(SESSION, 3, bytes(32), HIGH),
    EdgeContext(SESSION, 3, LOW, b"\xff" * 32),
)
"""The context of one edge, and others that differ from it in one field each."""
SELVES = (
    OWN,
    SelfContext(id_of("another session"), 3, LOW),
    SelfContext(SESSION, 4, LOW),
    SelfContext(SESSION, 3, HIGH),
)
laws = pytest.mark.parametrize(
    "law", [UniformMask(), RoundedGaussian(50)], ids=["uniform", "gaussian"]
)


def secret(name: str) -> SecretBytes:
    return SecretBytes(id_of(f"secret {name}"))


def key_pair(group: Group, name: str) -> SecretScalar:
    return group.secret_scalar(int.from_bytes(id_of(f"pair {name}"), "little") % 2**252)


def both_ends(group: Group) -> tuple[SharedPoint, SharedPoint]:
    """The point as each of two parties computes it."""
    u, v = key_pair(group, "u"), key_pair(group, "v")
    return shared_point(u, group.generator * v), shared_point(v, group.generator * u)


def edge_key_of(group: Group, context: EdgeContext = EDGE) -> SecretBytes:
    return edge_key(both_ends(group)[0], context)


def share_key_of(group: Group, context: EdgeContext = EDGE) -> SecretBytes:
    """From the smaller id to the larger one."""
    return share_key(both_ends(group)[0], context, context.low, context.high)
