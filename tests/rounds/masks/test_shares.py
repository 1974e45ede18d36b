"""Shares of masks and of seeds: any T recover them, and wrong ones are named."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitments import Pedersen, VectorPedersen
from commitments.group import Group
from gopa.rounds.masks import (
    Dealing,
    EdgeContext,
    SelfMask,
    Share,
    SharedPoint,
    check_share,
    deal,
    deal_seed,
    decode_commitments,
    decode_seed_commitments,
    decode_share,
    encode_commitments,
    open_share,
    recover,
    recover_seed,
    seal_share,
    self_mask,
    share_key,
    shareable_seed,
)
from gopa.rounds.masks.self_masks import RECOVERY_CHECK, SHARE_CHECK
from tests.group.backends import installed_groups
from tests.group.values import FEW, ORDER
from tests.randomness import seeded
from tests.rounds.masks.samples import (
    EDGE,
    HIGH,
    LOW,
    OWN,
    SESSION,
    both_ends,
    secret,
    share_key_of,
)
from wire.errors import InvalidProof, MalformedMessage, UsageError
from wire.secret import SecretBytes

POINTS = (1, 2, 5, 2**32 - 1)


def mask_of(group: Group) -> SelfMask:
    return self_mask(group, secret("seed"), OWN, 1)


def dealing_of(group: Group, threshold: int = 3) -> Dealing:
    return deal(group, mask_of(group), POINTS, threshold, seeded("deal"))


def by_point(dealing: Dealing) -> dict[int, Share]:
    return dict(zip(POINTS, dealing.shares, strict=True))


def changed(group: Group, share: Share) -> Share:
    return Share(share.value + group.scalar(1), share.blinding)


@pytest.mark.parametrize("threshold", [1, 2, 3, 4])
def test_any_threshold_of_shares_recovers_the_mask(group: Group, threshold: int) -> None:
    mask, dealing = mask_of(group), dealing_of(group, threshold)
    assert len(dealing.commitments) == threshold
    assert dealing.commitments.points[0] == mask.commitment().points[0]
    shares = by_point(dealing)
    for chosen in combinations(POINTS, threshold):
        made = recover(dealing.commitments, {at: shares[at] for at in chosen})
        assert made.values.reveal() == mask.values.reveal()
        assert made.blinding.reveal() == mask.blinding.reveal()
    assert recover(dealing.commitments, shares).values.reveal() == mask.values.reveal()


@FEW
@given(
    points=st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=9, unique=True), data=st.data()
)
def test_shares_lie_on_polynomials_of_the_right_degree(
    points: list[int], data: st.DataObject
) -> None:
    for group in installed_groups():
        threshold = data.draw(st.integers(1, len(points)))
        mask = mask_of(group)
        dealing = deal(group, mask, points, threshold, seeded(1))
        for at, share in zip(points, dealing.shares, strict=True):
            check_share(dealing.commitments, at, share)
        shares = dict(zip(points, dealing.shares, strict=True))
        chosen = data.draw(st.permutations(points))[:threshold]
        made = recover(dealing.commitments, {at: shares[at] for at in chosen})
        assert made.values.reveal() == mask.values.reveal()


def test_fewer_shares_fit_every_mask(group: Group) -> None:
    """For two of three shares and any other b there is a polynomial through them."""
    dealing, other = dealing_of(group), 12345
    values = [int(share.value.reveal()) for share in dealing.shares[:2]]
    known = {0: other, **dict(zip(POINTS, values, strict=False))}
    third = interpolated(known, 5)
    assert third != int(dealing.shares[2].value.reveal())
    again = {at: value for at, value in known.items() if at} | {5: third}
    assert interpolated(again, 0) == other


def interpolated(known: dict[int, int], at: int) -> int:
    total = 0
    for x, value in known.items():
        weight = 1
        for other in known:
            if other != x:
                weight = weight * (at - other) * pow(x - other, -1, ORDER) % ORDER
        total += value * weight
    return total % ORDER


def test_dealings_depend_on_the_random_source(group: Group) -> None:
    one = deal(group, mask_of(group), POINTS, 2, seeded(1))
    other = deal(group, mask_of(group), POINTS, 2, seeded(2))
    assert one.commitments.points[0] == other.commitments.points[0]
    assert one.commitments.points[1] != other.commitments.points[1]
    assert one.shares[0].value.reveal() != other.shares[0].value.reveal()


def test_checked_shares(group: Group) -> None:
    dealing = dealing_of(group)
    for at, share in by_point(dealing).items():
        check_share(dealing.commitments, at, share)
        one = group.scalar(1)
        wrong = [
            Share(share.value + one, share.blinding),
            Share(share.value, share.blinding + one),
            Share(share.blinding, share.value),
            Share(-share.value, -share.blinding),
        ]
        for bad in wrong:
            with pytest.raises(InvalidProof) as caught:
                check_share(dealing.commitments, at, bad)
            assert caught.value.check == SHARE_CHECK


def test_the_share_of_another_recipient_is_refused(group: Group) -> None:
    dealing = dealing_of(group)
    for at, share in by_point(dealing).items():
        check_share(dealing.commitments, at, share)
        for elsewhere in (*POINTS, 3):
            if elsewhere != at:
                with pytest.raises(InvalidProof):
                    check_share(dealing.commitments, elsewhere, share)


def test_the_share_of_another_dealing_is_refused(group: Group) -> None:
    dealing = dealing_of(group)
    other = deal(group, mask_of(group), POINTS, 3, seeded("another"))
    check_share(dealing.commitments, 1, dealing.shares[0])
    with pytest.raises(InvalidProof):
        check_share(dealing.commitments, 1, other.shares[0])


@pytest.mark.parametrize("wrong", [(1,), (1, 5), (1, 2, 5)], ids=["one", "two", "all"])
def test_wrong_shares_are_named(group: Group, wrong: tuple[int, ...]) -> None:
    dealing = dealing_of(group)
    shares = {at: by_point(dealing)[at] for at in (1, 2, 5)}
    assert len(recover(dealing.commitments, shares).values) == 1
    shares |= {at: changed(group, shares[at]) for at in wrong}
    with pytest.raises(InvalidProof) as caught:
        recover(dealing.commitments, shares)
    assert caught.value.check == RECOVERY_CHECK
    assert caught.value.culprits == wrong


def test_too_few_shares(group: Group) -> None:
    dealing = dealing_of(group)
    shares = by_point(dealing)
    assert recover(dealing.commitments, {at: shares[at] for at in POINTS[:3]})
    with pytest.raises(UsageError):
        recover(dealing.commitments, {at: shares[at] for at in POINTS[:2]})


def test_commitments_travel(group: Group) -> None:
    dealing, own = dealing_of(group), mask_of(group).commitment()
    data = encode_commitments(dealing.commitments)
    assert len(data) == 64
    assert decode_commitments(own, data, 3) == dealing.commitments
    alone = dealing_of(group, 1).commitments
    assert encode_commitments(alone) == b""
    assert decode_commitments(own, b"", 1) == alone
    good = data[:32]
    for bad in (data[:-1], data + bytes(1), good, data + good, good + bytes(32), b"\xff" * 64):
        with pytest.raises(MalformedMessage):
            decode_commitments(own, bad, 3)


def test_commitments_of_a_mask_are_needed(group: Group) -> None:
    key, rng = Pedersen(group), seeded(3)
    own = mask_of(group).commitment()
    assert len(decode_commitments(own, b"", 1)) == 1
    pair = key.commit(group.secret_scalars([1, 2]), group.random_scalars(2, rng))
    vector = VectorPedersen(group, 2).commit_fresh(group.secret_scalars([1, 2]), rng=rng)[0]
    for bad in (pair, vector):
        with pytest.raises(UsageError):
            decode_commitments(bad, b"", 1)
    threshold: Any
    for threshold in (0, -1, 1.0, None):
        with pytest.raises(UsageError):
            decode_commitments(own, b"", threshold)


def test_sealed_shares_open_with_their_key(group: Group) -> None:
    share, key = dealing_of(group).shares[0], share_key_of(group)
    sealed = seal_share(group, share, key)
    assert len(sealed) == 64
    assert sealed != share.to_bytes().reveal()
    again = open_share(group, sealed, key)
    assert again.to_bytes().reveal() == share.to_bytes().reveal()
    assert decode_share(group, share.to_bytes().reveal()).value.reveal() == share.value.reveal()


def test_pads_meet_one_direction_of_one_edge_in_one_round(group: Group) -> None:
    """Two shares under one pad would show their difference."""
    shared, share = both_ends(group)[0], dealing_of(group).shares[0]
    keys = [
        share_key(shared, EDGE, LOW, HIGH),
        share_key(shared, EDGE, HIGH, LOW),
        share_key(shared, EdgeContext(SESSION, 4, LOW, HIGH), LOW, HIGH),
        share_key(shared, EdgeContext(SESSION, 3, LOW, b"\xff" * 32), LOW, b"\xff" * 32),
    ]
    sealed = {seal_share(group, share, key) for key in keys}
    assert len(sealed) == len(keys)


def test_a_share_under_another_key_is_no_share(group: Group) -> None:
    dealing, shared = dealing_of(group), both_ends(group)[0]
    own, other = (share_key(shared, EDGE, *ends) for ends in ((LOW, HIGH), (HIGH, LOW)))
    sealed = seal_share(group, dealing.shares[0], own)
    check_share(dealing.commitments, 1, open_share(group, sealed, own))
    with pytest.raises((MalformedMessage, InvalidProof)):
        check_share(dealing.commitments, 1, open_share(group, sealed, other))


def test_a_wrong_share_is_proved_by_the_revealed_point(group: Group) -> None:
    """Anybody who holds the point derives the key, removes the pad and sees the failure."""
    dealing, shared = dealing_of(group), both_ends(group)[0]
    data = shared.reveal().to_bytes()
    for share, fits in ((dealing.shares[0], True), (changed(group, dealing.shares[0]), False)):
        sealed = seal_share(group, share, share_key(shared, EDGE, LOW, HIGH))
        judge = SharedPoint.from_revealed(group.decode_point(data))
        opened = open_share(group, sealed, share_key(judge, EDGE, LOW, HIGH))
        if fits:
            check_share(dealing.commitments, 1, opened)
        else:
            with pytest.raises(InvalidProof):
                check_share(dealing.commitments, 1, opened)


@pytest.mark.parametrize("position", range(0, 64, 7))
def test_changed_bytes_under_the_pad_are_refused(group: Group, position: int) -> None:
    dealing, key = dealing_of(group), share_key_of(group)
    sealed = bytearray(seal_share(group, dealing.shares[0], key))
    check_share(dealing.commitments, 1, open_share(group, bytes(sealed), key))
    sealed[position] ^= 1
    with pytest.raises((MalformedMessage, InvalidProof)):
        check_share(dealing.commitments, 1, open_share(group, bytes(sealed), key))


def test_shares_decode_strictly(group: Group) -> None:
    data, key = dealing_of(group).shares[0].to_bytes().reveal(), share_key_of(group)
    assert decode_share(group, data).to_bytes().reveal() == data
    large = ORDER.to_bytes(32, "little")
    for bad in (b"", data[:-1], data + b"\0", large + data[32:], data[:32] + large, b"\xff" * 64):
        with pytest.raises(MalformedMessage):
            decode_share(group, bad)
    for bad in (b"", data[:-1], data + b"\0"):
        with pytest.raises(MalformedMessage):
            open_share(group, bad, key)


BAD_POINTS: dict[str, Any] = {
    "zero": [0, 1, 2],
    "negative": [-1, 1, 2],
    "twice": [1, 2, 2],
    "large": [1, 2, 2**32],
    "the order": [1, 2, ORDER],
    "float": [1.0, 2, 3],
    "bool": [True, 2, 3],
}


@pytest.mark.parametrize("name", BAD_POINTS)
def test_points_are_checked(group: Group, name: str) -> None:
    assert len(deal(group, mask_of(group), [1, 2, 3], 2, seeded(1)).shares) == 3
    assert len(deal_seed(group, seed_of(group), (1, 2, 3), 2, seeded(1)).shares) == 3
    with pytest.raises(UsageError):
        deal(group, mask_of(group), BAD_POINTS[name], 2, seeded(1))
    with pytest.raises(UsageError):
        deal_seed(group, seed_of(group), BAD_POINTS[name], 2, seeded(1))


@pytest.mark.parametrize("at", [0, -1, 2**32, 1.0, None, True])
def test_shares_are_checked_at_points(group: Group, at: Any) -> None:
    dealing = dealing_of(group)
    check_share(dealing.commitments, POINTS[0], dealing.shares[0])
    with pytest.raises(UsageError):
        check_share(dealing.commitments, at, dealing.shares[0])


@pytest.mark.parametrize("threshold", [0, -1, 5, 1.0, None, True])
def test_thresholds_are_checked(group: Group, threshold: Any) -> None:
    assert deal(group, mask_of(group), POINTS, 4, seeded(1)).shares
    with pytest.raises(UsageError):
        deal(group, mask_of(group), POINTS, threshold, seeded(1))
    with pytest.raises(UsageError):
        deal_seed(group, seed_of(group), POINTS, threshold, seeded(1))


def test_vectors_are_not_shared(group: Group) -> None:
    assert deal(group, self_mask(group, secret("seed"), OWN, 1), POINTS, 2, seeded(1)).shares
    with pytest.raises(UsageError):
        deal(group, self_mask(group, secret("seed"), OWN, 2), POINTS, 2, seeded(1))


def test_keys_are_checked(group: Group) -> None:
    share, bad = dealing_of(group).shares[0], SecretBytes(bytes(31))
    sealed = seal_share(group, share, share_key_of(group))
    assert open_share(group, sealed, share_key_of(group))
    for attempt in (lambda: seal_share(group, share, bad), lambda: open_share(group, sealed, bad)):
        with pytest.raises(UsageError):
            attempt()


IDENTITY = bytes(32)


def seed_of(group: Group) -> SecretBytes:
    return shareable_seed(group, seeded("seed to share"))


def dealing_of_seed(group: Group, threshold: int = 3, name: str = "deal") -> Dealing:
    return deal_seed(group, seed_of(group), POINTS, threshold, seeded(name))


@pytest.mark.parametrize("threshold", [1, 2, 3, 4])
def test_any_threshold_of_shares_recovers_the_seed(group: Group, threshold: int) -> None:
    seed, dealing = seed_of(group).reveal(), dealing_of_seed(group, threshold)
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
    dealing = dealing_of_seed(group)
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
    one, other = dealing_of_seed(group), dealing_of_seed(group, name="again")
    shares = by_point(other)
    assert recover_seed(other.commitments, shares).reveal() == seed_of(group).reveal()
    points = [dealing.commitments.points for dealing in (one, other)]
    assert not {each.to_bytes() for each in points[0]} & {each.to_bytes() for each in points[1]}


def test_wrong_shares_of_a_seed_are_named(group: Group) -> None:
    dealing = dealing_of_seed(group)
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


def test_commitments_are_decoded_strictly(group: Group) -> None:
    data = dealing_of_seed(group).commitments.to_bytes()
    assert decode_seed_commitments(group, data, 3).to_bytes() == data
    for wrong in (data[:-32], data + data[:32], IDENTITY + data[32:], data[:-32] + b"\xff" * 32):
        with pytest.raises(MalformedMessage):
            decode_seed_commitments(group, wrong, 3)
    with pytest.raises(UsageError):
        decode_seed_commitments(group, b"", 0)
