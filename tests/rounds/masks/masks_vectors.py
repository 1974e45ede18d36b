"""What `specs/vectors/masks.json` holds: keys, tables, masks, words and shares from seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from commitments import ristretto255
from commitments.group import Group
from gopa.contract.words import pack_words, word_type
from gopa.rounds.masks import (
    MASK_LAW,
    Dealing,
    EdgeContext,
    MaskLaw,
    RoundedGaussian,
    SelfContext,
    UniformMask,
    add_edge_words,
    add_self_words,
    deal,
    deal_seed,
    edge_key,
    edge_key_hash,
    edge_mask,
    encode_commitments,
    seal_share,
    seed_hash,
    self_mask,
    share_key,
    shareable_seed,
    shared_point,
)
from tests.randomness import seeded
from tests.rounds.masks.samples import EDGE, HIGH, LOW, OWN, id_of, key_pair, secret
from wire.secret import SecretBytes

LAWS: dict[str, MaskLaw] = {"uniform": UniformMask(), "rounded Gaussian 50": RoundedGaussian(50)}
DEVIATIONS = (1, 2, 7, 50, 1000)
WIDTHS = (1, 7, 20, 32, 33, 63, 64)
POINTS = (1, 2, 5, 9)


def records(group: Group | None = None) -> dict[str, object]:
    """The content of the vector file, computed on one backend."""
    made = ristretto255() if group is None else group
    return {
        "format": "byte strings in hexadecimal, integers in decimal strings where they may be long",
        "keys": _keys(made),
        "laws": [_law(deviation) for deviation in DEVIATIONS],
        "edge_masks": [_edge_mask(made, name, dimension) for name in LAWS for dimension in (1, 3)],
        "self_masks": [_self_mask(made, dimension) for dimension in (1, 3)],
        "words": [_words(made, name, width) for name in LAWS for width in (32, 64)],
        "hashes": {
            "edge": {"key": _hex("key"), "hash": edge_key_hash(secret("key"), EDGE).hex()},
            "seed": {"seed": _hex("seed"), "hash": seed_hash(secret("seed"), OWN).hex()},
        },
        "packing": [_packing(width) for width in WIDTHS],
        "refused_packing": [
            {"name": "an unused bit", "width": 7, "count": 1, "packed": "80"},
            {"name": "a byte missing", "width": 9, "count": 1, "packed": "ff"},
            {"name": "a byte too many", "width": 8, "count": 1, "packed": "ff00"},
        ],
        "shares": _shares(made),
        "shares_of_a_seed": _shares_of_a_seed(made),
    }


def _hex(name: str) -> str:
    return id_of(f"secret {name}").hex()


def _context(context: EdgeContext | SelfContext) -> dict[str, object]:
    ids = {
        name: getattr(context, name) for name in ("low", "high", "party") if hasattr(context, name)
    }
    texts = {name: value.hex() for name, value in ids.items()}
    return {"session": context.session.hex(), "round": context.round, **texts}


def _keys(group: Group) -> dict[str, object]:
    u, v = key_pair(group, "u"), key_pair(group, "v")
    shared = shared_point(u, group.generator * v)
    return {
        "secret_keys": [scalar.reveal().to_bytes().hex() for scalar in (u, v)],
        "shared_point": shared.reveal().to_bytes().hex(),
        "context": _context(EDGE),
        "edge_key": edge_key(shared, EDGE).reveal().hex(),
        "share_key_low_to_high": share_key(shared, EDGE, LOW, HIGH).reveal().hex(),
        "share_key_high_to_low": share_key(shared, EDGE, HIGH, LOW).reveal().hex(),
    }


def _law(deviation: int) -> dict[str, object]:
    law = RoundedGaussian(deviation)
    return {
        "deviation": deviation,
        "encoding": MASK_LAW.encode(law).hex(),
        "radius": law.radius,
        "hash": law.table_hash().hex(),
        "last_lower_bounds": [str(bound) for bound in law.lower[-13:]],
    }


def _edge_mask(group: Group, name: str, dimension: int) -> dict[str, object]:
    mask = edge_mask(group, secret("key"), LAWS[name], dimension)
    return {"key": _hex("key"), "law": name, "dimension": dimension, **_mask(mask)}


def _self_mask(group: Group, dimension: int) -> dict[str, object]:
    mask = self_mask(group, secret("seed"), OWN, dimension)
    start = {"seed": _hex("seed"), "context": _context(OWN), "dimension": dimension}
    return start | _mask(mask)


def _mask(mask: Any) -> dict[str, object]:
    return {
        "values": [value.to_bytes().hex() for value in mask.values.reveal()],
        "blinding": mask.blinding.reveal().to_bytes().hex(),
        "commitment": mask.commitment().to_bytes().hex(),
    }


def _words(group: Group, name: str, width: int) -> dict[str, object]:
    edge: Any = np.zeros(4, dtype=word_type(width))
    own: Any = np.zeros(4, dtype=word_type(width))
    add_edge_words(edge, secret("key"), 1, LAWS[name], group=group)
    add_self_words(own, secret("seed"), OWN, group=group)
    return {
        "key": _hex("key"),
        "seed": _hex("seed"),
        "context": _context(OWN),
        "law": name,
        "width": width,
        "edge": [str(word) for word in edge.tolist()],
        "self": [str(word) for word in own.tolist()],
    }


def _packing(width: int) -> dict[str, object]:
    data = np.frombuffer(id_of("words") + id_of("more words"), dtype="<u8")
    values: Any = (data[:5] & np.uint64((1 << width) - 1)).astype(word_type(width))
    words = [str(value) for value in values.tolist()]
    return {"width": width, "words": words, "packed": pack_words(values, width).hex()}


def _shares(group: Group) -> dict[str, object]:
    mask = self_mask(group, secret("seed"), OWN, 1)
    dealing = deal(group, mask, POINTS, 3, seeded("vectors"))
    return {
        "seed": _hex("seed"),
        "context": _context(OWN),
        "threshold": 3,
        "mask_commitment": mask.commitment().to_bytes().hex(),
        "commitments": encode_commitments(dealing.commitments).hex(),
        "shares": _sealed(group, dealing),
    }


def _shares_of_a_seed(group: Group) -> dict[str, object]:
    """`commitments` begin with C_0."""
    seed = shareable_seed(group, seeded("a seed"))
    dealing = deal_seed(group, seed, POINTS, 3, seeded("vectors of a seed"))
    return {
        "seed": seed.reveal().hex(),
        "context": _context(OWN),
        "threshold": 3,
        "hash": seed_hash(seed, OWN).hex(),
        "mask_commitment": self_mask(group, seed, OWN, 3).commitment().to_bytes().hex(),
        "commitments": dealing.commitments.to_bytes().hex(),
        "shares": _sealed(group, dealing),
    }


def _sealed(group: Group, dealing: Dealing) -> list[dict[str, object]]:
    shares: list[dict[str, object]] = []
    for at, share in zip(POINTS, dealing.shares, strict=True):
        key = SecretBytes(id_of(f"share key {at}"))
        shares.append(
            {
                "at": at,
                "share": share.to_bytes().reveal().hex(),
                "share_key": key.reveal().hex(),
                "sealed": seal_share(group, share, key).hex(),
            }
        )
    return shares
