"""The index and the lock of a log in SQLite, with the settings that make a commit durable.

The index says where entries are, by who posted them and when. It is read beside its writer.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from bulletin_board.entry import Slot
from bulletin_board.storage.files import create_private, storage_error
from bulletin_board.storage.interface import (
    Digest,
    DiskFull,
    EntryLocation,
    HeldLock,
    Inconsistent,
    IndexRow,
    LostLock,
    StagedBatch,
    StagedEntry,
    StorageError,
)
from bulletin_board.tree import decode_bundle, encode_bundle
from wire.errors import MalformedMessage

Row = tuple[object, ...]
Parameters = Sequence[bytes | int]

_BUSY_SECONDS = 5.0
_NEARLY_NOTHING = 2**20
"""Bytes that may be free on a disk on which nothing of a useful size can be written."""
_ROWS_AT_ONCE = 1_024


class Database:
    """Statements and transactions; every failure is a `StorageError`.

    Write-ahead logging with synchronous=FULL: when `transaction` returns, its
    changes are on the medium. The caller uses one thread at a time. A file that others may
    use is refused with `UsageError`.
    """

    def __init__(self, path: Path, schema: Sequence[str]) -> None:
        try:
            create_private(path)  # SQLite gives its other files the mode of this one
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except OSError as error:
            raise storage_error(f"{path.name} cannot be opened", error) from error
        except sqlite3.Error as error:
            raise StorageError(f"{path.name} cannot be opened: {error}") from error
        self._path = path
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", *schema):
            self.execute(statement)

    @classmethod
    def open_to_read(cls, path: Path) -> Database:
        """A connection to a database that another one writes; statements that write fail."""
        opened = cls(path, ())
        opened.execute("PRAGMA query_only=ON")
        return opened

    def execute(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        """Run one statement and read all its rows."""
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise self._failure(error) from error

    def iterate(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        """Run one statement and read its rows as they are asked for."""
        try:
            cursor = self._connection.execute(statement, parameters)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from rows
        except (sqlite3.Error, OverflowError) as error:
            raise self._failure(error) from error

    def execute_many(self, statement: str, rows: Iterator[Parameters]) -> None:
        """Run one statement for each row."""
        try:
            self._connection.executemany(statement, rows)
        except (sqlite3.Error, OverflowError) as error:
            raise self._failure(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run all statements inside, or none of them."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def commit(self) -> None:
        """End a transaction. If it fails, its changes may be on the medium or not."""
        try:
            self.execute("COMMIT")
        except StorageError:
            self.rollback()
            raise

    def rollback(self) -> None:
        """Forget the transaction, if one is still open."""
        if self._connection.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()

    def _failure(self, error: Exception) -> StorageError:
        """What the database says; some writes to a full disk it calls I/O errors."""
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        full = primary == sqlite3.SQLITE_FULL
        if primary in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}:
            with suppress(OSError):  # a disk that does not even say how full it is, is broken
                full = shutil.disk_usage(self._path.parent).free < _NEARLY_NOTHING
        if full:
            return DiskFull(f"{self._path.name} cannot be written: the disk is full")
        return StorageError(f"{self._path.name}: {error}")


class IndexReader(Protocol):
    """Entries in the index, for readers; some may not be committed yet.

    One thread uses it.
    """

    def first(self, session: bytes, most: int) -> int | None:
        """The lowest index of an entry of the session, found among its first `most` slots.

        None if there is none. Raises `TooManyRows` if the session has more slots than that.
        """

    def posted(self, session: bytes, author: bytes, phase: int, number: int, most: int) -> set[int]:
        """The indexes of all entries of the author in this phase of round `number`.

        Raises `TooManyRows` if there are more than `most`.
        """

    def close(self) -> None: ...


class TooManyRows(StorageError):
    """A question that would take too much work."""


class SqliteIndexReader:
    """The database of a `SqliteIndex`, through a connection that cannot write.

    With write-ahead logging it keeps no writer waiting, nor any writer it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> SqliteIndexReader:
        return cls(Database.open_to_read(path))

    def first(self, session: bytes, most: int) -> int | None:
        ((place, count),) = self._database.execute(
            "SELECT min(place), count(*) FROM (SELECT place FROM slots WHERE session = ? LIMIT ?)",
            (session, most + 1),
        )
        if type(count) is not int or count > most:
            raise TooManyRows(f"more than {most} entries to look at")
        return place if type(place) is int else None

    def posted(self, session: bytes, author: bytes, phase: int, number: int, most: int) -> set[int]:
        rows = self._database.execute(
            "SELECT place FROM slots WHERE session = ? AND author = ? AND phase = ?"
            " AND round = ? LIMIT ?",
            (session, author, phase, number, most + 1),
        )
        if len(rows) > most:
            raise TooManyRows(f"more than {most} entries to look at")
        places = {place for (place,) in rows if type(place) is int}
        if len(places) != len(rows):
            raise StorageError("the database holds something else than a number")
        return places

    def close(self) -> None:
        self._database.close()


_ENTRIES_AT_ONCE = 4_096

