"""Is anything known against the locked versions? Asked of a local copy of an advisory database."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supply import crates as crate_lock
from supply.accepted import read_accepted
from supply.locks import lock_files
from supply.matching import CRATES, ECOSYSTEMS, PYTHON, Locked, lock, means
from supply.osv import Advisory, Malformed, parse

HOW_TO_GET_ONE: Final = f"""\
The OSV project (osv.dev, "data dumps") publishes its database as one archive for each ecosystem.
Fetch those of {PYTHON.name} and {CRATES.name}, unpack both below one folder, and name the folder:
    python -m supply advisories --database FOLDER      or      make supply ADVISORIES=FOLDER"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A locked version that an advisory means; the reason if it was accepted."""

    locked: Locked
    identifier: str
    summary: str
    accepted: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the database says, and why the answer is incomplete, if it is."""

    packages: int
    advisories: int
    newest: str
    hits: tuple[Hit, ...]
    gaps: tuple[str, ...]

    @property
    def affected(self) -> bool:
        """Whether something is known that nobody has accepted."""
        return any(hit.accepted is None for hit in self.hits)


def locked_packages(root: Path) -> tuple[Locked, ...]:
    """Every locked version of every package that comes from a registry."""
    python = {
        lock(PYTHON, pin.name, str(pin.version)) for file in lock_files(root) for pin in file.pins
    }
    crates = {lock(CRATES, c.name, c.version) for c in crate_lock.read_crates(root) if c.source}
    return tuple(sorted(python | crates, key=lambda p: (p.ecosystem, p.name, p.version)))


def ask(root: Path, database: Path) -> Answer:
    """Match every advisory below `database` with the locked versions.

    A file that cannot be read is a gap, and so is an ecosystem without a single advisory: an
    empty folder is not an answer.
    """
    packages = locked_packages(root)
    by_name = defaultdict(list)
    for package in packages:
        by_name[package.ecosystem, package.name].append(package)
    accepted = read_accepted(root)
    hits: list[Hit] = []
    gaps: list[str] = []
    seen: Counter[str] = Counter()
    newest, count = "", 0
    for path in sorted(database.rglob("*.json")):
        try:
            advisory = parse(path.read_bytes())
            hits += _hits(advisory, by_name, accepted)
        except (Malformed, OSError) as error:
            gaps.append(f"{path.relative_to(database)}: {error}")
            continue
        count += 1
        newest = max(newest, advisory.modified)
        seen.update({affected.ecosystem for affected in advisory.affected})
    gaps += [f"no advisory for {name} at all" for name in ECOSYSTEMS if not seen[name]]
    return Answer(len(packages), count, newest, tuple(hits), tuple(gaps))


def _hits(
    advisory: Advisory,
    by_name: dict[tuple[str, str], list[Locked]],
    accepted: dict[tuple[str, str], str],
) -> Iterator[Hit]:
    for package in _candidates(advisory, by_name):
        if means(advisory, package):
            names = (advisory.identifier, *advisory.aliases)
            reasons = [accepted[package.name, n] for n in names if (package.name, n) in accepted]
            reason = reasons[0] if reasons else None
            yield Hit(package, advisory.identifier, advisory.summary, reason)


def _candidates(
    advisory: Advisory, by_name: dict[tuple[str, str], list[Locked]]
) -> Iterable[Locked]:
    keys = {
        (affected.ecosystem, ECOSYSTEMS[affected.ecosystem].canonical(affected.package))
        for affected in advisory.affected
        if affected.ecosystem in ECOSYSTEMS
    }
    return [package for key in sorted(keys) for package in by_name.get(key, ())]
