"""Where everything stands in the vectors and in the bytes of a bit argument.

Rules 06-A4 and section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Final

from commitments import VectorPedersen
from commitments.generators import MAX_BASES
from commitments.group import Group, PointVec, ScalarVec
from wire.errors import MalformedMessage, UsageError
from zkp.equations import Family
from zkp.vectors import errors_offset_by

LEFT: Final = Family(b"bits/left")
RIGHT: Final = Family(b"bits/right")
INNER: Final = Family(b"bits/inner")

MOST_POSITIONS: Final = MAX_BASES >> 1
_MOST_ONES: Final = 3


class FoldingStep(Enum):
    """One step of the inner-product argument."""

    FOLD = "fold"
    GIVE = "give"


@dataclass(frozen=True)
class Layout:
    """The positions of an argument, numbered: bits, padding bits, then vector coordinates.

    Everything about the size of a proof follows from the number of bits and the
    distinct dimensions of the vector commitments, both taken from the statement.
    """

    bits: int
    dimensions: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if type(self.bits) is not int or self.bits < 1:
            raise UsageError("an argument hides at least one bit")
        if (
            list(self.dimensions) != sorted(set(self.dimensions))
            or min(self.dimensions or (1,)) < 1
        ):
            raise UsageError("the dimensions are distinct, increasing and at least 1")
        if self.bits + self.extension > MOST_POSITIONS:
            raise UsageError(f"at most {MOST_POSITIONS} positions: split the statement")

    @cached_property
    def extension(self) -> int:
        """How many positions stand for coordinates of vector commitments."""
        return sum(self.dimensions)

    @cached_property
    def length(self) -> int:
        """How many positions there are."""
        return padded_length(self.bits + self.extension)

    @cached_property
    def bit_positions(self) -> int:
        """The bits and the padding bits; the extension stands behind them."""
        return self.length - self.extension

    @cached_property
    def steps(self) -> tuple[FoldingStep, ...]:
        """How the inner-product argument shrinks the vectors to one element."""
        found, length = [], self.length
        while length > 1:
            step = FoldingStep.GIVE if length % 2 else FoldingStep.FOLD
            found.append(step)
            length = length - 1 if step is FoldingStep.GIVE else length // 2
        return tuple(found)

    @cached_property
    def folds(self) -> int:
        """Steps that send two points."""
        return self.steps.count(FoldingStep.FOLD)

    @cached_property
    def pairs(self) -> int:
        """Pairs of scalars sent: one for each step that gives away, and the last."""
        return self.steps.count(FoldingStep.GIVE) + 1

    @property
    def point_count(self) -> int:
        """How many points a proof has."""
        return 4 + 2 * self.folds

    @property
    def scalar_count(self) -> int:
        """How many scalars a proof has."""
        return 3 + 2 * self.pairs


@lru_cache(maxsize=256)
def layout_of(bits: int, dimensions: tuple[int, ...] = ()) -> Layout:
    """The layout, the same object for the same numbers."""
    return Layout(bits, dimensions)


def padded_length(positions: int) -> int:
    """The least length not below `positions` with at most three ones in binary.

    Each one below the highest costs a step that gives a pair of scalars away.
    """
    length = positions
    while length.bit_count() > _MOST_ONES:
        length += length & -length
    return length


@lru_cache(maxsize=16)
def left_bases(group: Group, layout: Layout) -> PointVec:
    """The left bases B: G_i on the bits, the bases of the vector commitments behind them."""
    bases = LEFT.points(group, layout.bit_positions)
    for dimension in layout.dimensions:
        bases = bases.concat(VectorPedersen(group, dimension).value_bases)
    return bases


def distinct_dimensions(dimensions: Sequence[int]) -> tuple[int, ...]:
    """Several commitments under one key share their positions."""
    return tuple(sorted(set(dimensions)))


@dataclass(frozen=True, slots=True)
class Proof:
    """All messages of an argument; the counts are those of its layout.

    `points`: A, S, T_1, T_2, then L and R of each fold. `scalars`: t, tau, mu, then
    the pairs given away, the last pair included.
    """

    points: PointVec
    scalars: ScalarVec

    def to_bytes(self) -> bytes:
        """Encode all points, then all scalars."""
        return self.points.to_bytes() + self.scalars.to_bytes()


def proof_size(group: Group, layout: Layout) -> int:
    """The number of bytes of every proof of this layout."""
    return layout.point_count * group.point_size + layout.scalar_count * group.scalar_size


def decode_proof(group: Group, layout: Layout, data: bytes) -> Proof:
    """Decode a proof strictly (06-A7).

    Raises:
        MalformedMessage: wrong length, a point that does not decode or is the
            identity, or a scalar that is not canonical.
    """
    expected = proof_size(group, layout)
    # The statement says how long a proof is: no prover chooses how much is checked.
    if len(data) != expected:
        raise MalformedMessage(
            f"a proof of {expected} bytes was expected, not {len(data)}", "proof"
        )
    split = layout.point_count * group.point_size
    with errors_offset_by(0):
        points = group.decode_points(data[:split], layout.point_count)
    with errors_offset_by(split):
        scalars = group.decode_scalars(data[split:], layout.scalar_count)
    return Proof(points, scalars)
