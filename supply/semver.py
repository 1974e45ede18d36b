"""Versions of crates: their order, and the requirements that a manifest may state."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

NUMBER: Final = r"(?:0|[1-9][0-9]*)"
VERSION: Final = re.compile(
    rf"({NUMBER})\.({NUMBER})\.({NUMBER})"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z.-]+)?"
)
REQUIREMENT: Final = re.compile(rf"(\^|=)?\s*({NUMBER})(?:\.({NUMBER})(?:\.({NUMBER}))?)?")

# A version without a pre-release comes after all that have one.
RELEASED: Final = ((2, 0, ""),)


class NotUnderstood(ValueError):
    """The text is no version, or no requirement of the forms that a manifest here may use."""


@dataclass(frozen=True, slots=True, order=True)
class SemVer:
    """A version by its precedence; build metadata does not count."""

    release: tuple[int, int, int]
    prerelease: tuple[tuple[int, int, str], ...]


def parse(text: str) -> SemVer:
    """Read a version.

    Raises:
        NotUnderstood: it is no semantic version.
    """
    match = VERSION.fullmatch(text)
    if match is None:
        raise NotUnderstood(f"{text!r} is no semantic version")
    release = (int(match[1]), int(match[2]), int(match[3]))
    prerelease = tuple(map(_identifier, match[4].split("."))) if match[4] else RELEASED
    return SemVer(release, prerelease)


def _identifier(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def requirement(text: str) -> Callable[[SemVer], bool]:
    """What a manifest's requirement allows: a plain version (caret) or an exact one.

    Raises:
        NotUnderstood: it is of another form. The manifest keeps to these two.
    """
    match = REQUIREMENT.fullmatch(text.strip())
    if match is None:
        raise NotUnderstood(f"{text!r} is neither a plain nor an exact version")
    stated = [int(part) for part in match.groups()[1:] if part is not None]
    major, minor, patch = [*stated, 0, 0][:3]
    lowest = SemVer((major, minor, patch), RELEASED)
    fixed = len(stated) if match[1] == "=" else _caret(stated)
    return lambda version: (
        version >= lowest
        and version.prerelease == RELEASED
        and list(version.release[:fixed]) == stated[:fixed]
    )


def _caret(stated: list[int]) -> int:
    """How many leading numbers stay: up to the first that is not zero."""
    return next((place for place, part in enumerate(stated, 1) if part), len(stated))
