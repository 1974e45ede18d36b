"""Folds long lines for terminals; whoever reads a pipe finds whole lines."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import Final

_LABEL: Final = re.compile(r" *(?:\S+(?: \S+)? {2,}|-> |- )?")
_FEWEST: Final = 24


def fitting(text: str) -> str:
    """The text in lines as wide as the terminal; as it is where there is none."""
    if not sys.stdout.isatty():
        return text
    return fold(text, shutil.get_terminal_size().columns)


def fold(text: str, columns: int) -> str:
    """Folds long lines between words, so that what goes on stands below where it began."""
    lines = text.split("\n")
    return "\n".join(each for line in lines for each in _folded(line, columns))


def _folded(line: str, columns: int) -> list[str]:
    found = _LABEL.match(line)
    hang = (0 if found is None else found.end()) or 2
    if hang > columns - _FEWEST:
        hang = 2
    return textwrap.wrap(
        line,
        max(columns, _FEWEST),
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
