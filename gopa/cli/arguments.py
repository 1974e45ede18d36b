"""Reads arguments: options that are a time, and values from the line, a file or standard input."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, Final
from zipfile import BadZipFile

import click
import numpy as np

from wire.errors import UsageError
from wire.strict_json import read_json


class Seconds(click.FloatRange):
    """A number of seconds, not negative; `inf` is for ever. `nan` would be, too, unasked."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0.0)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; refuses everything else."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return found


_LARGEST: Final = 1 << 30
_LONGEST_LINE: Final = 4_096
_STANDARD_INPUT: Final = "-"
_UNREADABLE: Final = (
    ValueError,
    EOFError,
    SyntaxError,
    TypeError,
    OverflowError,
    MemoryError,
    TokenError,
    BadZipFile,
)
"""What numpy raises on files of which it cannot read the head."""


def read_value(text: str | None, path: Path | None) -> Any:
    """A number, or what a file holds: an array (.npy), JSON (.json), or numbers in a text.

    Raises:
        UsageError: there is not exactly one source, or it holds no numbers. What it holds
            instead is not repeated: it may be private.
    """
    if (text is None) == (path is None):
        raise UsageError("give one value: --value NUMBER (or - for standard input) or --file FILE")
    if path is not None:
        return _from_file(path)
    if text == _STANDARD_INPUT:
        return _numbers(sys.stdin.read(_LARGEST), "standard input")
    return _numbers(text or "", "--value")


def read_line(path: Path) -> str:
    """The first line of a file, or of standard input."""
    try:
        if str(path) == _STANDARD_INPUT:
            return sys.stdin.readline(_LONGEST_LINE)
        with path.open() as file:
            return file.readline(_LONGEST_LINE)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None


def _from_file(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            if path.suffix == ".npy":
                return _array(file, path)
            data = file.read(_LARGEST)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is neither a .npy file nor text in UTF-8") from None
    if path.suffix == ".json":
        try:
            return read_json(data)
        except ValueError:
            raise UsageError(f"{path} holds no JSON") from None
    return _numbers(text, str(path))


def _array(file: IO[bytes], path: Path) -> Any:
    try:
        found = np.load(file, allow_pickle=False)
    except _UNREADABLE:
        raise UsageError(f"{path} holds no array of numbers that numpy can read") from None
    if not isinstance(found, np.ndarray):
        raise UsageError(f"{path} holds several arrays: save one as .npy")
    return found.item() if found.ndim == 0 else found


def _numbers(text: str, where: str) -> Any:
    """One number, or an array of those that blanks or commas separate."""
    try:
        found = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise UsageError(f"{where}: numbers, and blanks or commas between them") from None
    if not found:
        raise UsageError(f"{where}: no number")
    return found[0] if len(found) == 1 else np.array(found)
