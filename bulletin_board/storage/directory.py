"""A log in one directory, with SQLite files and public files: the default storage.

log.vkey             the public half of the log's key, for organisers and auditors
public/              what everyone may read: checkpoint, tile/...
state/               the writer's alone (mode 0700), and all that is in it:
  key                the log's private key
  index.sqlite       slots and the batch being written
  lock.sqlite        the newest signed checkpoint; may live elsewhere
  snapshot           what the policy knew lately, so that opening need not read all of the log
  scratch/           files on their way into public/
  policy             the trust policy with witnesses that the log was last served under
  evidence/          what witnesses refused, once one did
  writer.lock        held by the process that writes
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bulletin_board.note import KeyKind, NoteSigner
from bulletin_board.reader import CHECKPOINT
from bulletin_board.storage.files import (
    PRIVATE_FILE,
    FileOperations,
    PublicDirectory,
    make_private_directory,
    make_public_directory,
    replace_file,
    require_owned,
    require_private,
    storage_error,
    whole_or_gone,
)
from bulletin_board.storage.interface import InUse, Storage, StorageError
from bulletin_board.storage.sqlite import SqliteIndex, SqliteLock
from wire.errors import UsageError
from wire.secret import SecretBytes

_LOG: Final = logging.getLogger("gopa.board")

ROOM: Final = 2**20
"""Bytes that the disk has to take before a log is opened again after a write that failed."""


class FileSnapshots:
    """The snapshot in one file of the writer's."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _LOG.warning("%s cannot be read: %s", self._path, error.strerror)
            return None

    def keep(self, data: bytes) -> None:
        replace_file(self._path, data, private=True)


@dataclass(frozen=True, slots=True)
class BoardDirectory:
    """The paths of one log, which it makes and opens. `lock` defaults to a file inside."""

    root: Path
    lock: Path | None = None

    @property
    def public(self) -> Path:
        return self.root / "public"

    @property
    def verifier_path(self) -> Path:
        return self.root / "log.vkey"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def scratch(self) -> Path:
        return self.state / "scratch"

    @property
    def evidence(self) -> Path:
        return self.state / "evidence"

    @property
    def policy_path(self) -> Path:
        return self.state / "policy"

    @property
    def key_path(self) -> Path:
        return self.state / "key"

    @property
    def snapshot_path(self) -> Path:
        return self.state / "snapshot"

    @property
    def index_path(self) -> Path:
        return self.state / "index.sqlite"

    @property
    def lock_path(self) -> Path:
        return self.lock or self.state / "lock.sqlite"

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
        make_public_directory(self.public)
        make_private_directory(self.state)
        make_private_directory(self.scratch)
        if self.lock is not None and not self.lock.parent.exists():
            make_private_directory(self.lock.parent)
        self._require_private()
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
        self._require_private()
        return NoteSigner.from_secret_text(read_secret(self.key_path))

    def storage(self, files: FileOperations | None = None) -> Storage:
        """Open the three parts. Hold `writing()` as long as the storage is used to write.

        Raises `StorageError` if a part is missing, `UsageError` if others may use one.
        """
        self.require_parts()
        if not self.index_path.exists():
            raise StorageError(
                f"{self.index_path} is missing: is this the directory of a log? If so, rebuild the"
                " index with `gopa board reindex`"
            )
        public = PublicDirectory(self.public, self.scratch, files)
        return Storage(
            SqliteIndex.open(self.index_path),
            SqliteLock.open(self.lock_path),
            public,
            FileSnapshots(self.snapshot_path),
        )

    def require_room(self) -> None:
        """Raises `StorageError` unless the disk takes a batch of some size.

        A full disk often has room for the few bytes with which a log is opened: it would be
        opened and given up in turns.
        """
        path = self.scratch / "room"
        try:
            replace_file(path, bytes(ROOM), private=True)
            path.unlink()
        except OSError as error:
            message = f"{self.scratch} does not take {ROOM} bytes"
            raise storage_error(message, error) from error

    def require_parts(self) -> None:
        """Raises `StorageError` without lock or public files, `UsageError` if others may use it."""
        self._require_private()
        if not self.public.exists():
            raise StorageError(f"{self.public} is missing: is this the directory of a log?")
        if not self.lock_path.exists():
            raise StorageError(f"{self.lock_path} is missing: name the file given to `init --lock`")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer on this machine, or raise `InUse`, or `StorageError`.

        The operating system releases it with the process, however that ends.
        Across machines the lock's epoch protects the log instead.
        """
        self._require_private()
        path = self.state / "writer.lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}") from error
        try:
            try:
                _lock(handle)
            except OSError:
                raise InUse(f"another process writes to {self.root}") from None
            yield
        finally:
            os.close(handle)

    def exposed(self) -> str:
        """What others may use, or exchange, although only the writer may; the empty string if none.

        Modes may change while a board runs, which looks at them only when it starts.
        """
        try:
            self._require_private()
            for path in (*self.state.iterdir(), self.lock_path):
                require_private(path)
            for name in ("", CHECKPOINT, "tile", "tile/0", "tile/entries"):
                if (self.public / name).exists():
                    require_owned(self.public / name, sticky=False)
        except FileNotFoundError:
            return ""  # what has just been renamed or removed
        except (UsageError, OSError) as error:
            return str(error)
        return ""

    def _require_private(self) -> None:
        """Raises `UsageError` if others may use, or exchange, what only the writer may."""
        for name in ("key", "index.sqlite"):
            if (self.root / name).exists():
                raise UsageError(
                    f"{self.root / name} belongs into {self.state}, where others cannot stop the"
                    f" log. Stop the board; then, in {self.root}: mkdir -m 700 state; mv key"
                    " *.sqlite* scratch evidence writer.lock state; chmod 600 state/*.sqlite*;"
                    " chmod 700 state/scratch"
                )
        if not self.state.is_dir():
            raise UsageError(f"{self.state} is missing: is {self.root} the directory of a log?")
        require_owned(self.root, sticky=True)
        require_private(self.state)
        if self.lock is not None and self.lock.parent.is_dir():
            require_owned(self.lock.parent, sticky=False)


def _lock(handle: int) -> None:
    """Lock an open file for this process alone, or raise `OSError` at once."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_secret(path: Path, secret: SecretBytes) -> None:
    """Write a new file that only its owner can read; `UsageError` if it exists."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    except FileExistsError:
        raise UsageError(f"{path} exists already") from None
    with whole_or_gone(path), os.fdopen(handle, "wb") as file:
        file.write(secret.reveal())
        file.flush()
        os.fsync(handle)


def read_secret(path: Path) -> SecretBytes:
    """The content of a key file; `UsageError` if it is missing or readable by others."""
    try:
        require_private(path)
        return SecretBytes(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
