"""A guard that remembers how far a vault is, so that an old copy of it is refused.

12-H8. Two answers that a party gives from one old vault can give its input
away: what hides the first one hides the second, too (14-P7).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from gopa.sessions.vault.guard import (
    MARK,
    Guard,
    Mark,
    Unguarded,
    VaultOutdated,
    VaultUnmarked,
    last_mark,
)
from wire.domains import VAULT_MARK
from wire.secret import Guarded

_VERSION: Final = 1
_COUNT_BITS: Final = 32


class Marker(Guarded):
    """The records of one vault, of which the last is marked before anything leaves.

    Of memory and journal it holds a chain of hashes and nothing else.
    """

    __slots__ = ("_chain", "_count", "_generation", "_guard", "_known", "_vault")

    def __init__(self, guard: Guard, vault: bytes) -> None:
        """`vault` is the random id of the vault."""
        self._guard, self._vault = guard, vault
        self._known = self._chain = b""
        self._generation = self._count = 0

    @property
    def known(self) -> bytes:
        """The mark that the guard keeps: all that left is in it."""
        return self._known

    def open(
        self, generation: int, memory: bytes, records: Iterable[bytes], follows: bytes
    ) -> None:
        """Take up a vault, and mark where it is: what was stored last may leave now.

        `follows` is the mark that was known when this generation began, or nothing before all.

        Raises:
            VaultOutdated: something left that this vault does not have.
            VaultUnmarked: the guard has no mark of it: nobody can say what left.
        """
        self._known, _ = last_mark(self._guard, self._vault.hex())
        self._restart(generation, memory)
        passed = {self._mark()}
        for each in records:
            self._extend(each)
            passed.add(self._mark())
        # A generation is there before its mark is: a crash may have come in between.
        begun = self._known == follows and not self._count
        if not (begun or self._known in passed or isinstance(self._guard, Unguarded)):
            raise _outdated() if self._known else _unmarked()
        self.leave()

    def begin(self, generation: int, memory: bytes) -> None:
        """Go on with a new generation, and mark it: none before it may be taken up any more."""
        self._restart(generation, memory)
        self.leave()

    def append(self, record: bytes, *, leaves: bool) -> None:
        """Take a record that is stored; with `leaves` something that follows from it leaves now."""
        self._extend(record)
        if leaves:
            self.leave()

    def leave(self) -> None:
        """Mark the last record. Raises `VaultOutdated` if another copy has left its own mark."""
        mark = self._mark()
        if mark == self._known:
            return
        if not self._guard.commit(self._vault.hex(), self._known, mark):
            raise _outdated()
        self._known = mark

    def _restart(self, generation: int, memory: bytes) -> None:
        self._generation, self._count = generation, 0
        self._chain = hashlib.sha256(VAULT_MARK + self._vault + memory).digest()

    def _extend(self, record: bytes) -> None:
        self._chain = hashlib.sha256(VAULT_MARK + self._chain + record).digest()
        self._count += 1

    def _mark(self) -> bytes:
        counter = self._generation << _COUNT_BITS | self._count
        return MARK.encode(Mark(_VERSION, counter, 0, self._chain))


def _outdated() -> VaultOutdated:
    return VaultOutdated(
        "this vault is an old copy: messages have left that it does not know, and others for them"
        " could give the input away. Put the newest vault back, or take part in the next session"
    )


def _unmarked() -> VaultUnmarked:
    return VaultUnmarked(
        "this vault has no mark, so nobody can say whether it is the newest. If it was moved, move"
        " its marks along with it; else take part in the next session"
    )
