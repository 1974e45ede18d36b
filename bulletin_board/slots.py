"""The slots of a log, numbered in the order in which they were first used."""

from __future__ import annotations

from struct import Struct
from typing import Final

from bulletin_board.entry import Slot
from wire.packed import KeyTable

_KEY: Final = Struct(">IIBHI")


class SlotTable:
    """Which slots were seen, in about 30 bytes each, and 45 for each author and session."""

    __slots__ = ("_authors", "_sessions", "_slots")

    def __init__(self) -> None:
        self._sessions = KeyTable(32)
        self._authors = KeyTable(32)
        self._slots = KeyTable(_KEY.size)

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, slot: Slot) -> int:
        """The number of the slot. It is what `len` was before if the slot is new."""
        session, author = self._sessions.add(slot.session), self._authors.add(slot.author)
        return self._slots.add(_KEY.pack(session, author, slot.phase, slot.round, slot.seq))

    def find(self, slot: Slot) -> int | None:
        """The number of the slot; None if it was never used."""
        session, author = self._sessions.find(slot.session), self._authors.find(slot.author)
        if session is None or author is None:
            return None
        return self._slots.find(_KEY.pack(session, author, slot.phase, slot.round, slot.seq))
