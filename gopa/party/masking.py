"""Keys and masks of a party's edges, in all modes. `specs/04-protocol.md`, section 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from commitments import Opening, VectorPedersen
from commitments.group import Group, SecretScalar
from gopa.masks import (
    Dealing,
    EdgeContext,
    EdgeMasks,
    MaskLaw,
    RoundedGaussian,
    SelfContext,
    SharedPoint,
    UniformMask,
    add_edge_words,
    edge_key,
    edge_key_hash,
    edge_masks,
    seal_share,
    share_key,
    sign,
)
from gopa.party.states import EdgeSecret
from gopa.party.view import RoundView
from gopa.planning.terms import Terms
from gopa.rounds.context import RoundContext, opening_of
from wire.secret import SecretBytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SIZE = 32


def mask_law(terms: Terms) -> MaskLaw:
    """What the masks of edges are drawn from."""
    return UniformMask() if terms.mask == "uniform" else RoundedGaussian(terms.mask_deviation)


def share_point(position: int) -> int:
    """Where the share for the party at this position of the roll lies."""
    return position + 1


def edge_context(view: RoundView, one: int, other: int) -> EdgeContext:
    """The edge between two positions."""
    context = view.context
    ids = view.id_of(one), view.id_of(other)
    return EdgeContext.between(context.session, context.round, *ids)


def self_context(view: RoundView) -> SelfContext:
    """The party's own mask in this round."""
    return SelfContext(view.context.session, view.context.round, view.own_id)


def edge_secrets(
    view: RoundView, secret: SecretScalar
) -> tuple[dict[int, EdgeSecret], EdgeMasks | None]:
    """What this party and each neighbour derive, and in full mode the masks, in their order.

    Raises `MalformedMessage` if the roll lists a key that is no point.
    """
    group, neighbours = view.context.group, view.neighbours
    keys = b"".join(view.enrolment.roll.parties[v].key for v in neighbours)
    points = group.decode_points(keys, len(neighbours)) * secret
    shared = [SharedPoint(point) for point in points]
    contexts = [edge_context(view, view.position, v) for v in neighbours]
    derived = [edge_key(point, each) for point, each in zip(shared, contexts, strict=True)]
    masks = _masks(view.context, derived) if view.context.full else None
    if masks is None:
        posted = [edge_key_hash(key, each) for key, each in zip(derived, contexts, strict=True)]
    else:
        posted = _committed(view.context, masks)
    secrets = {
        v: EdgeSecret(point, key, sign(view.own_id, view.id_of(v)), data)
        for v, point, key, data in zip(neighbours, shared, derived, posted, strict=True)
    }
    return secrets, masks


def _masks(context: RoundContext, keys: Sequence[SecretBytes]) -> EdgeMasks:
    return edge_masks(context.group, keys, mask_law(context.manifest.terms), context.dimension)


def _committed(context: RoundContext, masks: EdgeMasks) -> list[bytes]:
    """One commitment for each edge, under the key of the session."""
    if not len(masks):
        return []
    if isinstance(context.key, VectorPedersen):
        bits = masks.law.bits if isinstance(masks.law, RoundedGaussian) else None
        data = context.key.commit_rows(masks.rows, masks.blindings, bits=bits).to_bytes()
    else:
        data = masks.commitments().to_bytes()
    return [data[at : at + SIZE] for at in range(0, len(data), SIZE)]


def masked_opening(
    context: RoundContext, masked: Opening, masks: EdgeMasks, signs: Sequence[int]
) -> Opening:
    """xhat and rho ([P1]): a sign for each edge, 0 for those that are void."""
    values, blinding = masks.signed_sum(signs)
    return masked + opening_of(context.key, values, blinding)


def masked_words(
    words: npt.NDArray[np.integer],
    edges: Mapping[int, EdgeSecret],
    live: Sequence[int],
    law: MaskLaw,
    group: Group,
) -> npt.NDArray[np.integer]:
    """The words with the masks of live edges added, as new words."""
    total = words.copy()
    for neighbour in live:
        add_edge_words(total, edges[neighbour].key, edges[neighbour].sign, law, group=group)
    return total


def pad_key(view: RoundView, shared: SharedPoint, dealer: int, recipient: int) -> SecretBytes:
    """The key that hides the dealer's share for the recipient."""
    edge = edge_context(view, dealer, recipient)
    return share_key(shared, edge, view.id_of(dealer), view.id_of(recipient))


def sealed_shares(
    view: RoundView, edges: Mapping[int, EdgeSecret], dealt: Dealing
) -> tuple[bytes, ...]:
    """What this party dealt, for each neighbour under the key that they share."""
    return tuple(
        seal_share(view.context.group, share, pad_key(view, edges[v].shared, view.position, v))
        for v, share in zip(view.neighbours, dealt.shares, strict=True)
    )
