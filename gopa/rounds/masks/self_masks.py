"""The mask a party adds for itself, and the shares of it for when the party disappears.

Nothing a party published is readable before it opens the seed of this mask (`specs/08-masks.md`,
section 4).

The shares are Pedersen's verifiable secret sharing of (b, t): the first coefficient commitment is
the commitment B to the mask itself, so every share is checked against what the party is held to
anyway. Where the mask is a vector or words, its seed is shared instead. The seed is the encoding
of a uniform scalar, and that scalar is shared. No commitment to the mask is one to the seed, so
all coefficients are published, C_0 too; whether the seed makes the mask is seen when it is
recovered. Specification: `specs/08-masks.md`, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from commitments import Commitment, Pedersen
from commitments.group import Group, SecretScalar, SecretScalarVec
from gopa.rounds.masks.edge import commitments_to, require_dimension, single
from gopa.rounds.masks.keys import SelfContext, derived_key, require_key
from wire.domains import SELF_BLINDING, SELF_KEY, SELF_VALUES, SHARE_PAD, stream_domain
from wire.errors import InvalidProof, MalformedMessage, UsageError
from wire.randomness import Rng
from wire.secret import Guarded, SecretBytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SelfMask(Guarded):
    """Uniform values, and the blinding of their commitment."""

    group: Group
    values: SecretScalarVec
    blinding: SecretScalar

    def commitment(self) -> Commitment:
        """Pedersen for one value, vector Pedersen for more; in constant time."""
        blindings = single(self.group, self.blinding)
        return commitments_to(self.group, len(self.values), [self.values], blindings)


def self_mask(group: Group, seed: SecretBytes, context: SelfContext, dimension: int) -> SelfMask:
    """The mask that a seed stands for in one round. The caller draws a fresh seed for each.

    Raises:
        UsageError: the seed does not have 32 bytes, or the dimension is out of range.
    """
    require_dimension(dimension)
    key = self_key(seed, context)
    values = group.stream(key, stream_domain(SELF_VALUES)).scalars(dimension)
    blinding = group.stream(key, stream_domain(SELF_BLINDING)).scalars(1)
    return SelfMask(group, values, blinding[0])


def self_key(seed: SecretBytes, context: SelfContext) -> SecretBytes:
    """The key that all streams of a party's own mask start from.

    Raises:
        UsageError: the seed does not have 32 bytes.
    """
    require_key(seed)
    return derived_key(seed.reveal(), context.session, SELF_KEY, context.to_bytes())


SHARE_SIZE: Final = 64
SHARE_CHECK: Final = "08-M23"
RECOVERY_CHECK: Final = "08-M24"
LARGEST_POINT: Final = 2**32 - 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Share(Guarded):
    """The values of both polynomials at one point."""

    value: SecretScalar
    blinding: SecretScalar

    def to_bytes(self) -> SecretBytes:
        """64 bytes: both scalars in their canonical encoding."""
        return SecretBytes(self.value.reveal().to_bytes() + self.blinding.reveal().to_bytes())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dealing(Guarded):
    """What a dealer publishes, and one share for each recipient in their order."""

    commitments: Commitment
    shares: tuple[Share, ...]


def share_point(position: int) -> int:
    """Where the share for the party at this position of the roll lies."""
    return position + 1


def deal(
    group: Group, mask: SelfMask, recipients: Sequence[int], threshold: int, rng: Rng
) -> Dealing:
    """Share a scalar mask so that any `threshold` shares recover it and fewer tell nothing.

    `recipients` are the points at which the shares lie, one for each recipient.

    Raises:
        UsageError: the mask is a vector, the points are not distinct integers from 1 to
            2^32 - 1, or the threshold is not from 1 to their number.
    """
    if len(mask.values) != 1:
        raise UsageError("only the mask of a single value is shared; of others the seed is")
    secret = mask.values, single(group, mask.blinding)
    return deal_scalars(group, secret, recipients, threshold, rng)


def deal_scalars(
    group: Group,
    secret: tuple[SecretScalarVec, SecretScalarVec],
    recipients: Sequence[int],
    threshold: int,
    rng: Rng,
) -> Dealing:
    """Share one value with the blinding of its commitment, each a vector of one scalar."""
    _require_points(recipients)
    if type(threshold) is not int or not 1 <= threshold <= len(recipients):
        raise UsageError("the threshold is from 1 to the number of recipients", "threshold")
    fresh = group.random_scalars(2 * (threshold - 1), rng)
    values = secret[0].concat(fresh[: threshold - 1])
    blindings = secret[1].concat(fresh[threshold - 1 :])
    rows = zip(_at(group, values, recipients), _at(group, blindings, recipients), strict=True)
    commitments = Pedersen(group).commit(values, blindings)
    return Dealing(commitments, tuple(Share(value, blinding) for value, blinding in rows))


def decode_commitments(own: Commitment, data: bytes, threshold: int) -> Commitment:
    """C_0 .. C_(T-1) of a dealer: its mask commitment `own`, then what it published.

    Raises:
        MalformedMessage: `data` is not T - 1 canonical points other than the identity.
    """
    key = Pedersen(own.key.group)
    if own.key != key or len(own) != 1:
        raise UsageError("what is shared is the mask behind one Pedersen commitment")
    if type(threshold) is not int or threshold < 1:
        raise UsageError("the threshold is 1 or more", "threshold")
    return Commitment(key, own.points.concat(key.decode(data, threshold - 1).points))


def encode_commitments(commitments: Commitment) -> bytes:
    """C_1 .. C_(T-1): C_0 is the commitment to the mask, which is published as such."""
    return commitments.points[1:].to_bytes()


def seal_share(group: Group, share: Share, key: SecretBytes) -> bytes:
    """The share under a one-time pad; the key is that of its dealer and recipient.

    Raises:
        UsageError: the key does not have 32 bytes.
    """
    return _pad(group, share.to_bytes().reveal(), key)


def open_share(group: Group, sealed: bytes, key: SecretBytes) -> Share:
    """The share under the pad; it proves nothing before `check_share`.

    Raises:
        MalformedMessage: not 64 bytes, or what is under the pad are no canonical scalars.
    """
    if type(sealed) is not bytes or len(sealed) != SHARE_SIZE:
        return decode_share(group, sealed)
    return decode_share(group, _pad(group, sealed, key))


def decode_share(group: Group, data: bytes) -> Share:
    """Strictly decode a share.

    Raises:
        MalformedMessage: not 64 bytes, or a scalar that is not canonical.
    """
    scalars = group.decode_scalars(data, 2)
    return Share(scalars[0].secret(), scalars[1].secret())


def check_share(commitments: Commitment, at: int, share: Share) -> None:
    """Check that a share lies on the committed polynomials.

    Raises:
        InvalidProof: it does not (08-M23).
    """
    _require_points([at])
    group = commitments.key.group
    committed = Pedersen(group).commit(single(group, share.value), single(group, share.blinding))
    powers = group.powers(group.scalar(at), len(commitments))
    # Otherwise a dealer could hand out shares from which nobody recovers its mask.
    if committed.points[0] != commitments.points.vartime_msm(powers):
        raise InvalidProof("a share does not fit the dealer's commitments", SHARE_CHECK)


def recover(commitments: Commitment, shares: Mapping[int, Share]) -> SelfMask:
    """The mask (b, t) from published shares, each named by its point: that behind C_0.

    Raises:
        InvalidProof: some of these shares do not fit (08-M24); `culprits` are their points.
        UsageError: there are fewer shares than the threshold.
    """
    value, blinding = combined(commitments, shares)
    group = commitments.key.group
    return SelfMask(group, single(group, value), blinding)


def combined(
    commitments: Commitment, shares: Mapping[int, Share]
) -> tuple[SecretScalar, SecretScalar]:
    """What was dealt, with its blinding; raises what `recover` raises.

    As many shares as there are commitments are combined, those at the smallest points,
    and the result is checked against C_0: it is what was dealt, whoever made the shares.
    """
    group, threshold = commitments.key.group, len(commitments)
    if len(shares) < threshold:
        raise UsageError(f"{threshold} shares are needed to recover it, not {len(shares)}")
    points = sorted(shares)[:threshold]
    _require_points(points)
    value, blinding = group.secret_scalar(0), group.secret_scalar(0)
    for at in points:
        weight = group.scalar(_weight_at_zero(points, at, group.order))
        value = value + shares[at].value * weight
        blinding = blinding + shares[at].blinding * weight
    opened = Pedersen(group).commit(single(group, value), single(group, blinding))
    if opened.points[0] == commitments.points[0]:
        return value, blinding
    wrong = tuple(at for at in points if not _fits(commitments, at, shares[at]))
    raise InvalidProof("shares do not fit the dealer's commitments", RECOVERY_CHECK, wrong)


def _at(group: Group, coefficients: SecretScalarVec, points: Sequence[int]) -> list[SecretScalar]:
    """The polynomial at each point, by Horner's rule."""
    at = group.scalars(points)
    total = group.secret_scalars([0] * len(points))
    for power in reversed(range(len(coefficients))):
        total = total * at + coefficients[power]
    return [total[index] for index in range(len(points))]


