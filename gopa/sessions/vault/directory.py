"""A vault in a directory. `specs/12-sessions.md`, section 1.

seal            how records are sealed, with the key that seals them if they are
current         which generation counts
memory-<n>      the memory of generation n
journal-<n>     the records since
board/          what the client of the board remembers
lock            held by the process that uses the vault
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bulletin_board import VerifierKey
from bulletin_board.client.state import ClientState, DirectoryState
from gopa.sessions.vault.frames import (
    File,
    FoundRecord,
    RecordPlace,
    frame,
    make_seal,
    only_record,
    read_seal,
    records,
)
from gopa.sessions.vault.guard import MARK, Guard, Unguarded
from gopa.sessions.vault.interface import VaultBroken, VaultDamaged, VaultExposed
from gopa.sessions.vault.marking import Marker
from gopa.sessions.vault.private_files import (
    Ownership,
    PrivateFiles,
    erase,
    is_exposed,
    write_all,
    write_new,
)
from gopa.sessions.vault.protection import Secret
from wire.errors import UsageError
from wire.randomness import Rng
from wire.secret import Guarded

_SEAL: Final = "seal"
_CURRENT: Final = "current"
_LOCK: Final = "lock"
_GENERATION: Final = 8


class DirectoryVault(Guarded):
    """A `Vault` in the directory `path`, which is made if it is not there.

    `log` is the board whose checkpoints are remembered. `secret` seals a new vault and opens
    a sealed one. `rng` makes the keys and nonces of a sealed one. `guard` keeps the mark of the
    vault, in a place that is not restored together with it; without one an old copy is taken up.

    After a call has failed, the vault refuses all others: open it again, and it is as
    before that call or as after it.

    Raises:
        VaultInUse: another process uses it.
        VaultExposed: others can read or enter it.
        VaultDamaged: a file is missing or was changed.
        StateDiverged: it is of another version of the library.
        VaultOutdated: it is an old copy, and more has left since it was made.
        VaultUnmarked: the guard does not know it.
        WrongSecret: it is sealed with something else.
    """

    __slots__ = (
        "_board",
        "_broken",
        "_count",
        "_files",
        "_generation",
        "_guard",
        "_handle",
        "_id",
        "_marker",
        "_owned",
        "_path",
        "_sealing",
    )

    def __init__(  # noqa: PLR0913 - where it is, and what it is kept with
        self,
        path: Path,
        log: VerifierKey,
        *,
        rng: Rng,
        secret: Secret | None = None,
        guard: Guard | None = None,
        files: PrivateFiles | None = None,
    ) -> None:
        self._guard = Unguarded() if guard is None else guard
        self._path = path = path.resolve()
        self._files = files or PrivateFiles()
        self._handle: int | None = None
        self._broken = "the vault is closed"
        self._generation = self._count = 0
        with _as_vault_error(f"{path} cannot be used"):
            if not path.exists():
                self._files.mkdir(path)
                self._files.sync_directory(path.parent)
            _require_private(path)
            self._owned = Ownership(path / _LOCK)
        try:
            _require_private(*sorted(path.rglob("*")))
            with _as_vault_error(f"{path} cannot be opened"):
                self._open(log, secret, rng)
        except BaseException:
            self.close()
            raise
        self._broken = ""

    @property
    def path(self) -> Path:
        """The directory. Files with other names in it are left alone, and must be private."""
        return self._path

    @property
    def board(self) -> ClientState:
        return self._board

    def memory(self) -> bytes | None:
        self._require_usable()
        if not self._generation:
            return None
        data = self._read(self._memory_path(self._generation))
        return only_record(self._sealing, self._place(File.MEMORY, self._generation), data)

    def journal(self) -> tuple[bytes, ...]:
        self._require_usable()
        return tuple(found.content for found in self._records()) if self._generation else ()

    def begin(self, memory: bytes) -> None:
        with self._writing():
            old, new = self._generation, self._generation + 1
            content = frame(self._sealing, self._place(File.MEMORY, new), memory)
            write_new(self._files, self._memory_path(new), content)
            write_new(self._files, self._journal_path(new), b"")
            self._files.sync_directory(self._path)
            self._point_at(new)
            self._let_go()
            self._generation, self._count = new, 0
            self._marker.begin(new, memory)
            self._handle = self._files.open_end(self._journal_path(new))
            if old:
                self._erase(self._memory_path(old), self._journal_path(old))

    def append(self, *parts: bytes, leaves: bool = True) -> None:
        with self._writing():
            if self._handle is None:
                raise UsageError("a vault begins with a memory", "memory")
            place = self._place(File.JOURNAL, self._generation, self._count)
            record = b"".join(parts)
            write_all(self._files, self._handle, frame(self._sealing, place, record))
            self._files.sync(self._handle)
            self._count += 1
            self._marker.append(record, leaves=leaves)

    def close(self) -> None:
        self._broken = self._broken or "the vault is closed"
        self._let_go()
        self._owned.release()

    def _open(self, log: VerifierKey, secret: Secret | None, rng: Rng) -> None:
        seal, current = self._path / _SEAL, self._path / _CURRENT
        if not seal.exists():
            if current.exists():
                raise VaultDamaged(f"{seal} is missing: put back a copy of the vault")
            make_seal(self._files, seal, secret, rng)
        self._id, self._sealing = read_seal(seal, secret, rng)
        follows = b""
        if current.exists():
            self._generation, follows = self._read_current()
        self._marker = Marker(self._guard, self._id)
        self._take_up(follows)
        self._board = DirectoryState(self._made(self._path / "board"), log, private=True)

    def _take_up(self, follows: bytes) -> None:
        """Go on where the vault is, if nothing has left that it does not have (12-H8).

        A vault that is refused stays as it is: where an old copy was put over a newer vault, what
        looks like the leftover of a crash is the newest generation.
        """
        memory, found = b"", tuple[FoundRecord, ...]()
        if self._generation:
            place, path = self._place(File.MEMORY, self._generation), self._memory_path
            memory = only_record(self._sealing, place, self._read(path(self._generation)))
            found = tuple(self._records())
        self._marker.open(self._generation, memory, (each.content for each in found), follows)
        self._erase(*self._leftovers())
        if self._generation:
            self._cut_off(found)
            self._handle = self._files.open_end(self._journal_path(self._generation))

    def _read_current(self) -> tuple[int, bytes]:
        """The generation, and the mark that was known when it began."""
        content = only_record(
            self._sealing, self._place(File.CURRENT, 0), self._read(self._path / _CURRENT)
        )
        generation = int.from_bytes(content[:_GENERATION])
        if len(content) != _GENERATION + MARK.max_size or not generation:
            raise VaultDamaged(f"{self._path / _CURRENT} names no generation")
        return generation, content[_GENERATION:]

    def _point_at(self, generation: int) -> None:
        """Make this the current generation: it counts from the rename on, and no other (12-H5)."""
        content = generation.to_bytes(_GENERATION) + self._marker.known
        scratch, path = self._path / f"{_CURRENT}.new", self._path / _CURRENT
        write_new(self._files, scratch, frame(self._sealing, self._place(File.CURRENT, 0), content))
        self._files.rename(scratch, path)
        self._files.sync_directory(self._path)

    def _leftovers(self) -> Iterator[Path]:
        """Files of generations that do not count, which a crash has left."""
        kept = {self._memory_path(self._generation), self._journal_path(self._generation)}
        for pattern in ("memory-*", "journal-*", f"{_CURRENT}.new", f"{_SEAL}.new"):
            yield from (path for path in sorted(self._path.glob(pattern)) if path not in kept)

    def _erase(self, *paths: Path) -> None:
        for path in paths:
            erase(self._files, path)
        if paths:
            self._files.sync_directory(self._path)

    def _cut_off(self, found: tuple[FoundRecord, ...]) -> None:
        """Remove what a crash left of the last record: nothing followed from it (12-H4)."""
        path, end = self._journal_path(self._generation), found[-1].end if found else 0
        self._count = len(found)
        if end < path.stat().st_size:
            self._files.truncate(path, end)
            self._files.sync_file(path)

    def _records(self) -> Iterator[FoundRecord]:
        data = self._read(self._journal_path(self._generation))
        return records(self._sealing, self._place(File.JOURNAL, self._generation), data)

    def _made(self, path: Path) -> Path:
        if not path.exists():
            self._files.mkdir(path)
        return path

    def _place(self, file: File, generation: int, number: int = 0) -> RecordPlace:
        return RecordPlace(self._id, file, generation, number)

    def _memory_path(self, generation: int) -> Path:
        return self._path / f"memory-{generation}"

    def _journal_path(self, generation: int) -> Path:
        return self._path / f"journal-{generation}"

    def _read(self, path: Path) -> bytes:
        if not path.exists():
            raise VaultDamaged(f"{path} is missing: put back a copy of the vault")
        with _as_vault_error(f"{path} cannot be read"):
            return path.read_bytes()

    def _let_go(self) -> None:
        if self._handle is not None:
            self._files.close(self._handle)
            self._handle = None

    def _require_usable(self) -> None:
        if self._broken:
            raise VaultBroken(self._broken)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Whatever fails inside leaves a vault that is to be opened again."""
        self._require_usable()
        try:
            with _as_vault_error(f"{self._path} cannot be written"):
                yield
        except UsageError:
            raise
        except BaseException:
            self._broken = "a write failed: open the vault again"
            raise


def _require_private(*paths: Path) -> None:
    for path in paths:
        if is_exposed(path):
            raise VaultExposed(f"others can use {path}: what was in it is not private any more")


@contextmanager
def _as_vault_error(message: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VaultBroken(f"{message}: {error.strerror}") from None
