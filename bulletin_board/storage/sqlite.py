"""The index and the lock in SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bulletin_board.bundle import decode_bundle, encode_bundle
from bulletin_board.entry import Slot
from bulletin_board.storage.database import Database, Row
from bulletin_board.storage.interface import (
    Held,
    Inconsistent,
    LostLock,
    Place,
    Staged,
    StagedEntry,
    StorageError,
)
from wire.errors import MalformedMessage

INDEX_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS slots (
        session BLOB NOT NULL, author BLOB NOT NULL, phase INTEGER NOT NULL,
        round INTEGER NOT NULL, seq INTEGER NOT NULL, copy INTEGER NOT NULL CHECK (copy IN (0, 1)),
        place INTEGER NOT NULL UNIQUE, leaf BLOB NOT NULL,
        PRIMARY KEY (session, author, phase, round, seq, copy)
    ) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS staging (
        start INTEGER PRIMARY KEY, width INTEGER NOT NULL, epoch INTEGER NOT NULL,
        bundle BLOB NOT NULL
    )""",
)

LOCK_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS lock (
        id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, checkpoint BLOB NOT NULL
    )""",
)


class SqliteIndex:
    """An `Index` in one database file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> SqliteIndex:
        return cls(Database(path, INDEX_SCHEMA))

    def places(self, slot: Slot) -> tuple[Place, ...]:
        rows = self._database.execute(
            "SELECT place, leaf FROM slots WHERE session = ? AND author = ? AND phase = ?"
            " AND round = ? AND seq = ? ORDER BY copy",
            slot,
        )
        return tuple(Place(_int(place), _bytes(leaf)) for place, leaf in rows)

    def size(self) -> int:
        ((count, last),) = self._database.execute("SELECT count(*), max(place) FROM slots")
        if _int(count) != (0 if last is None else _int(last) + 1):
            raise Inconsistent("the index has gaps: restore it from the public files")
        return _int(count)

    def census(self) -> Mapping[tuple[bytes, int], int]:
        rows = self._database.execute(
            "SELECT session, phase, count(*) FROM slots GROUP BY session, phase"
        )
        return {(_bytes(session), _int(phase)): _int(count) for session, phase, count in rows}

    def stage(self, start: int, entries: Sequence[StagedEntry], epoch: int) -> None:
        rows = (
            (*entry.slot, entry.copy, place, entry.leaf)
            for place, entry in enumerate(entries, start)
        )
        bundle = encode_bundle(entry.raw for entry in entries)
        with self._database.transaction():
            self._discard(start, epoch)
            self._database.execute(
                "INSERT INTO staging VALUES (?, ?, ?, ?)", (start, len(entries), epoch, bundle)
            )
            self._database.execute_many("INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def staged(self, start: int = 0) -> tuple[Staged, ...]:
        rows = self._database.execute(
            "SELECT start, width, bundle FROM staging WHERE start >= ? ORDER BY start", (start,)
        )
        return tuple(_staged(row) for row in rows)

    def drop(self, end: int) -> None:
        with self._database.transaction():
            self._database.execute("DELETE FROM staging WHERE start + width <= ?", (end,))

    def discard(self, start: int, epoch: int) -> None:
        with self._database.transaction():
            self._discard(start, epoch)

    def close(self) -> None:
        self._database.close()

    def _discard(self, start: int, epoch: int) -> None:
        stale = self._database.execute(
            "DELETE FROM staging WHERE start >= ? AND epoch < ? RETURNING start, start + width",
            (start, epoch),
        )
        for first, end in stale:
            self._database.execute(
                "DELETE FROM slots WHERE place >= ? AND place < ?", (_int(first), _int(end))
            )


class SqliteLock:
    """A `Lock` in one database file, best kept on another disk than the index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> SqliteLock:
        return cls(Database(path, LOCK_SCHEMA))

    def create(self, checkpoint: bytes) -> None:
        """The first checkpoint of a new log; raises `StorageError` if there is one already."""
        with self._database.transaction():
            self._database.execute("INSERT INTO lock VALUES (1, 0, ?)", (checkpoint,))

    def fence(self) -> Held:
        with self._database.transaction():
            self._database.execute("UPDATE lock SET epoch = epoch + 1 WHERE id = 1")
            return self._held()

    def check(self, held: Held) -> None:
        if self._held() != held:
            raise LostLock("another writer has taken over")

    def epoch(self) -> int:
        return self._held().epoch

    def swap(self, held: Held, checkpoint: bytes) -> Held:
        with self._database.transaction():
            self.check(held)
            self._database.execute("UPDATE lock SET checkpoint = ? WHERE id = 1", (checkpoint,))
        return held._replace(checkpoint=checkpoint)

    def close(self) -> None:
        self._database.close()

    def _held(self) -> Held:
        rows = self._database.execute("SELECT epoch, checkpoint FROM lock")
        if len(rows) != 1:
            raise Inconsistent("the lock holds no checkpoint: was this log ever initialised?")
        return Held(_int(rows[0][0]), _bytes(rows[0][1]))


def _staged(row: Row) -> Staged:
    start, width, bundle = row
    try:
        entries = decode_bundle(_bytes(bundle), _int(width))
    except MalformedMessage as error:
        raise Inconsistent(f"the staged batch is damaged: {error}") from error
    return Staged(_int(start), tuple(entries))


def _int(value: object) -> int:
    if type(value) is not int:
        raise StorageError("the database holds something else than a number")
    return value


def _bytes(value: object) -> bytes:
    if type(value) is not bytes:
        raise StorageError("the database holds something else than bytes")
    return value
