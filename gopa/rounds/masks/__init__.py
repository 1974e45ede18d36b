"""Masks that cancel between neighbours, self-masks and their shares, and their commitments.

Read `law` (uniform or rounded Gaussian masks), `keys` (what two neighbours agree on), `edge`,
`self_masks` (which are shared, so that whoever vanishes can be recovered), then `equations`.

    >>> from gopa.rounds.masks import UniformMask, edge_mask, sign
    >>> from commitments import ristretto255
    >>> from gopa.rounds.masks.law import UniformMask
    >>> from wire.secret import SecretBytes
    >>> ada, ben = bytes(32), bytes(31) + b"b"
    >>> sign(ada, ben) + sign(ben, ada)  # one adds what the other subtracts
    0
    >>> ends = [edge_mask(ristretto255(), SecretBytes(bytes(32)), UniformMask(), 1) for _ in "ab"]
    >>> ends[0].commitment() == ends[1].commitment()
    True

Specification: `specs/08-masks.md`.
"""

from gopa.rounds.masks.edge import EdgeMask, EdgeMasks, edge_mask, edge_masks, sign
from gopa.rounds.masks.equations import (
    EquationMask,
    EquationPoints,
    edge_equation,
    self_equation,
    signed_sum,
)
from gopa.rounds.masks.keys import (
    EdgeContext,
    SelfContext,
    SharedPoint,
    edge_key,
    share_key,
    shared_point,
)
from gopa.rounds.masks.law import MASK_LAW, MaskLaw, RoundedGaussian, UniformMask
from gopa.rounds.masks.self_masks import (
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
    share_point,
    shareable_seed,
)
from gopa.rounds.masks.words import (
    add_edge_words,
    add_self_words,
    edge_key_hash,
    edge_words,
    seed_hash,
    self_words,
)

__all__ = [
    "MASK_LAW",
    "Dealing",
    "EdgeContext",
    "EdgeMask",
    "EdgeMasks",
    "EquationMask",
    "EquationPoints",
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
    "edge_equation",
    "edge_key",
    "edge_key_hash",
    "edge_mask",
    "edge_masks",
    "edge_words",
    "encode_commitments",
    "open_share",
    "recover",
    "recover_seed",
    "seal_share",
    "seed_hash",
    "self_equation",
    "self_mask",
    "self_words",
    "share_key",
    "share_point",
    "shareable_seed",
    "shared_point",
    "sign",
    "signed_sum",
]
