"""Advisories made by hand, one field at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from supply.registries import CRATES_ECOSYSTEM, PYTHON_ECOSYSTEM

Fields = dict[str, Any]


def events(*pairs: str) -> list[Fields]:
    """From "introduced 0", "fixed 1.2" and so on."""
    return [dict([pair.split(" ", maxsplit=1)]) for pair in pairs]


def spans(*pairs: str, kind: str = "ECOSYSTEM") -> Fields:
    return {"ranges": [{"type": kind, "events": events(*pairs)}]}


def package(name: str, ecosystem: str = PYTHON_ECOSYSTEM, **versions: Any) -> Fields:
    return {"package": {"ecosystem": ecosystem, "name": name}, **versions}


def crate(name: str, **versions: Any) -> Fields:
    return package(name, CRATES_ECOSYSTEM, **versions)


def advisory(*affected: Fields, **fields: Any) -> Fields:
    return {
        "id": "TEST-1",
        "modified": "2026-01-02T03:04:05Z",
        "summary": "Something bad",
        "affected": list(affected),
    } | fields


def harmless() -> list[Fields]:
    """One advisory for each ecosystem, about packages that nobody locks."""
    everything = spans("introduced 0")
    return [
        advisory(package("nobody-locks-this", **everything), id="TEST-P"),
        advisory(crate("nobody-locks-this", **everything), id="TEST-C"),
    ]


def write(folder: Path, *advisories: Fields) -> Path:
    for number, fields in enumerate([*harmless(), *advisories]):
        path = folder / str(number % 2) / f"{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(fields))
    return folder
