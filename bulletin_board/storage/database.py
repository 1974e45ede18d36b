"""One SQLite connection with the settings that make a commit durable."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bulletin_board.modes import create_private
from bulletin_board.storage.interface import StorageError

Row = tuple[object, ...]
Parameters = Sequence[bytes | int]

_BUSY_SECONDS = 5.0
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
            raise StorageError(f"{path.name} cannot be opened: {error.strerror}") from error
        except sqlite3.Error as error:
            raise StorageError(f"{path.name} cannot be opened: {error}") from error
        self._name = path.name
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
            raise StorageError(f"{self._name}: {error}") from error

    def iterate(self, statement: str, parameters: Parameters = ()) -> Iterator[Row]:
        """Run one statement and read its rows as they are asked for."""
        try:
            cursor = self._connection.execute(statement, parameters)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from rows
        except (sqlite3.Error, OverflowError) as error:
            raise StorageError(f"{self._name}: {error}") from error

    def execute_many(self, statement: str, rows: Iterator[Parameters]) -> None:
        """Run one statement for each row."""
        try:
            self._connection.executemany(statement, rows)
        except (sqlite3.Error, OverflowError) as error:
            raise StorageError(f"{self._name}: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements inside, or none of them."""
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
