"""Keeps three records while a log is read: notes, views of the log, and every author's last entry.

Notes report what convicts nobody; views are compared with the log when all of it was read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from gopa.contract.framing import Posted
from gopa.protocol.rules.findings import RuleNote
from wire.packed import KeyTable, Rows

MOST_SHOWN: Final = 16

_SEEN: Final = Struct(">Q32s")


@dataclass(slots=True)
class _Count:
    shown: list[int] = field(default_factory=list)
    total: int = 0


@dataclass(slots=True)
class Notes:
    """Collects notes: those of one kind about one author and round become one."""

    _counts: dict[tuple[int, str, str, bytes], _Count] = field(default_factory=dict)

    def add(self, rule: str, what: str, number: int, index: int, author: bytes = b"") -> None:
        """Count one more entry that shows this."""
        count = self._counts.setdefault((number, rule, what, author), _Count())
        count.total += 1
        if len(count.shown) < MOST_SHOWN:
            count.shown.append(index)

    def all(self) -> tuple[RuleNote, ...]:
        """Give all notes, in order of rounds and first entries."""
        rows = [
            RuleNote(rule, what, author, tuple(count.shown), number, count.total)
            for (number, rule, what, author), count in self._counts.items()
        ]
        return tuple(sorted(rows, key=lambda note: (note.round, note.entries, note.rule)))


@dataclass(frozen=True, slots=True)
class SeenRoot:
    """Names entries whose authors had seen this root at this size ([E6])."""

    size: int
    root: bytes
    entries: tuple[int, ...]


class Views:
    """Collects what authors and closes say about the log: whoever has all of it compares."""

    def __init__(self) -> None:
        self._seen = KeyTable(_SEEN.size)
        self._which, self._entries = array("I"), array("Q")

    def add(self, size: int, root: bytes, index: int) -> None:
        """Keep that the entry at `index` rests on this root."""
        self._which.append(self._seen.add(_SEEN.pack(size, root)))
        self._entries.append(index)

    def sizes(self) -> Iterator[int]:
        """The sizes at which somebody saw a root."""
        return (_SEEN.unpack(seen)[0] for seen in self._seen)

    def strange(self, roots: Mapping[int, bytes]) -> tuple[SeenRoot, ...]:
        """The views of another root than the log had at that size, in order of both."""
        seen = [_SEEN.unpack(each) for each in self._seen]
        found: dict[int, list[int]] = {
            number: []
            for number in sorted(range(len(seen)), key=seen.__getitem__)
            if roots.get(seen[number][0]) != seen[number][1]
        }
        if found:
            for number, index in zip(self._which, self._entries, strict=True):
                if number in found:
                    found[number].append(index)
        return tuple(
            SeenRoot(seen[number][0], seen[number][1], tuple(entries))
            for number, entries in found.items()
        )


class Chains:
    """Keeps the last leaf of every author: `prev_own_leaf` says what its author thinks it is."""

    def __init__(self) -> None:
        self._authors, self._last = KeyTable(32), Rows(32)

    def follows(self, posted: Posted) -> bool:
        """Whether the entry names its author's last one in this session."""
        number = self._authors.add(posted.entry.author.data)
        if number == len(self._last):
            self._last.append(bytes(32))
        follows = self._last.holds(number, posted.entry.prev_own_leaf)
        self._last[number] = posted.leaf
        return follows
