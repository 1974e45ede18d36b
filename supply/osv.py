"""Advisories in the OSV format, read strictly where it counts.

OSV is the schema for open source vulnerabilities that the databases of both ecosystems share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeGuard

from wire.strict_json import read_json

EVENTS: Final = ("introduced", "fixed", "last_affected", "limit")
VERSIONED: Final = ("SEMVER", "ECOSYSTEM")


class Malformed(ValueError):
    """The bytes are no advisory, or one that cannot be decided: it must not count as harmless."""


@dataclass(frozen=True, slots=True)
class Range:
    """Versions from events, each a kind and a version; without events for ranges of commits."""

    events: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Affected:
    """One package and which of its versions an advisory means."""

    ecosystem: str
    package: str
    ranges: tuple[Range, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advisory:
    """One advisory, as far as matching needs it."""

    identifier: str
    aliases: tuple[str, ...]
    modified: str
    withdrawn: bool
    summary: str
    affected: tuple[Affected, ...]


def parse(content: bytes) -> Advisory:
    """Read one advisory.

    Raises:
        Malformed: a field that matching needs is missing or of another kind.
    """
    try:
        document = read_json(content)
    except ValueError as error:
        raise Malformed(f"no JSON: {error}") from error
    fields = _object(document, "the advisory")
    return Advisory(
        _text(fields, "id"),
        _texts(fields, "aliases"),
        _text(fields, "modified"),
        fields.get("withdrawn") is not None and bool(_text(fields, "withdrawn")),
        _text(fields, "summary") if fields.get("summary") else "",
        tuple(_affected(item) for item in _list(fields, "affected")),
    )


def _affected(document: object) -> Affected:
    fields = _object(document, "an item of affected")
    package = _object(fields["package"], "package") if "package" in fields else None
    return Affected(
        _text(package, "ecosystem").partition(":")[0] if package else "",
        _text(package, "name") if package else "",
        tuple(_range(item) for item in _list(fields, "ranges")),
        _texts(fields, "versions"),
    )


def _range(document: object) -> Range:
    fields = _object(document, "a range")
    kind = _text(fields, "type")
    if kind not in (*VERSIONED, "GIT"):
        raise Malformed(f"a range of type {kind!r}")
    events = tuple(_event(item) for item in _list(fields, "events"))
    if "introduced" not in {kind for kind, _ in events}:
        raise Malformed("a range that begins nowhere")
    return Range(events if kind in VERSIONED else ())


def _event(document: object) -> tuple[str, str]:
    fields = _object(document, "an event")
    kinds = [kind for kind in EVENTS if kind in fields]
    if len(kinds) != 1 or len(fields) != 1:
        raise Malformed(f"an event of {sorted(fields)}")
    return kinds[0], _text(fields, kinds[0])


def _object(document: object, what: str) -> dict[str, object]:
    if not isinstance(document, dict):
        raise Malformed(f"{what} is no object")
    return document


def _text(fields: dict[str, object], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise Malformed(f"{key} is missing or no text")
    return value


def _list(fields: dict[str, object], key: str) -> list[object]:
    value = fields.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"{key} is no list")
    return value


def _texts(fields: dict[str, object], key: str) -> tuple[str, ...]:
    values = _list(fields, key)
    if not _all_text(values):
        raise Malformed(f"{key} holds something that is no text")
    return tuple(values)


def _all_text(values: list[object]) -> TypeGuard[list[str]]:
    return all(isinstance(value, str) for value in values)
