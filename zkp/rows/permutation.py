"""Moves and negates the coordinates of noise as public coins decide (specification 14, rule H2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commitments.tables import Places
from wire.errors import UsageError
from zkp.rows.shape import Integers


@dataclass(frozen=True)
class SignedPermutation:
    """Entry places[j] moved to place j, negated where bit j of the signs is 1 (rule H2)."""

    places: Places
    signs: bytes

    def __post_init__(self) -> None:
        if len(self.signs) != -(-len(self.places) // 8):
            raise UsageError("a signed permutation has a bit for each place")
        if not self._is_permutation():
            raise UsageError("places are a permutation of 32-bit integers: each of them once")

    def _is_permutation(self) -> bool:
        found = np.zeros(len(self.places), bool)
        if self.places.dtype != np.uint32 or self.places.max(initial=0) >= max(1, len(found)):
            return False
        found[self.places.astype(np.intp)] = True
        return bool(found.all())

    def applied(self, vector: Integers) -> Integers:
        """The vector with its entries moved; entries behind the last place stay."""
        bits = np.unpackbits(
            np.frombuffer(self.signs, np.uint8), count=len(self.places), bitorder="little"
        )
        moved = vector.copy()
        moved[: len(self.places)] = vector[self.places] * (1 - 2 * bits.astype(np.int64))
        return moved
