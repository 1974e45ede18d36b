"""What stays of the commits that are listed: self-masks, and what was dealt for recovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gopa.masks.shares import SHARE_SIZE
from wire.packed import Rows

_SIZE: Final = 32


@dataclass(frozen=True, slots=True)
class Dealt:
    """What a party dealt for recovery, one behind the other; `entry` is the index of its commit."""

    coefficients: bytes = b""
    shares: bytes = b""
    entry: int = 0

    def share(self, number: int) -> bytes:
        """The sealed share of its neighbour with this number, from 0."""
        return self.shares[number * SHARE_SIZE : (number + 1) * SHARE_SIZE]


_NOTHING: Final = Dealt()


class Commits:
    """Self-masks of listed parties by position, 33 bytes each; shares only where some are dealt."""

    def __init__(self, parties: int = 0) -> None:
        self._listed = bytearray(parties)
        self._self_masks = Rows(_SIZE, parties)
        self._dealt: dict[int, Dealt] = {}

    def add(self, place: int, self_mask: bytes, dealt: Dealt = _NOTHING) -> None:
        """The commit of a party that the close lists."""
        self._listed[place] = True
        self._self_masks[place] = self_mask
        if dealt.coefficients or dealt.shares:
            self._dealt[place] = dealt

    def __contains__(self, place: int) -> bool:
        return 0 <= place < len(self._listed) and bool(self._listed[place])

    def self_mask(self, place: int) -> bytes:
        """B_u, or the hash of the seed, of a listed party."""
        return self._self_masks[place]

    def dealt(self, place: int) -> Dealt:
        """What a listed party dealt: shares are in the order of its neighbours."""
        return self._dealt.get(place, _NOTHING)
