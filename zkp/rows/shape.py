"""Says how a long vector lies in rows, and how large what is proved about it is.

Rules 14-L2 to 14-L4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from wire.errors import UsageError

TESTS: Final = 360
"""How many tests a vector has to pass (14-L4)."""
PAD_BITS: Final = 112
"""What is added to a test to hide it has so many bits."""
MOST_COORDINATES: Final = 1 << 20

_FEWEST_COLUMN_BITS: Final = 5

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowShape:
    """A vector of `dimension` coordinates laid out in rows; zeros fill up the last one."""

    dimension: int

    def __post_init__(self) -> None:
        if type(self.dimension) is not int or not 2 <= self.dimension <= MOST_COORDINATES:
            raise UsageError(f"a long vector has 2 to {MOST_COORDINATES} coordinates")

    @cached_property
    def column_bits(self) -> int:
        """Bits of an index that say where in its row a coordinate is."""
        length = (self.dimension - 1).bit_length()
        return max(_FEWEST_COLUMN_BITS, (length + 3) // 2)

    @property
    def width(self) -> int:
        """Coordinates of a row."""
        return 1 << self.column_bits

    @cached_property
    def rows(self) -> int:
        """Rows of a vector."""
        return -(-self.dimension // self.width)

    @cached_property
    def pad_rows(self) -> int:
        """Rows of a vector of pads."""
        return -(-TESTS // self.width)

    @cached_property
    def row_bits(self) -> int:
        """Bits of an index that say in which row a coordinate is."""
        return (max(self.rows, self.pad_rows) - 1).bit_length()

    @property
    def bits(self) -> int:
        """Bits of an index."""
        return self.row_bits + self.column_bits

    @property
    def entries(self) -> int:
        """Coordinates with those that fill up the last row."""
        return self.rows * self.width

    def padded(self, vector: Integers) -> Integers:
        """The vector in whole rows; raises `UsageError` for one of another length."""
        if vector.shape != (self.dimension,) or vector.dtype != np.int64:
            raise UsageError(f"a vector of {self.dimension} signed 64-bit integers is needed")
        found = np.zeros(self.entries, np.int64)
        found[: self.dimension] = vector
        return found
