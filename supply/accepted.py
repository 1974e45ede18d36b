"""supply/accepted.toml: advisories that somebody looked into and found harmless here."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

ACCEPTED: Final = "supply/accepted.toml"


class NoReason(ValueError):
    """An advisory was accepted without saying why."""


def read_accepted(root: Path) -> dict[tuple[str, str], str]:
    """The reason for each accepted pair of package and advisory.

    Raises:
        NoReason: an entry has no reason.
    """
    document = tomllib.loads((root / ACCEPTED).read_text())
    accepted = {}
    for package, advisories in document.items():
        for identifier, reason in advisories.items():
            if not isinstance(reason, str) or len(reason.split()) < 3:
                raise NoReason(f"{ACCEPTED}: {package}.{identifier} needs a reason in a sentence")
            accepted[package, identifier] = reason
    return accepted
