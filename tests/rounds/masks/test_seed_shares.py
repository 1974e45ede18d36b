"""Shares of a seed: any T recover it, wrong ones are named, and C_0 says nothing of it."""

from __future__ import annotations

from itertools import combinations

import pytest

from commitments.group import Group
from gopa.rounds.masks import (
    Dealing,
    Share,
    check_share,
    deal,
    deal_seed,
    decode_seed_commitments,
    recover_seed,
    self_mask,
    shareable_seed,
)
from gopa.rounds.masks.self_masks import RECOVERY_CHECK, SHARE_CHECK
from tests.randomness import seeded
from tests.rounds.masks.samples import OWN
from wire.errors import InvalidProof, MalformedMessage, UsageError
from wire.secret import SecretBytes

POINTS = (1, 2, 5, 2**32 - 1)
IDENTITY = bytes(32)


def seed_of(group: Group) -> SecretBytes:
    return shareable_seed(group, seeded("seed to share"))


def dealing_of(group: Group, threshold: int = 3, name: str = "deal") -> Dealing:
    return deal_seed(group, seed_of(group), POINTS, threshold, seeded(name))


def by_point(dealing: Dealing) -> dict[int, Share]:
    return dict(zip(POINTS, dealing.shares, strict=True))


@pytest.mark.parametrize("threshold", [1, 2, 3, 4])
def test_any_threshold_of_shares_recovers_the_seed(group: Group, threshold: int) -> None:
    seed, dealing = seed_of(group).reveal(), dealing_of(group, threshold)
    shares = by_point(dealing)
    data = dealing.commitments.to_bytes()
    assert len(data) == 32 * threshold
    commitments = decode_seed_commitments(group, data, threshold)
    for at, share in shares.items():
        check_share(commitments, at, share)
    for chosen in combinations(POINTS, threshold):
        assert recover_seed(commitments, {at: shares[at] for at in chosen}).reveal() == seed
    assert recover_seed(commitments, shares).reveal() == seed


def test_fewer_shares_recover_nothing(group: Group) -> None:
    dealing = dealing_of(group)
    shares = by_point(dealing)
    assert recover_seed(dealing.commitments, shares)
    with pytest.raises(UsageError):
        recover_seed(dealing.commitments, {at: shares[at] for at in POINTS[:2]})


def test_a_seed_has_32_bytes_and_any_mask(group: Group) -> None:
    seed = seed_of(group)
    assert len(seed.reveal()) == 32
    assert group.decode_scalars(seed.reveal(), 1)
    assert len(self_mask(group, seed, OWN, 3).values) == 3
    assert shareable_seed(group, seeded("another")).reveal() != seed.reveal()


def test_commitments_do_not_follow_from_the_seed(group: Group) -> None:
    """Else guesses of a seed could be tried on C_0; the same seed has another one each time."""
    one, other = dealing_of(group), dealing_of(group, name="again")
    shares = by_point(other)
    assert recover_seed(other.commitments, shares).reveal() == seed_of(group).reveal()
    points = [dealing.commitments.points for dealing in (one, other)]
    assert not {each.to_bytes() for each in points[0]} & {each.to_bytes() for each in points[1]}


def test_wrong_shares_are_named(group: Group) -> None:
    dealing = dealing_of(group)
    shares = by_point(dealing)
    check_share(dealing.commitments, 2, shares[2])
    wrong = Share(shares[2].value + group.scalar(1), shares[2].blinding)
    with pytest.raises(InvalidProof) as caught:
        check_share(dealing.commitments, 2, wrong)
    assert caught.value.check == SHARE_CHECK
    with pytest.raises(InvalidProof) as caught:
        check_share(dealing.commitments, 5, shares[2])
    assert caught.value.check == SHARE_CHECK
    with pytest.raises(InvalidProof) as caught:
        recover_seed(dealing.commitments, {**shares, 2: wrong})
    assert (caught.value.check, caught.value.culprits) == (RECOVERY_CHECK, (2,))


def test_a_seed_that_is_no_scalar_is_not_shared(group: Group) -> None:
    largest = (group.order - 1).to_bytes(32, "little")
    assert deal_seed(group, SecretBytes(largest), POINTS, 3, seeded(1)).shares
    above = group.order.to_bytes(32, "little")
    for wrong in (largest[:-1], largest + b"\x00", above, b"\xff" * 32):
        with pytest.raises(UsageError):
            deal_seed(group, SecretBytes(wrong), POINTS, 3, seeded(1))


@pytest.mark.parametrize(
    ("points", "threshold"),
    [((0, 1), 1), ((1, 1), 1), ((1, 2**32), 1), ((1, 2), 0), ((1, 2), 3)],
    ids=str,
)
def test_points_and_thresholds_are_those_of_other_shares(
    group: Group, points: tuple[int, ...], threshold: int
) -> None:
    seed = seed_of(group)
    assert deal_seed(group, seed, (1, 2), 2, seeded(1)).shares
    with pytest.raises(UsageError):
        deal_seed(group, seed, points, threshold, seeded(1))


def test_commitments_are_decoded_strictly(group: Group) -> None:
    data = dealing_of(group).commitments.to_bytes()
    assert decode_seed_commitments(group, data, 3).to_bytes() == data
    for wrong in (data[:-32], data + data[:32], IDENTITY + data[32:], data[:-32] + b"\xff" * 32):
        with pytest.raises(MalformedMessage):
            decode_seed_commitments(group, wrong, 3)
    with pytest.raises(UsageError):
        decode_seed_commitments(group, b"", 0)


def test_a_vector_itself_is_not_shared(group: Group) -> None:
    assert deal(group, self_mask(group, seed_of(group), OWN, 1), POINTS, 3, seeded(1)).shares
    with pytest.raises(UsageError):
        deal(group, self_mask(group, seed_of(group), OWN, 2), POINTS, 3, seeded(1))
