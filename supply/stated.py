"""What packages on this machine state about their licence."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.licenses import InvalidLicenseExpression
from packaging.version import InvalidVersion, Version

from supply.spdx import canonical

CLASSIFIER: Final = "License :: "


@dataclass(frozen=True, slots=True)
class Stated:
    """An SPDX expression, or, where there is none, the words of the metadata."""

    expression: str | None
    words: str


# The name and version of a package, to what it states, or None where it is not on this machine.
Reader = Callable[[str, str], Stated | None]


def installed(name: str, version: str) -> Stated | None:
    """What the installed package states; None if just this version is not installed."""
    try:
        package = metadata.distribution(name)
        if Version(package.version) != Version(version):
            return None
    except (metadata.PackageNotFoundError, InvalidVersion):
        return None
    return read_metadata(package.metadata)  # type: ignore[arg-type] # a Message in fact


def read_metadata(fields: Message) -> Stated:
    """The expression of PEP 639, else the older fields: an expression if they hold one."""
    words = (fields.get("License") or "").strip().splitlines()[:1]
    words += [
        classifier.removeprefix(CLASSIFIER).rpartition(" :: ")[2]
        for classifier in fields.get_all("Classifier", [])
        if classifier.startswith(CLASSIFIER)
    ]
    said = "; ".join(word.strip() for word in words)
    return Stated(
        _expression([fields.get("License-Expression") or "", fields.get("License") or ""]), said
    )


def unpacked(name: str, version: str) -> Stated | None:
    """What the manifest states of a crate that Cargo unpacked here for a build."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for manifest in sorted(home.glob(f"registry/src/*/{name}-{version}/Cargo.toml")):
        licence = tomllib.loads(manifest.read_text())["package"].get("license", "")
        return Stated(_expression([licence]), licence)
    return None


def _expression(candidates: Iterable[str]) -> str | None:
    for candidate in candidates:
        try:
            return canonical(candidate)
        except InvalidLicenseExpression:
            continue
    return None