def _weight_at_zero(points: Sequence[int], at: int, order: int) -> int:
    """Lagrange's weight of the value at `at` for the value at zero."""
    above = below = 1
    for other in points:
        if other != at:
            above = above * other % order
            below = below * (other - at) % order
    return above * pow(below, -1, order) % order


def _fits(commitments: Commitment, at: int, share: Share) -> bool:
    try:
        check_share(commitments, at, share)
    except InvalidProof:
        return False
    return True


def _pad(group: Group, data: bytes, key: SecretBytes) -> bytes:
    require_key(key)
    pad = group.stream(key, stream_domain(SHARE_PAD)).bytes(SHARE_SIZE)
    return bytes(a ^ b for a, b in zip(data, pad, strict=True))


def _require_points(points: Sequence[int]) -> None:
    if any(type(at) is not int or not 1 <= at <= LARGEST_POINT for at in points):
        raise UsageError(f"a share lies at an integer from 1 to {LARGEST_POINT}")
    # Two shares at one point count once: with an equal pair a threshold would not be reached.
    if len(set(points)) != len(points):
        raise UsageError("each recipient has a point of its own")


def shareable_seed(group: Group, rng: Rng) -> SecretBytes:
    """A fresh seed of 32 bytes that can be shared: the encoding of a uniform scalar."""
    return SecretBytes(group.random_scalars(1, rng).reveal().to_bytes())


