"""Shares of the seed of a party's own mask, where the mask is a vector or words.

The seed is the encoding of a uniform scalar, and that scalar is shared. No commitment to the
mask is one to the seed, so all coefficients are published, C_0 too; whether the seed makes the
mask is seen when it is recovered. Specification: `specs/08-masks.md`, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commitments import Commitment, Pedersen
from commitments.group import Group, SecretScalarVec
from gopa.masks.keys import require_key
from gopa.masks.self_masks import Dealing, Share, combined, deal_scalars
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng
from wire.secret import SecretBytes


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
