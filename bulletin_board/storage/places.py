"""Where entries are, by who posted them and when: the index, read beside its writer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from bulletin_board.storage.database import Database
from bulletin_board.storage.interface import StorageError


class Places(Protocol):
    """A view of the index for readers. It may show entries that are not committed yet.

    One thread uses it.
    """

    def first(self, session: bytes, most: int) -> int | None:
        """The lowest index of an entry of the session, found among its first `most` slots.

        None if there is none. Raises `TooMany` if the session has more slots than that.
        """

    def posted(self, session: bytes, author: bytes, phase: int, number: int, most: int) -> set[int]:
        """The indexes of all entries of the author in this phase of round `number`.

        Raises `TooMany` if there are more than `most`.
        """

    def close(self) -> None: ...


class TooMany(StorageError):
    """A question that would take too much work."""


class SqlitePlaces:
    """`Places` in the database of a `SqliteIndex`, through a connection that cannot write.

    With write-ahead logging it keeps no writer waiting, nor any writer it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> SqlitePlaces:
        return cls(Database.open_to_read(path))

    def first(self, session: bytes, most: int) -> int | None:
        ((place, count),) = self._database.execute(
            "SELECT min(place), count(*) FROM (SELECT place FROM slots WHERE session = ? LIMIT ?)",
            (session, most + 1),
        )
        if type(count) is not int or count > most:
            raise TooMany(f"more than {most} entries to look at")
        return place if type(place) is int else None

    def posted(self, session: bytes, author: bytes, phase: int, number: int, most: int) -> set[int]:
        rows = self._database.execute(
            "SELECT place FROM slots WHERE session = ? AND author = ? AND phase = ?"
            " AND round = ? LIMIT ?",
            (session, author, phase, number, most + 1),
        )
        if len(rows) > most:
            raise TooMany(f"more than {most} entries to look at")
        places = {place for (place,) in rows if type(place) is int}
        if len(places) != len(rows):
            raise StorageError("the database holds something else than a number")
        return places

    def close(self) -> None:
        self._database.close()
