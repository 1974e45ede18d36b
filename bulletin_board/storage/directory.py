"""The default storage: one directory with SQLite files and public files.

key            the log's private key (mode 0600)
index.sqlite   slots and the batch being written
lock.sqlite    the newest signed checkpoint; may live elsewhere
public/        what everyone may read: checkpoint, tile/...
scratch/       files on their way into public/
evidence/      what witnesses refused, once one did
writer.lock    held by the process that writes
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulletin_board.note import KeyKind, NoteSigner
from bulletin_board.source import CHECKPOINT
from bulletin_board.storage.files import Files
from bulletin_board.storage.interface import InUse, Storage, StorageError
from bulletin_board.storage.public import PublicDirectory
from bulletin_board.storage.sqlite import SqliteIndex, SqliteLock
from wire.errors import UsageError
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class BoardDirectory:
    """The paths of one log. `lock` defaults to a file inside."""

    root: Path
    lock: Path | None = None

    @property
    def public(self) -> Path:
        return self.root / "public"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    @property
    def evidence(self) -> Path:
        return self.root / "evidence"

    @property
    def key_path(self) -> Path:
        return self.root / "key"

    @property
    def index_path(self) -> Path:
        return self.root / "index.sqlite"

    @property
    def lock_path(self) -> Path:
        return self.lock or self.root / "lock.sqlite"

    def create(self, signer: NoteSigner, checkpoint: bytes) -> None:
        """Make a new log; raises `UsageError` if the directory or the lock exists and is used.

        `checkpoint` is the signed checkpoint of the empty log.
        """
        if signer.verifier.kind is not KeyKind.LOG:
            raise UsageError("a log needs a key of type 0x01")
        if self.root.exists() and any(self.root.iterdir()):
            raise UsageError(f"{self.root} is not empty: choose a new directory")
        if self.lock_path.exists():
            raise UsageError(f"{self.lock_path} belongs to a log already")
        for directory in (self.lock_path.parent, self.root, self.public, self.scratch):
            directory.mkdir(parents=True, exist_ok=True)
        write_secret(self.key_path, signer.to_secret_text())
        SqliteIndex.open(self.index_path).close()
        lock = SqliteLock.open(self.lock_path)
        lock.create(checkpoint)
        lock.close()
        public = PublicDirectory(self.public, self.scratch)
        public.write({CHECKPOINT: checkpoint})
        public.sync()

    def signer(self) -> NoteSigner:
        """The log's key; raises `UsageError` if it is missing, damaged or readable by others."""
        return NoteSigner.from_secret_text(read_secret(self.key_path))

    def storage(self, files: Files | None = None) -> Storage:
        """Open the three parts. Hold `writing()` as long as the storage is used to write."""
        for path in (self.index_path, self.public):
            if not path.exists():
                raise StorageError(f"{path} is missing: is this the directory of a log?")
        if not self.lock_path.exists():
            raise StorageError(f"{self.lock_path} is missing: name the file given to `init --lock`")
        public = PublicDirectory(self.public, self.scratch, files)
        return Storage(SqliteIndex.open(self.index_path), SqliteLock.open(self.lock_path), public)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer on this machine, or raise `InUse`.

        The operating system releases it with the process, however that ends.
        Across machines the lock's epoch protects the log instead.
        """
        handle = os.open(self.root / "writer.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                _lock(handle)
            except OSError:
                raise InUse(f"another process writes to {self.root}") from None
            yield
        finally:
            os.close(handle)


def _lock(handle: int) -> None:
    """Lock an open file for this process alone, or raise `OSError` at once."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_secret(path: Path, secret: SecretBytes) -> None:
    """A new file that only its owner can read; `UsageError` if it exists."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already") from None
    with os.fdopen(handle, "wb") as file:
        file.write(secret.reveal())
        file.flush()
        os.fsync(handle)


def read_secret(path: Path) -> SecretBytes:
    """The content of a key file; `UsageError` if it is missing or readable by others."""
    try:
        mode = path.stat().st_mode
        if mode & 0o077 and os.name != "nt":
            raise UsageError(f"{path} can be read by others: chmod 600 it")
        return SecretBytes(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
