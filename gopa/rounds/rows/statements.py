"""Builds the statements about long vectors that parties prove, from public bytes.

14-E1 and 14-E8. Both raise `MalformedMessage` or `UsageError` for bytes that no honest party
posts. Rows are read with their message and for each proof about them, so points that were decoded
are kept.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
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
from wire.errors import MalformedMessage, UsageError
from zkp.rows.lengths import LengthStatement
from zkp.rows.masking import MaskStatement

_POINT = 32


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


MOST_POINTS: Final = 1 << 17
"""What is kept at once, some 30 MB: four vectors of 98 rows, for 330 parties."""

_ENTRY: Final = 4
"""An entry takes as much memory as so many points, besides its own."""


class KnownPoints:
    """Decoded vectors of points, of which those that were used last are kept."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._found: OrderedDict[tuple[Group, bytes, int], PointVec] = OrderedDict()
        self._turn = threading.Lock()
        if hasattr(os, "register_at_fork"):
            # A new process does not have the thread that may hold the lock: it would wait for ever.
            os.register_at_fork(after_in_child=self._begin_anew)

    def decoded(self, group: Group, data: bytes, count: int) -> PointVec:
        """So many points, none of them the identity; `MalformedMessage` for anything else."""
        key = (group, data, count)
        with self._turn:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        points = group.decode_points(data, count)
        with self._turn:
            if key not in self._found and _size(points) <= self._most:
                self._found[key] = points
                self._held += _size(points)
            while self._held > self._most:
                _, oldest = self._found.popitem(last=False)
                self._held -= _size(oldest)
        return points

    def clear(self) -> None:
        """Forget all of them."""
        with self._turn:
            self._found.clear()
            self._held = 0

    def _begin_anew(self) -> None:
        self._turn = threading.Lock()
        self.clear()


def _size(points: PointVec) -> int:
    return len(points) + _ENTRY


KNOWN_POINTS: Final = KnownPoints(MOST_POINTS)