def deal_seed(
    group: Group, seed: SecretBytes, recipients: Sequence[int], threshold: int, rng: Rng
) -> Dealing:
    """Share a seed so that any `threshold` shares recover it and fewer tell nothing.

    `recipients` are the points at which the shares lie, one for each recipient.

    Raises:
        UsageError: the seed is not one of `shareable_seed`, the points are not distinct
            integers from 1 to 2^32 - 1, or the threshold is not from 1 to their number.
    """
    require_key(seed)
    blinding = group.random_scalars(1, rng)
    return deal_scalars(group, (_scalar(group, seed), blinding), recipients, threshold, rng)


def decode_seed_commitments(group: Group, data: bytes, threshold: int) -> Commitment:
    """C_0 .. C_(T-1) of a dealer, as it published them.

    Raises:
        MalformedMessage: `data` is not T canonical points other than the identity.
    """
    if type(threshold) is not int or threshold < 1:
        raise UsageError("the threshold is 1 or more", "threshold")
    return Pedersen(group).decode(data, threshold)


def recover_seed(commitments: Commitment, shares: Mapping[int, Share]) -> SecretBytes:
    """The seed that was dealt, from published shares, each named by its point.

    It is the one behind C_0, whoever made the shares. That it makes the dealer's mask is
    for the caller to check.

    Raises:
        InvalidProof: some of these shares do not fit (08-M24); `culprits` are their points.
        UsageError: there are fewer shares than the threshold.
    """
    value, _ = combined(commitments, shares)
    return SecretBytes(value.reveal().to_bytes())


def _scalar(group: Group, seed: SecretBytes) -> SecretScalarVec:
    try:
        return group.decode_scalars(seed.reveal(), 1).secret()
    except MalformedMessage:
        message = "a seed that can be shared is the encoding of a scalar: see shareable_seed"
        raise UsageError(message, "seed") from None
