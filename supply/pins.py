"""The lock files of Python packages, as pip reads them in its mode of required hashes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.markers import InvalidMarker, Marker
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from supply.findings import Finding, Rule

PIN: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[A-Za-z0-9._,-]+\])?"
    r"==(?P<version>[^\s;*]+)"
    r"(?:\s*;\s*(?P<marker>.*?))?"
    r"(?P<hashes>(?:\s+--hash=\S+)*)"
)
SHA256: Final = re.compile(r"sha256:([0-9a-f]{64})")
COMPILE: Final = "run `make lock`, which pins with hashes"


@dataclass(frozen=True, slots=True)
class Pin:
    """One locked version: where it applies, which files it may be, and who asked for it."""

    name: str
    version: Version
    marker: Marker | None
    hashes: tuple[str, ...]
    wanted_by: tuple[str, ...]

    def applies(self, environment: dict[str, str]) -> bool:
        """Whether the version is installed in this environment."""
        return self.marker is None or self.marker.evaluate(environment)


@dataclass(frozen=True, slots=True)
class LockFile:
    """The pins of one file, and what in it is no pin with hashes."""

    name: str
    pins: tuple[Pin, ...]
    findings: tuple[Finding, ...]

    def pin_in(self, name: str, environment: dict[str, str]) -> Pin | None:
        """The version of `name` that this environment gets."""
        for pin in self.pins:
            if pin.name == canonicalize_name(name) and pin.applies(environment):
                return pin
        return None


def read_lock(path: Path) -> LockFile:
    """Read a lock file; whatever is not a pin with hashes becomes a finding."""
    pins: list[Pin] = []
    findings: list[Finding] = []
    for line, wanted_by in _entries(path.read_text()):
        pin = _pin(line, wanted_by)
        if isinstance(pin, Finding):
            findings.append(Finding(pin.rule, path.name, pin.subject, pin.remedy))
        else:
            pins.append(pin)
    return LockFile(path.name, tuple(pins), tuple(findings))


def _entries(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Logical lines, each with the requirers that the comment below it names."""
    entries: list[tuple[str, list[str]]] = []
    continued = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("#") and not continued:
            if entries:
                entries[-1][1].extend(line.lstrip("# ").removeprefix("via").split(maxsplit=1)[:1])
            continue
        if not line:
            continued = False
            continue
        content = line.removesuffix("\\").strip()
        if continued:
            entries[-1] = (f"{entries[-1][0]} {content}", entries[-1][1])
        else:
            entries.append((content, []))
        continued = line.endswith("\\")
    return [(line, tuple(wanted_by)) for line, wanted_by in entries]


def _pin(line: str, wanted_by: tuple[str, ...]) -> Pin | Finding:
    subject = line.partition(" ")[0]
    match = PIN.fullmatch(line)
    if match is None:
        return Finding(Rule.NOT_PINNED, "", subject, COMPILE)
    try:
        version = Version(match["version"])
        marker = Marker(match["marker"]) if match["marker"] else None
    except (InvalidVersion, InvalidMarker):
        return Finding(Rule.UNEXPECTED, "", subject, COMPILE)
    hashes = match["hashes"].replace("--hash=", " ").split()
    if not hashes:
        return Finding(Rule.NO_HASH, "", subject, COMPILE)
    digests = [found[1] for found in map(SHA256.fullmatch, hashes) if found]
    if len(digests) != len(hashes):
        return Finding(Rule.BAD_HASH, "", subject, COMPILE)
    name = canonicalize_name(match["name"])
    return Pin(name, version, marker, tuple(sorted(digests)), wanted_by)
