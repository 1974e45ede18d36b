"""Many byte strings of one width, in little more memory than their bytes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, overload

from wire.errors import UsageError

_FEWEST_CELLS: Final = 8


class Rows(Sequence[bytes]):
    """Byte strings of one width, one after the other, numbered from 0."""

    __slots__ = ("_data", "_width")

    def __init__(self, width: int, zeros: int = 0) -> None:
        """Begins with so many rows of zeros."""
        self._width = width
        self._data = bytearray(width * zeros)

    @classmethod
    def of(cls, width: int, rows: Iterable[bytes]) -> Rows:
        """New rows with these contents."""
        found = cls(width)
        for row in rows:
            found.append(row)
        return found

    def __len__(self) -> int:
        return len(self._data) // self._width

    @overload
    def __getitem__(self, number: int) -> bytes: ...
    @overload
    def __getitem__(self, number: slice) -> list[bytes]: ...
    def __getitem__(self, number: int | slice) -> bytes | list[bytes]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return bytes(self._data[self._width * number : self._width * (number + 1)])

    def __setitem__(self, number: int, row: bytes) -> None:
        if not 0 <= number < len(self):
            raise IndexError(number)
        self._require_width(row)
        self._data[self._width * number : self._width * (number + 1)] = row

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))

    def append(self, row: bytes) -> None:
        """One more, behind the others."""
        self._require_width(row)
        self._data += row

    def holds(self, number: int, row: bytes) -> bool:
        """Whether the row with this number, which is there, is this one."""
        return len(row) == self._width and self._data.startswith(row, self._width * number)

    def to_bytes(self) -> bytes:
        """All rows, one behind the other."""
        return bytes(self._data)

    def _require_width(self, row: bytes) -> None:
        # A row of another width would move all that follow it.
        if len(row) != self._width:
            raise UsageError(f"rows of {self._width} bytes, not {len(row)}")


class KeyTable:
    """Distinct byte strings of one width, numbered from 0 in the order in which they came.

    A dictionary from bytes to numbers, which would take about four times the memory. Keys
    come from strangers, who must not choose which of them meet in one cell: cells follow
    from Python's hash of bytes, whose key is drawn for each process.
    """

    __slots__ = ("_cells", "_rows")

    def __init__(self, width: int) -> None:
        self._rows = Rows(width)
        self._cells = _empty(_FEWEST_CELLS)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: bytes) -> bool:
        return self.find(key) is not None

    def __getitem__(self, number: int) -> bytes:
        """The key with this number."""
        return self._rows[number]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._rows)

    def find(self, key: bytes) -> int | None:
        """The number of the key; None if it never came."""
        number = self._probe(key)[1]
        return None if number < 0 else number

    def add(self, key: bytes) -> int:
        """The number of the key. It is what `len` was before if the key is new."""
        cell, number = self._probe(key)
        if number >= 0:
            return number
        self._rows.append(key)
        count = len(self._rows)
        self._cells[cell] = count
        if 3 * count > 2 * len(self._cells):
            self._spread(2 * len(self._cells))
        return count - 1

    def _probe(self, key: bytes) -> tuple[int, int]:
        """The cell of the key, or where it would be, and its number; -1 if it never came."""
        # One look at the cells: while another thread adds a key, what is found was there.
        cells, holds = self._cells, self._rows.holds
        last = len(cells) - 1
        cell = hash(key) & last
        while (count := cells[cell]) and not holds(count - 1, key):
            cell = (cell + 1) & last
        return cell, count - 1

    def _spread(self, size: int) -> None:
        cells, last = _empty(size), size - 1
        for count, key in enumerate(self._rows, 1):
            cell = hash(key) & last
            while cells[cell]:
                cell = (cell + 1) & last
            cells[cell] = count
        self._cells = cells


def _empty(size: int) -> array[int]:
    return array("I", [0]) * size