INDEX_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS slots (
        place INTEGER PRIMARY KEY,
        session BLOB NOT NULL CHECK (typeof(session) = 'blob' AND length(session) = 32),
        author BLOB NOT NULL CHECK (typeof(author) = 'blob' AND length(author) = 32),
        phase INTEGER NOT NULL, round INTEGER NOT NULL, seq INTEGER NOT NULL,
        copy INTEGER NOT NULL CHECK (copy IN (0, 1)),
        leaf BLOB NOT NULL CHECK (typeof(leaf) = 'blob' AND length(leaf) = 32),
        UNIQUE (session, author, phase, round, seq, copy)
    )""",
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

    def places(self, slot: Slot) -> tuple[EntryLocation, ...]:
        rows = self._database.execute(
            "SELECT place, leaf FROM slots WHERE session = ? AND author = ? AND phase = ?"
            " AND round = ? AND seq = ? ORDER BY copy",
            slot,
        )
        return tuple(EntryLocation(_int(place), _bytes(leaf)) for place, leaf in rows)

    def size(self) -> int:
        ((count, last),) = self._database.execute("SELECT count(*), max(place) FROM slots")
        if _int(count) != (0 if last is None else _int(last) + 1):
            raise Inconsistent("the index has gaps: rebuild it with `gopa board reindex`")
        return _int(count)

    def rows(self, start: int) -> Iterator[IndexRow]:
        found = self._database.iterate(
            "SELECT place, session, author, phase, round, seq, copy, leaf FROM slots"
            " WHERE place >= ? ORDER BY place",
            (start,),
        )
        for expected, row in enumerate(found, start):
            place, session, author, phase, number, seq, copy, leaf = row
            if place != expected:
                raise Inconsistent("the index has gaps: rebuild it with `gopa board reindex`")
            slot = Slot(_bytes(session), _bytes(author), _int(phase), _int(number), _int(seq))
            yield IndexRow(slot, _int(copy), _bytes(leaf))

    def absorb(self, stop: int, digest: Digest) -> None:
        """Add the bytes of rows to a digest; the database encodes them four times faster."""
        for start in range(0, stop, _ENTRIES_AT_ONCE):
            end = min(stop, start + _ENTRIES_AT_ONCE)
            ((found, count),) = self._database.execute(
                "SELECT CAST(group_concat(row, '') AS BLOB), count(*) FROM (SELECT session ||"
                " author || leaf || ((((phase << 16 | round) << 1 | copy) << 32) | seq) || ';'"
                " AS row FROM slots WHERE place >= ? AND place < ? ORDER BY place)",
                (start, end),
            )
            if count != end - start:
                raise Inconsistent("the index has gaps: rebuild it with `gopa board reindex`")
            digest.update(_bytes(found))

    def stage(self, start: int, entries: Sequence[StagedEntry], epoch: int) -> None:
        bundle = encode_bundle(entry.raw for entry in entries)
        with self._database.transaction():
            self._discard(start, epoch)
            self._database.execute(
                "INSERT INTO staging VALUES (?, ?, ?, ?)", (start, len(entries), epoch, bundle)
            )
            self._insert(start, entries)

    def insert(self, start: int, entries: Sequence[StagedEntry]) -> None:
        """Add rows of entries that are in the public files already: nothing is staged."""
        with self._database.transaction():
            self._insert(start, entries)

    def staged(self, start: int = 0) -> tuple[StagedBatch, ...]:
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

    def _insert(self, start: int, entries: Sequence[StagedEntry]) -> None:
        rows = (
            (place, *entry.slot, entry.copy, entry.leaf)
            for place, entry in enumerate(entries, start)
        )
        self._database.execute_many("INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

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
    """A `Lock` in one database file, best on another disk than the index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> SqliteLock:
        return cls(Database(path, LOCK_SCHEMA))

    def create(self, checkpoint: bytes) -> None:
        """Store the first checkpoint of a log; raises `StorageError` if there is one already."""
        with self._database.transaction():
            self._database.execute("INSERT INTO lock VALUES (1, 0, ?)", (checkpoint,))

    def fence(self) -> HeldLock:
        with self._database.transaction():
            self._database.execute("UPDATE lock SET epoch = epoch + 1 WHERE id = 1")
            return self._held()

    def check(self, held: HeldLock) -> None:
        if self._held() != held:
            raise LostLock("another writer has taken over")

    def epoch(self) -> int:
        return self._held().epoch

    def swap(self, held: HeldLock, checkpoint: bytes) -> HeldLock:
        with self._database.transaction():
            self.check(held)
            self._database.execute("UPDATE lock SET checkpoint = ? WHERE id = 1", (checkpoint,))
        return held._replace(checkpoint=checkpoint)

    def close(self) -> None:
        self._database.close()

    def _held(self) -> HeldLock:
        rows = self._database.execute("SELECT epoch, checkpoint FROM lock")
        if len(rows) != 1:
            raise Inconsistent("the lock holds no checkpoint: was this log ever initialised?")
        return HeldLock(_int(rows[0][0]), _bytes(rows[0][1]))


def _staged(row: Row) -> StagedBatch:
    start, width, bundle = row
    try:
        entries = decode_bundle(_bytes(bundle), _int(width))
    except MalformedMessage as error:
        raise Inconsistent(f"the staged batch is damaged: {error}") from error
    return StagedBatch(_int(start), tuple(entries))


def _int(value: object) -> int:
    if type(value) is not int:
        raise StorageError("the database holds something else than a number")
    return value


def _bytes(value: object) -> bytes:
    if type(value) is not bytes:
        raise StorageError("the database holds something else than bytes")
    return value
