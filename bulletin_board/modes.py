"""Who may use the files of a log: what is served is everybody's to read, the rest is its owner's.

A lock that somebody else takes on a database stops the log, and reading is enough to take one. So
nobody else may even open one. Modes are set, never left to the umask.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from wire.errors import UsageError

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
PUBLIC_FILE = 0o644
PUBLIC_DIRECTORY = 0o755

_POSIX = os.name != "nt"
_OTHERS = 0o077
_ANYBODY_WRITES = 0o002


def make_public_directory(path: Path) -> None:
    """Make it, and what is missing above it, if it is not there. Everybody may read it."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        _set(each, PUBLIC_DIRECTORY)


def make_private_directory(path: Path) -> None:
    """Make it if it is not there; `UsageError` if others may use the one that is."""
    make_public_directory(path.parent)
    if not path.exists():
        path.mkdir(PRIVATE_DIRECTORY)
        _set(path, PRIVATE_DIRECTORY)
    require_private(path)


def write_public(path: Path, data: bytes) -> None:
    """A file that everybody may read, and the directories above it."""
    if not path.parent.is_dir():
        make_public_directory(path.parent)
    path.write_bytes(data)
    _set(path, PUBLIC_FILE)


def set_public(handle: int) -> None:
    """Everybody may read this open file."""
    if hasattr(os, "fchmod"):
        os.fchmod(handle, PUBLIC_FILE)


def create_private(path: Path) -> None:
    """Make an empty file of the owner's if there is none; `UsageError` if others may use it.

    One that is there is not opened: closing it again would drop the locks that this process
    has on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    except FileExistsError:
        require_private(path)
    else:
        _set(path, PRIVATE_FILE)


def require_private(path: Path) -> None:
    """Return if nobody but its owner may use it; `UsageError`, or `OSError` if it is not there."""
    found = path.stat()
    if _POSIX and found.st_mode & _OTHERS:
        mode = "700" if stat.S_ISDIR(found.st_mode) else "600"
        raise UsageError(f"{path} can be used by others: chmod {mode} it")


def require_owned(path: Path, *, sticky: bool) -> None:
    """Return unless anybody may exchange what is in a directory, or make new files there.

    With `sticky` the bit that keeps others from exchanging things is enough.
    """
    mode = path.stat().st_mode
    if _POSIX and mode & _ANYBODY_WRITES and not (sticky and mode & stat.S_ISVTX):
        raise UsageError(
            f"everybody may write to {path}: choose another directory, or chmod o-w it"
        )


def _set(path: Path, mode: int) -> None:
    if _POSIX:
        path.chmod(mode)
