"""Files that `gopa audit` writes: whole or not at all, and never over what it reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from wire.errors import UsageError

_READABLE: Final = 0o666


def replace(path: Path, data: bytes) -> None:
    """Whole or not at all: whoever reads the file never finds half of it.

    A device or a pipe is written to and stays what it is. The name of the file that is
    written beside cannot be guessed: nobody can have put a link in its place.
    """
    target = path.resolve()
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _swap(target, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def directory_at(path: Path) -> Path:
    """The directory, made if need be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}") from None
    return path


def require_apart(source: str | None, read: Iterable[Path], written: Iterable[Path]) -> None:
    """Nothing is written over what is read, nor among the public files of a log.

    Raises:
        UsageError: it would be.
    """
    transcript = None if source is None or "://" in source else Path(source).resolve()
    inputs = {each.resolve() for each in read} | ({transcript} if transcript else set())
    outputs = set[Path]()
    for path in written:
        target = path.resolve()
        if target in inputs:
            raise UsageError(f"{path} would be written over what is read: choose another name")
        if target in outputs:
            raise UsageError(f"{path} would be written twice: choose another name")
        if transcript is not None and transcript.is_dir() and target.is_relative_to(transcript):
            message = "a log must hold nothing but its own files: write to another directory"
            raise UsageError(f"{path} lies in the transcript; {message}")
        outputs.add(target)


def require_places(written: Iterable[Path]) -> None:
    """An audit may take long: that there is no room for its page is said before.

    Raises:
        UsageError: there is no such directory, or nothing may be written there.
    """
    for path in written:
        target = path.resolve()
        place = target if target.exists() and not target.is_file() else target.parent
        if not place.exists():
            raise UsageError(f"{path} cannot be written: there is no directory {place}")
        if not os.access(place, os.W_OK):
            raise UsageError(f"{path} cannot be written: Permission denied")


def _swap(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(_READABLE & ~_mask())
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _mask() -> int:
    """What the user takes away from the permissions of new files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
