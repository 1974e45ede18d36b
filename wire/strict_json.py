"""Reads JSON of strangers, with limits on nesting and on the length of numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

MOST_DEPTH: Final = 64
MOST_DIGITS: Final = 4_300
"""Of a whole number: reading one takes time that grows with the square of its length."""

# A string that does not end is taken as far as it goes. Were it no match, every quote in it
# would begin another search to the end: 32 kB of `\"` would take seconds.
_STRINGS_AND_BRACKETS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)

Pairs = Callable[[Iterable[tuple[str, object]]], Any]


def read_json(data: bytes, *, pairs: Pairs | None = None) -> Any:
    """The value of one document in UTF-8; `pairs` makes objects of their members.

    Python's reader is stopped by the limit of recursion alone, and where a library has raised
    that, deep nesting ends the process. So depth is counted first, outside of strings. The
    time it takes grows with the length of the data, whatever they are.

    Raises:
        ValueError: it is no JSON in UTF-8, nested deeper than MOST_DEPTH, or has a whole
            number of more than MOST_DIGITS digits.
    """
    text = data.decode("utf-8")
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
        if depth > MOST_DEPTH:
            raise ValueError("nested too deeply")
    return json.loads(text, object_pairs_hook=pairs, parse_int=_whole)


def _whole(text: str) -> int:
    """Reads an integer of few digits. Python has this limit too, but a program may lift it."""
    if len(text) > MOST_DIGITS:
        raise ValueError("a number of too many digits")
    return int(text)
