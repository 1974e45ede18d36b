"""A party's own mask: fixed by seed and context, uniform, committed to as it is."""

from __future__ import annotations

from typing import Any

import pytest

from commitments import Pedersen, VectorPedersen
from commitments.group import Group
from gopa.rounds.masks import SelfContext, edge_mask, self_mask
from gopa.rounds.masks.law import UniformMask
from gopa.rounds.masks.self_masks import self_key
from tests.rounds.masks.samples import HIGH, LOW, OWN, SESSION, id_of, secret
from wire.domains import SELF_BLINDING, SELF_VALUES, stream_domain
from wire.errors import UsageError
from wire.secret import SecretBytes

dimensions = pytest.mark.parametrize("dimension", [1, 2, 9])


@dimensions
def test_values_come_from_the_streams_of_the_self_key(group: Group, dimension: int) -> None:
    mask = self_mask(group, secret("seed"), OWN, dimension)
    key = self_key(secret("seed"), OWN)
    values = group.stream(key, stream_domain(SELF_VALUES)).scalars(dimension)
    assert mask.values.reveal() == values.reveal()
    blinding = group.stream(key, stream_domain(SELF_BLINDING)).scalars(1)[0]
    assert mask.blinding.reveal() == blinding.reveal()


@dimensions
def test_commitments_open(group: Group, dimension: int) -> None:
    mask = self_mask(group, secret("seed"), OWN, dimension)
    if dimension == 1:
        made = Pedersen(group).commit(mask.values, group.secret_scalars([1]) * mask.blinding)
    else:
        made = VectorPedersen(group, dimension).commit(mask.values, mask.blinding)
    assert mask.commitment() == made


def test_an_opened_seed_is_checked_by_its_commitment(group: Group) -> None:
    """Everything that the seed is bound to must be right for the commitment to match."""
    posted = self_mask(group, secret("seed"), OWN, 1).commitment().to_bytes()
    assert self_mask(group, secret("seed"), OWN, 1).commitment().to_bytes() == posted
    wrong = [
        (secret("other"), OWN),
        (secret("seed"), SelfContext(id_of("another session"), 3, LOW)),
        (secret("seed"), SelfContext(SESSION, 4, LOW)),
        (secret("seed"), SelfContext(SESSION, 3, HIGH)),
    ]
    for seed, context in wrong:
        assert self_mask(group, seed, context, 1).commitment().to_bytes() != posted


def test_a_seed_and_an_edge_key_of_the_same_bytes_give_different_masks(group: Group) -> None:
    own = self_mask(group, secret("seed"), OWN, 2)
    edge = edge_mask(group, secret("seed"), UniformMask(), 2)
    assert own.values.reveal() != edge.values.reveal()
    assert own.blinding.reveal() != edge.blinding.reveal()


@pytest.mark.parametrize("dimension", [0, -1, 2**25, 1.0, None])
def test_dimensions_are_checked(group: Group, dimension: Any) -> None:
    assert len(self_mask(group, secret("seed"), OWN, 1).values) == 1
    with pytest.raises(UsageError):
        self_mask(group, secret("seed"), OWN, dimension)


def test_seeds_are_checked(group: Group) -> None:
    assert len(self_mask(group, SecretBytes(bytes(32)), OWN, 1).values) == 1
    bad: Any
    for bad in (bytes(32), SecretBytes(bytes(31)), None):
        with pytest.raises(UsageError):
            self_mask(group, bad, OWN, 1)
