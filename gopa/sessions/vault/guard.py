"""Guards against old vaults and states: remembers what left last.

12-H8 and section 7. A vault and a state are bytes, and bytes can be copied.
What a function of them cannot see, that they were used before, a guard sees: it keeps one small
mark for each place (a vault, or a session and a party) and replaces it only if it is the one that
the caller has read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, Protocol, runtime_checkable

from gopa.sessions.vault.interface import VaultBroken, VaultDamaged, VaultError, VaultExposed
from gopa.sessions.vault.private_files import Ownership, PrivateFiles, is_exposed, write_new
from wire.codec import Codec, fixed, record, u16, u64
from wire.errors import MalformedMessage, UsageError


class StateReplayed(VaultError):
    """Reports a state that is not the one the guard knows: another answer has left since."""


class VaultOutdated(StateReplayed):
    """Reports a vault that was put back from a copy: more has left since (12-H8)."""


class VaultUnmarked(VaultError):
    """Reports a vault without its mark: nobody can say whether it is the newest (12-H8)."""


class StateLost(VaultError):
    """Reports that a party that has answered before is begun anew, without its state."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Names the last answer that left (12-N6), or the last record before it (12-H8).

    `counter` is that of the state in it, `digest` the hash of all that left. Logical rounds below
    `spent` may have had a value of this party. Of a vault `counter` is the generation and,
    in the lower 32 bits, how many records its journal has, `digest` their chain, and `spent` 0.
    """

    version: int
    counter: int
    spent: int
    digest: bytes

    def __post_init__(self) -> None:
        if self.version != 1:
            raise UsageError("only version 1 is known", "version")


MARK: Final[Codec[Mark]] = record(Mark, version=u16, counter=u64, spent=u16, digest=fixed(32))


@runtime_checkable
class Guard(Protocol):
    """Keeps one mark for each place, durably, for all processes that may answer there.

    Both calls raise `VaultError` if the guard cannot be used.
    """

    def last(self, place: str) -> bytes:
        """The mark of this place, empty if there is none."""

    def commit(self, place: str, old: bytes, new: bytes) -> bool:
        """Put `new` where `old` stands, in one durable step; False if something else stands there.

        Of two callers with one `old` at most one ever gets True.
        """


def last_mark(guard: Guard, place: str) -> tuple[bytes, Mark | None]:
    """What the guard knows, as bytes and decoded; raises `VaultDamaged` for anything else."""
    data = guard.last(place)
    if not data:
        return data, None
    try:
        return data, MARK.decode(data)
    except MalformedMessage as error:
        raise VaultDamaged(f"the guard keeps something that is no mark: {error}") from None


class MemoryGuard:
    """Keeps marks as long as this process lives: for simulations and tests."""

    def __init__(self) -> None:
        self._marks: dict[str, bytes] = {}
        self._lock = Lock()

    def last(self, place: str) -> bytes:
        return self._marks.get(place, b"")

    def commit(self, place: str, old: bytes, new: bytes) -> bool:
        with self._lock:
            if self._marks.get(place, b"") != old:
                return False
            self._marks[place] = new
            return True


class Unguarded:
    """Keeps nothing: whoever holds old states can have the party say two things (12-N8).

    Only for parties whose states cannot be given to them twice.
    """

    def last(self, place: str) -> bytes:
        del place
        return b""

    def commit(self, place: str, old: bytes, new: bytes) -> bool:
        del place, old, new
        return True


_PLACE: Final = re.compile(r"[0-9a-f-]{1,200}")


class FileGuard:
    """Keeps marks in a directory that only its owner can use, one file for each place.

    All processes that may answer for a party need the same directory, on a file system whose
    locks hold between them. It is never restored from a backup.

    Raises:
        VaultExposed: others can read or enter it.
        VaultBroken: it cannot be read or written.
    """

    def __init__(self, directory: str | Path, files: PrivateFiles | None = None) -> None:
        self._path = Path(directory).resolve()
        self._files = files or PrivateFiles()
        with _as_broken(self._path):
            if not self._path.exists():
                self._files.mkdir(self._path)
                self._files.sync_directory(self._path.parent)
            if is_exposed(self._path):
                raise VaultExposed(f"others can use {self._path}: make it its owner's alone")

    def last(self, place: str) -> bytes:
        with _as_broken(self._path):
            return self._read(self._file(place))

    def commit(self, place: str, old: bytes, new: bytes) -> bool:
        """As `Guard.commit`; raises `VaultInUse` if another process is about to commit."""
        path = self._file(place)
        with _as_broken(self._path), self._owned(path):
            if self._read(path) != old:
                return False
            scratch = path.with_suffix(".new")
            if scratch.exists():
                self._files.unlink(scratch)
            write_new(self._files, scratch, new)
            self._files.rename(scratch, path)
            self._files.sync_directory(self._path)
            return True

    def _file(self, place: str) -> Path:
        if not _PLACE.fullmatch(place):  # it becomes the name of a file
            raise UsageError("hexadecimal digits and hyphens", "place")
        return self._path / f"{place}.mark"

    @contextmanager
    def _owned(self, path: Path) -> Iterator[None]:
        owned = Ownership(path.with_suffix(".lock"))
        try:
            yield
        finally:
            owned.release()

    def _read(self, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size > MARK.max_size:
                    raise VaultDamaged(f"{path} is no mark")
                return file.read(MARK.max_size)
        except FileNotFoundError:
            return b""


@contextmanager
def _as_broken(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VaultBroken(f"{path} cannot be used: {error.strerror}") from None
