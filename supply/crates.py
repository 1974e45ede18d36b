"""Are the crates of the native core locked: checksums for all, one registry, nothing patched?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supply import semver
from supply.findings import Finding, Report, Rule
from supply.registries import CRATES_SOURCE

MANIFEST: Final = "native/Cargo.toml"
LOCK: Final = "native/Cargo.lock"
UPDATE: Final = "run `cargo update --workspace` in native/"
SHA256: Final = re.compile(r"[0-9a-f]{64}")
TABLES: Final = ("dependencies", "build-dependencies", "dev-dependencies")
REDIRECTS: Final = ("git", "path", "registry", "registry-index", "workspace")


@dataclass(frozen=True, slots=True)
class Crate:
    """One locked crate; our own has neither source nor checksum."""

    name: str
    version: str
    source: str | None
    checksum: str | None
    dependencies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Our own crate: its name and version, what it asks for, and what would redirect that."""

    name: str
    version: str
    licence: str
    requirements: tuple[tuple[str, str], ...]
    redirected: tuple[str, ...]


def read_crates(root: Path) -> tuple[Crate, ...]:
    """The locked crates, in the order of the lock."""
    packages = tomllib.loads((root / LOCK).read_text())["package"]
    return tuple(
        Crate(
            package["name"],
            package["version"],
            package.get("source"),
            package.get("checksum"),
            tuple(package.get("dependencies", ())),
        )
        for package in packages
    )


def read_manifest(root: Path) -> Manifest:
    """What native/Cargo.toml asks for, on all targets and with all features."""
    document = tomllib.loads((root / MANIFEST).read_text())
    tables = [document, *document.get("target", {}).values()]
    stated = [item for table in tables for kind in TABLES for item in table.get(kind, {}).items()]
    requirements: list[tuple[str, str]] = []
    redirected: list[str] = [key for key in ("patch", "replace") if key in document]
    for name, wish in stated:
        fields = {"version": wish} if isinstance(wish, str) else wish
        requirements.append((fields.get("package", name), fields.get("version", "")))
        redirected += [f"{name}.{key}" for key in REDIRECTS if key in fields]
    package = document["package"]
    return Manifest(
        package["name"],
        package["version"],
        package["license"],
        tuple(requirements),
        tuple(redirected),
    )


def resolve(crate: Crate, crates: Iterable[Crate]) -> tuple[Crate, ...]:
    """The crates that `crate` depends on; the lock adds a version only where a name has two.

    Raises:
        ValueError: a dependency is not in the lock, or could be two.
    """
    found = []
    for stated in crate.dependencies:
        name, version = (*stated.split(" "), "")[:2]
        matching = [c for c in crates if c.name == name and version in {"", c.version}]
        if len(matching) != 1:
            raise ValueError(f"{crate.name} depends on {stated}, which the lock does not settle")
        found.append(matching[0])
    return tuple(found)


def check(root: Path) -> Report:
    """Check the lock of the crates by itself and against the manifest."""
    crates, manifest = read_crates(root), read_manifest(root)
    findings = [
        *_sources(crates, manifest),
        *_dependencies(crates),
        *_manifest(crates, manifest),
    ]
    return Report(f"{len(crates)} locked crates", tuple(findings))


def _sources(crates: Iterable[Crate], manifest: Manifest) -> Iterator[Finding]:
    for crate in crates:
        own = (crate.name, crate.version) == (manifest.name, manifest.version)
        if crate.source != (None if own else CRATES_SOURCE):
            remedy = "depend on a release in the public registry"
            yield Finding(Rule.FOREIGN_SOURCE, LOCK, crate.name, remedy)
        elif not own and not SHA256.fullmatch(crate.checksum or ""):
            yield Finding(Rule.NO_CHECKSUM, LOCK, crate.name, UPDATE)


def _dependencies(crates: tuple[Crate, ...]) -> Iterator[Finding]:
    for crate in crates:
        try:
            resolve(crate, crates)
        except ValueError as error:
            yield Finding(Rule.NOT_LOCKED, LOCK, str(error), UPDATE)


def _manifest(crates: Iterable[Crate], manifest: Manifest) -> Iterator[Finding]:
    own = [crate for crate in crates if crate.name == manifest.name and crate.source is None]
    if [crate.version for crate in own] != [manifest.version]:
        yield Finding(Rule.NOT_LOCKED, LOCK, f"{manifest.name} {manifest.version}", UPDATE)
        return
    for stated in manifest.redirected:
        yield Finding(Rule.FOREIGN_SOURCE, MANIFEST, stated, "state a name and a version only")
    try:
        direct = {crate.name: crate.version for crate in resolve(own[0], crates)}
    except ValueError:
        return  # _dependencies has said it
    for name in sorted(direct.keys() - {name for name, _ in manifest.requirements}):
        yield Finding(Rule.STALE, LOCK, name, UPDATE)
    for name, wish in manifest.requirements:
        yield from _held(name, wish, direct)


def _held(name: str, wish: str, direct: dict[str, str]) -> Iterator[Finding]:
    try:
        allows = semver.requirement(wish)
    except ValueError as error:
        yield Finding(Rule.UNEXPECTED, MANIFEST, name, str(error))
        return
    if name not in direct:
        yield Finding(Rule.NOT_LOCKED, MANIFEST, name, UPDATE)
    elif not allows(semver.parse(direct[name])):
        yield Finding(Rule.OUT_OF_BOUNDS, MANIFEST, f"{name} {wish}", UPDATE)
