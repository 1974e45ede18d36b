"""Computes how long the messages about long vectors may be.

`specs/14-long-vectors.md`, rules M3, E6 and E9. Each is the length of the longest honest one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from commitments import ristretto255
from gopa.masks.words import packed_size
from gopa.messages.long_vectors import LONG_COMMIT, LONG_JOIN, LONG_PUBLISH, PROVE
from gopa.messages.manifest import CommitReveal, Manifest
from gopa.messages.row_bounds import length_bounds, weight_bound
from gopa.planning.equation_points import equation_points, losses_allowed
from gopa.planning.terms import Terms
from zkp.bits import layout_of, proof_size
from zkp.rows.shape import RowShape

_POINT: Final = 32
_SHARE: Final = 64
_INPUT_FIXED: Final = 3 + 7 + 22 + 3
_WEIGHTED: Final = 7
_MASK_FIXED: Final = 1 + 4 + 3


def join_size(manifest: Manifest) -> int:
    """The longest join."""
    shape = RowShape(manifest.terms.dimension)
    nonce = 32 if isinstance(manifest.beacon, CommitReveal) else 0
    more = 2 * (shape.rows - 1) + shape.pad_rows - 1
    return LONG_JOIN.min_size + nonce + more * _POINT


def commit_size(manifest: Manifest, degree: int) -> int:
    """The longest commit of a party with so many neighbours."""
    size = LONG_COMMIT.min_size + degree * _POINT + length_proof_size(manifest)
    if manifest.terms.threshold is None:
        return size
    return size + manifest.coefficients(degree) * _POINT + degree * _SHARE


def publish_size(manifest: Manifest) -> int:
    """The longest publish."""
    shape = RowShape(manifest.terms.dimension)
    words = packed_size(manifest.terms.dimension, manifest.word_width)
    more = shape.rows - 1 + shape.pad_rows - 1
    return LONG_PUBLISH.min_size - 1 + words + more * _POINT


def prove_size(manifest: Manifest, degree: int) -> int:
    """The longest prove of a party with so many neighbours."""
    points = most_points(manifest.terms)
    return PROVE.min_size + degree * _POINT + mask_proof_size(manifest.terms, points)


def most_points(terms: Terms) -> int:
    """The points at which masks are shown where everybody has published."""
    losses = losses_allowed(terms.parties, terms.survivors, terms.late)
    return equation_points(terms.parties, losses, RowShape(terms.dimension).bits)


def length_proof_size(manifest: Manifest) -> int:
    """The length of every proof about vector and noise (14-E6)."""
    return _length_proof_size(manifest.terms, manifest.weighted)


@lru_cache(maxsize=64)
def _length_proof_size(terms: Terms, weighted: bool) -> int:
    shape, weight = RowShape(terms.dimension), weight_bound(terms) if weighted else None
    intervals = length_bounds(terms).intervals + (weight.intervals if weight else ())
    points = _INPUT_FIXED + 8 * shape.bits + 2 * shape.column_bits
    hidden = sum(len(interval.weights) for interval in intervals)
    ranges = proof_size(ristretto255(), layout_of(hidden))
    return _POINT * (points + (_WEIGHTED if weighted else 0)) + ranges


def mask_proof_size(terms: Terms, points: int) -> int:
    """The length of every proof about masks at so many points (14-E9)."""
    shape = RowShape(terms.dimension)
    return _POINT * (_MASK_FIXED + 2 * shape.bits + points + 2 * shape.column_bits)
