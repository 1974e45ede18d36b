"""Does an advisory mean a locked version? The evaluation that the OSV schema lays down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from packaging.utils import canonicalize_name
from packaging.version import Version

from supply import semver
from supply.osv import Advisory, Affected, Malformed, Range
from supply.registries import CRATES_ECOSYSTEM, PYTHON_ECOSYSTEM


class Ordered(Protocol):
    """A version that knows which of two is newer."""

    def __lt__(self, other: Any, /) -> bool: ...

    def __le__(self, other: Any, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """How names and versions are read there."""

    name: str
    canonical: Callable[[str], str]
    version: Callable[[str], Ordered]


def _crate_name(name: str) -> str:
    return name.lower().replace("_", "-")  # the registry takes both spellings for one


PYTHON: Final = Ecosystem(PYTHON_ECOSYSTEM, canonicalize_name, Version)
CRATES: Final = Ecosystem(CRATES_ECOSYSTEM, _crate_name, semver.parse)
ECOSYSTEMS: Final = {ecosystem.name: ecosystem for ecosystem in (PYTHON, CRATES)}


@dataclass(frozen=True, slots=True)
class Locked:
    """A package in one version, with its name in the one spelling of its ecosystem."""

    ecosystem: str
    name: str
    version: str


def lock(ecosystem: Ecosystem, name: str, version: str) -> Locked:
    """A locked package under the name that advisories are looked up by."""
    return Locked(ecosystem.name, ecosystem.canonical(name), version)


def means(advisory: Advisory, locked: Locked) -> bool:
    """Whether the advisory stands and means this version.

    Raises:
        Malformed: it names the package, and does not say which versions in a way that can be read.
    """
    ecosystem = ECOSYSTEMS[locked.ecosystem]
    return not advisory.withdrawn and any(
        _affects(affected, locked.version, ecosystem)
        for affected in advisory.affected
        if affected.ecosystem == ecosystem.name
        and ecosystem.canonical(affected.package) == locked.name
    )


def _affects(affected: Affected, version: str, ecosystem: Ecosystem) -> bool:
    ranges = [stated for stated in affected.ranges if stated.events]
    if not ranges and not affected.versions:
        raise Malformed(f"no versions of {affected.package}, only commits or nothing")
    if any(_same(listed, version, ecosystem) for listed in affected.versions):
        return True
    try:
        return any(_within(stated, version, ecosystem) for stated in ranges)
    except ValueError as error:
        raise Malformed(f"a version of {affected.package}: {error}") from error


def _same(listed: str, version: str, ecosystem: Ecosystem) -> bool:
    try:
        return ecosystem.version(listed) == ecosystem.version(version)
    except ValueError:
        return False  # a spelling from before the rules, which no lock can hold


def _within(stated: Range, version: str, ecosystem: Ecosystem) -> bool:
    ours = (1, ecosystem.version(version))
    events = [(kind, _place(text, ecosystem)) for kind, text in stated.events]
    limits = [place for kind, place in events if kind == "limit"]
    if limits and not any(ours < place for place in limits):
        return False
    inside = False
    for kind, place in sorted(events, key=lambda event: event[1]):
        if kind == "introduced" and place <= ours:
            inside = True
        elif (kind == "fixed" and place <= ours) or (kind == "last_affected" and place < ours):
            inside = False
    return inside


def _place(text: str, ecosystem: Ecosystem) -> tuple[int, Ordered]:
    """`0` is before every version and `*` after."""
    first = ecosystem.version("0.0.0")
    if text in {"0", "*"}:
        return (0 if text == "0" else 2, first)
    return (1, ecosystem.version(text))
