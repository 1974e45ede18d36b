"""Committed masks of edges and of parties: equal at both ends, cancelling, bound to their place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments import Pedersen, VectorPedersen
from commitments.group import Group
from gopa.rounds.masks import (
    EdgeContext,
    MaskLaw,
    RoundedGaussian,
    UniformMask,
    edge_key,
    edge_mask,
    edge_masks,
    self_mask,
    shared_point,
    sign,
)
from gopa.rounds.masks.self_masks import self_key
from tests.group.backends import installed_groups
from tests.group.values import FEW, ORDER
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
    laws,
    secret,
    share_key_of,
)
from wire.domains import EDGE_BLINDING, EDGE_VALUES, SELF_BLINDING, SELF_VALUES, stream_domain
from wire.errors import UsageError
from wire.secret import SecretBytes

dimensions = pytest.mark.parametrize("dimension", [1, 2, 9])


def centred(residue: int) -> int:
    return residue if residue < ORDER // 2 else residue - ORDER


@laws
@dimensions
def test_both_ends_make_the_same_mask(group: Group, law: MaskLaw, dimension: int) -> None:
    one, other = (
        edge_mask(group, edge_key(shared, EDGE), law, dimension) for shared in both_ends(group)
    )
    assert one.values.reveal() == other.values.reveal()
    assert one.blinding.reveal() == other.blinding.reveal()
    assert one.commitment().to_bytes() == other.commitment().to_bytes()


@laws
@dimensions
def test_values_come_from_the_streams_of_the_key(
    group: Group, law: MaskLaw, dimension: int
) -> None:
    key = edge_key_of(group)
    mask = edge_mask(group, key, law, dimension)
    values = group.stream(key, stream_domain(EDGE_VALUES))
    if isinstance(law, RoundedGaussian):
        expected = group.scalars(values.wide_table_draws(law.table(group), dimension))
    else:
        expected = values.scalars(dimension).reveal()
    assert mask.values.reveal() == expected
    blinding = group.stream(key, stream_domain(EDGE_BLINDING)).scalars(1)[0]
    assert mask.blinding.reveal() == blinding.reveal()


@laws
@dimensions
def test_commitments_open(group: Group, law: MaskLaw, dimension: int) -> None:
    own = self_mask(group, secret("seed"), OWN, dimension)
    for mask in (edge_mask(group, edge_key_of(group), law, dimension), own):
        if dimension == 1:
            point = Pedersen(group).commit(mask.values, group.secret_scalars([1]) * mask.blinding)
        else:
            point = VectorPedersen(group, dimension).commit(mask.values, mask.blinding)
        assert mask.commitment() == point


@laws
@dimensions
@pytest.mark.parametrize("count", [0, 1, 5])
def test_many_masks_are_the_single_ones(
    group: Group, law: MaskLaw, dimension: int, count: int
) -> None:
    keys = [secret(f"key {i}") for i in range(count)]
    masks = edge_masks(group, keys, law, dimension)
    assert len(masks) == len(masks.commitments()) == count
    for i, key in enumerate(keys):
        alone = edge_mask(group, key, law, dimension)
        assert masks[i].values.reveal() == alone.values.reveal()
        assert masks[i].blinding.reveal() == alone.blinding.reveal()
        assert masks.commitments().points[i] == alone.commitment().points[0]
        assert masks[i].commitment() == alone.commitment()


@laws
@dimensions
def test_signed_sums(group: Group, law: MaskLaw, dimension: int) -> None:
    keys, signs = [secret(f"key {i}") for i in range(5)], [1, -1, 0, -1, 1]
    masks = edge_masks(group, keys, law, dimension)
    values, blinding = masks.signed_sum(signs)
    for j in range(dimension):
        parts = [row[j].reveal() for row in masks.rows]
        total = sum(s * int(part) for s, part in zip(signs, parts, strict=True)) % ORDER
        assert int(values[j].reveal()) == total
    parts = list(masks.blindings.reveal())
    total = sum(s * int(part) for s, part in zip(signs, parts, strict=True)) % ORDER
    assert int(blinding.reveal()) == total


@laws
@pytest.mark.parametrize("dimension", [1, 3])
def test_nothing_is_left_of_no_edges(group: Group, law: MaskLaw, dimension: int) -> None:
    values, blinding = edge_masks(group, [], law, dimension).signed_sum([])
    assert values.reveal().ints() == [0] * dimension
    assert blinding.reveal().is_zero()


@pytest.mark.parametrize("signs", [[], [1], [1, 1, 1], [1, 2], [0, -2], [1, None], ["1", 1]])
def test_signs_are_checked(group: Group, signs: Any) -> None:
    masks = edge_masks(group, [secret("a"), secret("b")], UniformMask(), 1)
    assert len(masks.signed_sum([1, -1])[0]) == 1
    with pytest.raises(UsageError):
        masks.signed_sum(signs)


@FEW
@given(
    parties=st.integers(2, 5),
    dropped=st.sets(st.integers(0, 9)),
    gaussian=st.booleans(),
    dimension=st.sampled_from([1, 3]),
)
def test_masks_cancel_over_any_graph(
    parties: int, dropped: set[int], gaussian: bool, dimension: int
) -> None:
    """And so do their commitments: the identity is left of every set of edges."""
    group = installed_groups()[-1]
    law = RoundedGaussian(50) if gaussian else UniformMask()
    ids = [id_of(f"party {i}") for i in range(parties)]
    pairs = [key_pair(group, f"{i}") for i in range(parties)]
    edges = [edge for k, edge in enumerate(combinations(range(parties), 2)) if k not in dropped]
    total = group.scalars([0] * dimension)
    blinding, point = group.scalar(0), group.identity
    for own in range(parties):
        others = [u + v - own for u, v in edges if own in (u, v)]
        contexts = [EdgeContext.between(SESSION, 1, ids[own], ids[other]) for other in others]
        shared = [shared_point(pairs[own], group.generator * pairs[other]) for other in others]
        keys = [edge_key(K, context) for K, context in zip(shared, contexts, strict=True)]
        masks = edge_masks(group, keys, law, dimension)
        signs = [sign(ids[own], ids[other]) for other in others]
        values, s = masks.signed_sum(signs)
        total, blinding = total + values.reveal(), blinding + s.reveal()
        point += masks.commitments().points.vartime_msm(group.scalars(signs))
    assert total.ints() == [0] * dimension
    assert blinding.is_zero()
    assert point.is_identity()


def test_signs_of_the_two_ends_are_opposite() -> None:
    assert (sign(LOW, HIGH), sign(HIGH, LOW)) == (1, -1)
    for bad in ((LOW, LOW), (LOW, HIGH[1:]), (b"", HIGH)):
        with pytest.raises(UsageError):
            sign(*bad)


def test_gaussian_masks_are_small_and_uniform_ones_are_not(group: Group) -> None:
    key, n = edge_key_of(group), 300
    law = RoundedGaussian(50)
    drawn = [centred(v) for v in edge_mask(group, key, law, n).values.reveal().ints()]
    assert max(map(abs, drawn)) <= law.radius
    assert 35 < (sum(value * value for value in drawn) / n) ** 0.5 < 65
    drawn = [centred(v) for v in edge_mask(group, key, UniformMask(), n).values.reveal().ints()]
    assert min(map(abs, drawn)) > 2**200


def test_every_field_of_the_context_changes_the_mask(group: Group) -> None:
    points = {
        edge_mask(group, edge_key_of(group, context), UniformMask(), 1).commitment().to_bytes()
        for context in EDGES
    }
    assert len(points) == 5


def test_an_opened_edge_key_does_not_open_anything_else(group: Group) -> None:
    """What a rollback publishes: it gives the mask, and no other key of the same point."""
    opened = edge_key_of(group)
    other_keys = [share_key_of(group), edge_key_of(group, EdgeContext(SESSION, 4, LOW, HIGH))]
    streams = [stream_domain(label) for label in (EDGE_VALUES, EDGE_BLINDING)]
    from_opened = [group.stream(opened, domain).bytes(64) for domain in streams]
    for key in other_keys:
        assert key.reveal() not in b"".join(from_opened)
        assert group.stream(key, streams[0]).bytes(64) not in from_opened
    assert from_opened[0] != from_opened[1]


@pytest.mark.parametrize("dimension", [0, -1, 2**25, 1.0, "1", None, True])
def test_dimensions_are_checked(group: Group, dimension: Any) -> None:
    makers: list[Callable[[Any], Any]] = [
        lambda dimension: edge_mask(group, secret("key"), UniformMask(), dimension),
        lambda dimension: edge_masks(group, [], UniformMask(), dimension),
        lambda dimension: self_mask(group, secret("seed"), OWN, dimension),
    ]
    for make in makers:
        make(1)
        with pytest.raises(UsageError):
            make(dimension)


@pytest.mark.parametrize("law", [None, "uniform", UniformMask, RoundedGaussian, 50])
def test_laws_are_checked(group: Group, law: Any) -> None:
    assert len(edge_mask(group, secret("key"), UniformMask(), 1).values) == 1
    with pytest.raises(UsageError):
        edge_mask(group, secret("key"), law, 1)


@pytest.mark.parametrize("bad", [bytes(32), SecretBytes(bytes(31)), None], ids=str)
def test_keys_and_seeds_are_checked(group: Group, bad: Any) -> None:
    good = SecretBytes(bytes(32))
    assert len(edge_mask(group, good, UniformMask(), 1).values) == 1
    assert len(self_mask(group, good, OWN, 1).values) == 1
    with pytest.raises(UsageError):
        edge_mask(group, bad, UniformMask(), 1)
    with pytest.raises(UsageError):
        self_mask(group, bad, OWN, 1)


@dimensions
def test_values_come_from_the_streams_of_the_self_key(group: Group, dimension: int) -> None:
    mask = self_mask(group, secret("seed"), OWN, dimension)
    key = self_key(secret("seed"), OWN)
    values = group.stream(key, stream_domain(SELF_VALUES)).scalars(dimension)
    assert mask.values.reveal() == values.reveal()
    blinding = group.stream(key, stream_domain(SELF_BLINDING)).scalars(1)[0]
    assert mask.blinding.reveal() == blinding.reveal()


def test_an_opened_seed_is_checked_by_its_commitment(group: Group) -> None:
    """Everything that the seed is bound to must be right for the commitment to match."""
    posted = self_mask(group, secret("seed"), OWN, 1).commitment().to_bytes()
    assert self_mask(group, secret("seed"), OWN, 1).commitment().to_bytes() == posted
    wrong = [(secret("other"), OWN), *((secret("seed"), context) for context in SELVES[1:])]
    for seed, context in wrong:
        assert self_mask(group, seed, context, 1).commitment().to_bytes() != posted


def test_a_seed_and_an_edge_key_of_the_same_bytes_give_different_masks(group: Group) -> None:
    own = self_mask(group, secret("seed"), OWN, 2)
    edge = edge_mask(group, secret("seed"), UniformMask(), 2)
    assert own.values.reveal() != edge.values.reveal()
    assert own.blinding.reveal() != edge.blinding.reveal()
