"""Makes masks: what neighbours add so that it cancels, and what a party adds for itself.

Specification: `specs/08-masks.md`.
"""

from gopa.masks.edge import EdgeMask, EdgeMasks, edge_mask, edge_masks, sign
from gopa.masks.keys import EdgeContext, SelfContext, SharedPoint, edge_key, share_key, shared_point
from gopa.masks.law import MASK_LAW, MaskLaw, RoundedGaussian, UniformMask
from gopa.masks.self_masks import (
    Dealing,
    SelfMask,
    Share,
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
    shareable_seed,
)
from gopa.masks.words import (
    add_edge_words,
    add_self_words,
    edge_key_hash,
    pack_words,
    packed_size,
    seed_hash,
    unpack_words,
    word_type,
)

__all__ = [
    "MASK_LAW",
    "Dealing",
    "EdgeContext",
    "EdgeMask",
    "EdgeMasks",
    "MaskLaw",
    "RoundedGaussian",
    "SelfContext",
    "SelfMask",
    "Share",
    "SharedPoint",
    "UniformMask",
    "add_edge_words",
    "add_self_words",
    "check_share",
    "deal",
    "deal_seed",
    "decode_commitments",
    "decode_seed_commitments",
    "decode_share",
    "edge_key",
    "edge_key_hash",
    "edge_mask",
    "edge_masks",
    "encode_commitments",
    "open_share",
    "pack_words",
    "packed_size",
    "recover",
    "recover_seed",
    "seal_share",
    "seed_hash",
    "self_mask",
    "share_key",
    "shareable_seed",
    "shared_point",
    "sign",
    "unpack_words",
    "word_type",
]
