"""Deliberately weak transcripts: what verifiers become that forget to bind something."""

from __future__ import annotations

from commitments.group import Group, ScalarVec
from zkp.transcript import Transcript


class Forgetful(Transcript):
    """Does not bind what is absorbed under one label."""

    __slots__ = ("_forgotten",)

    def __init__(self, forgotten: bytes) -> None:
        super().__init__(b"tests of the bit argument")
        self._forgotten = forgotten
        self.absorb(b"context", b"context")

    def copy(self) -> Forgetful:
        twin = Forgetful(self._forgotten)
        twin._sponge, twin._bound = self._sponge.copy(), self._bound
        return twin

    def _bind(self, kind: bytes, label: bytes, data: bytes) -> None:
        if label != self._forgotten:
            super()._bind(kind, label, data)


class FixedLink(Transcript):
    """Links vector commitments with the exponent 1 instead of a challenge."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(b"tests of the bit argument")
        self.absorb(b"context", b"context")

    def copy(self) -> FixedLink:
        twin = FixedLink()
        twin._sponge, twin._bound = self._sponge.copy(), self._bound
        return twin

    def challenges(self, label: bytes, group: Group, n: int) -> ScalarVec:
        drawn = super().challenges(label, group, n)
        if label != b"bits/rho eta xi":
            return drawn
        return drawn[:2].concat(group.scalars([1] * (n - 2)))
