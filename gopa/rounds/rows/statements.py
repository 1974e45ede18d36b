"""Builds the statements about long vectors that parties prove, from public bytes.

14-E1 and 14-E8. Both raise `MalformedMessage` or `UsageError` for bytes
that no honest party posts.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import numpy as np

from commitments.group import Group, PointVec
from gopa.contract.parameters import Path
from gopa.contract.row_terms import length_bounds, weight_bound
from gopa.contract.words import unpack_words
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import LengthClaim, MaskClaim
from gopa.rounds.rows.challenges import (
    carry_tests,
    input_tests,
    point_count,
    points_of,
    shape_of,
    signed_permutation,
)
from gopa.rounds.rows.known_points import MOST_POINTS, KnownPoints
from wire.errors import MalformedMessage, UsageError
from zkp.rows.lengths import LengthStatement
from zkp.rows.masking import MaskStatement

_POINT = 32

KNOWN_POINTS: Final = KnownPoints(MOST_POINTS)


def require_rows_path(context: RoundContext) -> None:
    """Raises `UsageError` for a session in which nothing is proved row by row."""
    if context.manifest.path is not Path.ROWS:
        raise UsageError("only the path of rows proves lengths and masks", "path")


def length_statement(claim: LengthClaim) -> LengthStatement:
    """What the proof of a commit is about."""
    context, shape = claim.context, shape_of(claim.context)
    require_rows_path(context)
    terms = context.manifest.terms
    return LengthStatement(
        group=context.group,
        shape=shape,
        bounds=length_bounds(terms),
        tests=input_tests(context, claim.joint),
        inputs=decoded_rows(context, claim.input, shape.rows, "input"),
        noise=decoded_rows(context, claim.noise, shape.rows, "noise"),
        pads=decoded_rows(context, claim.pads, shape.pad_rows, "pads"),
        answers=claim.tests,
        weight=weight_bound(terms) if context.manifest.weighted else None,
    )


def mask_statement(claim: MaskClaim) -> MaskStatement:
    """What the proof of a prove message is about."""
    context, shape = claim.context, shape_of(claim.context)
    require_rows_path(context)
    width = context.manifest.word_width
    words = unpack_words(claim.value, context.dimension, width)
    count = point_count(context, claim.listed)
    return MaskStatement(
        group=context.group,
        shape=shape,
        word_bits=width,
        permutation=signed_permutation(context, claim.joint, claim.party),
        points=points_of(context, claim.acts_on, count),
        tests=carry_tests(context, claim.acts_on),
        words=words.astype(np.uint64),
        words_hash=sha256(claim.value).digest(),
        inputs=decoded_rows(context, claim.input, shape.rows, "input"),
        noise=decoded_rows(context, claim.noise, shape.rows, "noise"),
        carries=decoded_rows(context, claim.carries, shape.rows, "carries"),
        pads=decoded_rows(context, claim.pads, shape.pad_rows, "pads"),
        neighbours=claim.neighbours,
        signs=claim.signs,
        edges=decoded_rows(context, claim.edges, len(claim.neighbours), "edges"),
        own=decoded_points(context.group, claim.self_mask, 1),
        answers=claim.tests,
    )


def decoded_rows(
    context: RoundContext, rows: tuple[bytes, ...], count: int, field: str
) -> PointVec:
    """So many points, none of them the identity; `MalformedMessage` for anything else."""
    # Rows of another length could be cut elsewhere: two messages would say the same.
    if len(rows) != count or not {*map(len, rows)} <= {_POINT}:
        raise MalformedMessage(f"{count} points of {_POINT} bytes", field)
    return decoded_points(context.group, b"".join(rows), count)


def decoded_points(group: Group, data: bytes, count: int) -> PointVec:
    """The same of their bytes; rows are read with the message and for each proof about them."""
    return KNOWN_POINTS.decoded(group, data, count)


def encoded_rows(points: PointVec) -> tuple[bytes, ...]:
    """Points as messages carry them."""
    data = points.to_bytes()
    return tuple(data[at : at + _POINT] for at in range(0, len(data), _POINT))
