"""supply/licences.toml: what is allowed and why, and the licence of every locked package.

A record, because what is installed differs from machine to machine and the SBOM must not.
Installed packages are held against it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RECORD: Final = "supply/licences.toml"


@dataclass(frozen=True, slots=True)
class Record:
    """Allowed licences with reasons; the licence of each package; words that were looked into.

    `words` holds, for packages whose metadata carries no SPDX expression, what it says instead.
    Somebody read the licence file when that was recorded; other words mean to read it again.
    """

    allowed_python: dict[str, str]
    allowed_crates: dict[str, str]
    python: dict[str, str]
    crates: dict[str, str]
    words: dict[str, list[str]]


def read_record(root: Path) -> Record:
    """Read supply/licences.toml."""
    document = tomllib.loads((root / RECORD).read_text())
    return Record(
        document["allowed"]["python"],
        document["allowed"]["crates"],
        document["python"],
        document["crates"],
        document["words"],
    )
