"""What convicts nobody or comes from nobody in particular, counted in bounded space."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Final

from gopa.messages.framing import Posted
from gopa.rules.findings import Note

MOST_SHOWN: Final = 16


@dataclass(slots=True)
class _Count:
    shown: list[int] = field(default_factory=list)
    total: int = 0


@dataclass(slots=True)
class Notes:
    """Notes of one kind about one author and round are one note."""

    _counts: dict[tuple[int, str, str, bytes], _Count] = field(default_factory=dict)

    def add(self, rule: str, what: str, number: int, index: int, author: bytes = b"") -> None:
        """One more entry that shows this."""
        count = self._counts.setdefault((number, rule, what, author), _Count())
        count.total += 1
        if len(count.shown) < MOST_SHOWN:
            count.shown.append(index)

    def all(self) -> tuple[Note, ...]:
        """In order of rounds and first entries."""
        rows = [
            Note(rule, what, author, tuple(count.shown), number, count.total)
            for (number, rule, what, author), count in self._counts.items()
        ]
        return tuple(sorted(rows, key=lambda note: (note.round, note.entries, note.rule)))


@dataclass(frozen=True, slots=True)
class View:
    """Entries whose authors had seen this root at this size ([E6])."""

    size: int
    root: bytes
    entries: tuple[int, ...]


@dataclass(slots=True)
class Views:
    """What authors and closes say about the log: whoever has all of it compares."""

    _seen: dict[tuple[int, bytes], array[int]] = field(default_factory=dict)

    def add(self, size: int, root: bytes, index: int) -> None:
        """An entry at `index` rests on this root."""
        self._seen.setdefault((size, root), array("Q")).append(index)

    def all(self) -> tuple[View, ...]:
        """In order of size and root."""
        return tuple(
            View(size, root, tuple(entries)) for (size, root), entries in sorted(self._seen.items())
        )


@dataclass(slots=True)
class Chains:
    """The last leaf of every author: `prev_own_leaf` says what its author thinks it is."""

    _last: dict[bytes, bytes] = field(default_factory=dict)

    def follows(self, posted: Posted) -> bool:
        """Whether the entry names its author's last one in this session."""
        author = posted.entry.author.data
        expected = self._last.get(author, bytes(32))
        self._last[author] = posted.leaf
        return posted.entry.prev_own_leaf == expected
