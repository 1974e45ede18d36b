"""What stays of the commits that are listed: self-masks, and what was dealt for recovery."""

from __future__ import annotations

from typing import Final

from wire.packed import Rows

_SIZE: Final = 32


class Commits:
    """Self-masks of listed parties by position, 33 bytes each; shares only where some are dealt."""

    def __init__(self, parties: int = 0) -> None:
        self._listed = bytearray(parties)
        self._self_masks = Rows(_SIZE, parties)
        self._dealt: dict[int, tuple[tuple[bytes, ...], tuple[bytes, ...]]] = {}

    def add(
        self,
        place: int,
        self_mask: bytes,
        coefficients: tuple[bytes, ...] = (),
        shares: tuple[bytes, ...] = (),
    ) -> None:
        """The commit of a party that the close lists."""
        self._listed[place] = True
        self._self_masks[place] = self_mask
        if coefficients or shares:
            self._dealt[place] = coefficients, shares

    def __contains__(self, place: int) -> bool:
        return 0 <= place < len(self._listed) and bool(self._listed[place])

    def self_mask(self, place: int) -> bytes:
        """B_u, or the hash of the seed, of a listed party."""
        return self._self_masks[place]

    def coefficients(self, place: int) -> tuple[bytes, ...]:
        """C_1 .. C_(T-1) of a listed party."""
        return self._dealt.get(place, ((), ()))[0]

    def shares(self, place: int) -> tuple[bytes, ...]:
        """The shares that it sealed, in the order of its neighbours."""
        return self._dealt.get(place, ((), ()))[1]
