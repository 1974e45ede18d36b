"""Storages that fail, stop or lose power at a chosen step."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bulletin_board.storage import Storage, StorageError
from bulletin_board.storage.directory import BoardDirectory, FileSnapshots
from bulletin_board.storage.files import OsFiles, PublicDirectory
from bulletin_board.storage.sqlite import (
    INDEX_SCHEMA,
    LOCK_SCHEMA,
    Database,
    Parameters,
    Row,
    SqliteIndex,
    SqliteLock,
)

How = Literal["kill", "error", "error-after", "interrupt"]


class Killed(BaseException):
    """The process is gone: nothing after this point may touch the storage."""


@dataclass
class Plan:
    """Fail, or do something else first, at step number `at`, counted while armed; -1 never."""

    at: int = -1
    how: How = "kill"
    code: int = errno.EIO
    armed: bool = False
    dead: bool = False
    steps: list[str] = field(default_factory=list)
    interrupt: Callable[[], None] = lambda: None

    @contextmanager
    def step(self, name: str, failure: type[StorageError] | None = None) -> Iterator[None]:
        if self.dead:
            raise Killed
        hit = self.armed and len(self.steps) == self.at
        if self.armed:
            self.steps.append(name)
        if hit and self.how == "interrupt":
            self.interrupt()
            hit = False
        if hit and self.how == "kill":
            self.dead = True
            raise Killed
        if hit and self.how == "error":
            raise failure("injected") if failure else OSError(self.code, "injected")
        yield
        if hit:
            raise failure("injected") if failure else OSError(self.code, "injected")


class FaultyFiles(OsFiles):
    """Every operation on public files is a step; a failing write first writes half."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def create(self, path: Path) -> int:
        with self._plan.step("create"):
            return super().create(path)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        half = data[: (len(data) + 1) // 2]
        if len(half) < len(data):
            with self._plan.step("short write"):
                return super().write(handle, half)
        with self._plan.step("write"):
            return super().write(handle, data)

    def close(self, handle: int) -> None:
        super().close(handle)  # a process that dies closes its files

    def rename(self, old: Path, new: Path) -> None:
        with self._plan.step("rename"):
            super().rename(old, new)

    def unlink(self, path: Path) -> None:
        with self._plan.step("unlink"):
            super().unlink(path)

    def mkdir(self, path: Path) -> None:
        with self._plan.step("mkdir"):
            super().mkdir(path)

    def rmdir(self, path: Path) -> None:
        with self._plan.step("rmdir"):
            super().rmdir(path)

    def sync_file(self, path: Path) -> None:
        with self._plan.step("sync file"):
            super().sync_file(path)

    def sync_directory(self, path: Path) -> None:
        with self._plan.step("sync directory"):
            super().sync_directory(path)


class FaultyDatabase(Database):
    """Every statement is a step. `error-after` a COMMIT is an error that was persisted."""

    def __init__(self, path: Path, schema: Sequence[str], plan: Plan) -> None:
        self._plan = plan
        super().__init__(path, schema)

    def execute(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        with self._plan.step(statement.split(maxsplit=1)[0], StorageError):
            return super().execute(statement, parameters)

    def execute_many(self, statement: str, rows: Iterator[Parameters]) -> None:
        with self._plan.step("many", StorageError):
            super().execute_many(statement, rows)


class PowerLossFiles(FaultyFiles):
    """Remembers what is not on the medium yet, so that a loss of power can take it."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._files: dict[Path, bytes | None] = {}
        self._synced: set[Path] = set()
        self._directories: list[Path] = []

    def rename(self, old: Path, new: Path) -> None:
        before = new.read_bytes() if new.exists() else None
        super().rename(old, new)
        self._files.setdefault(new, before)
        self._synced.discard(new)

    def unlink(self, path: Path) -> None:
        before = path.read_bytes()
        super().unlink(path)
        self._files.setdefault(path, before)

    def mkdir(self, path: Path) -> None:
        super().mkdir(path)
        self._directories.append(path)

    def sync_file(self, path: Path) -> None:
        super().sync_file(path)
        self._synced.add(path)

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        for file in [file for file in self._files if file.parent == path]:
            if file in self._synced or not file.exists():
                del self._files[file]
        self._directories = [made for made in self._directories if made.parent != path]

    def lose_power(self, *, empty: bool) -> None:
        """Undo what was not synced; `empty` leaves files without content instead."""
        for path, before in self._files.items():
            if before is not None and not (empty and path.exists()):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(before)
            elif path.exists() and empty:
                path.write_bytes(b"")
            elif path.exists():
                path.unlink()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)


class FaultySnapshots(FileSnapshots):
    """Keeping a snapshot is one step: it is there as a whole or not at all."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path)
        self._plan = plan

    def keep(self, data: bytes) -> None:
        with self._plan.step("snapshot"):
            super().keep(data)


def faulty_storage(board: BoardDirectory, plan: Plan, files: FaultyFiles | None = None) -> Storage:
    return Storage(
        SqliteIndex(FaultyDatabase(board.index_path, INDEX_SCHEMA, plan)),
        SqliteLock(FaultyDatabase(board.lock_path, LOCK_SCHEMA, plan)),
        PublicDirectory(board.public, board.scratch, files or FaultyFiles(plan)),
        FaultySnapshots(board.snapshot_path, plan),
    )
