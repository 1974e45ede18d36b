"""May the locked packages be used by, or be part of, a product under Apache-2.0?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from supply import crates as crate_lock
from supply import stated
from supply.findings import Finding, Report, Rule
from supply.licence_record import RECORD, read_record
from supply.locks import lock_files
from supply.spdx import allowed, canonical
from supply.stated import Reader

Package = tuple[str, str]


def check(
    root: Path, installed: Reader = stated.installed, unpacked: Reader = stated.unpacked
) -> Report:
    """Hold the record against the locks and the allow-lists, and what is here against the record.

    What is not on this machine is judged by the record alone, and named in `unseen`.
    """
    record = read_record(root)
    python = sorted(
        {(pin.name, str(pin.version)) for lock in lock_files(root) for pin in lock.pins}
    )
    crates = sorted({(c.name, c.version) for c in crate_lock.read_crates(root) if c.source})
    findings: list[Finding] = []
    unseen: list[str] = []
    for packages, known, allow_list, reader in (
        (python, record.python, record.allowed_python, installed),
        (crates, record.crates, record.allowed_crates, unpacked),
    ):
        findings += _recorded(packages, known, allow_list)
        findings += _contradicted(packages, known, record.words, reader)
        unseen += [f"{name} {version}" for name, version in packages if not reader(name, version)]
    looked_at = f"{len(python)} Python packages and {len(crates)} crates"
    return Report(looked_at, tuple(dict.fromkeys(findings)), tuple(unseen))


def _recorded(
    packages: Iterable[Package], known: dict[str, str], allow_list: dict[str, str]
) -> Iterator[Finding]:
    names = {name for name, _ in packages}
    for name in sorted(known.keys() - names):
        yield Finding(Rule.STALE, RECORD, name, "remove it: it is not locked")
    for name in sorted(names - known.keys()):
        yield Finding(Rule.UNKNOWN_LICENCE, RECORD, name, "read its licence and record it")
    for name in sorted(names & known.keys()):
        try:
            fine = allowed(known[name], allow_list)
        except ValueError:
            yield Finding(Rule.UNKNOWN_LICENCE, RECORD, name, f"{known[name]!r} is not SPDX")
            continue
        if not fine:
            remedy = f"do without it, or allow {known[name]} with a reason"
            yield Finding(Rule.FORBIDDEN_LICENCE, RECORD, name, remedy)


def _contradicted(
    packages: Iterable[Package], known: dict[str, str], words: dict[str, list[str]], reader: Reader
) -> Iterator[Finding]:
    for name, version in packages:
        says = reader(name, version)
        if says is None or name not in known:
            continue
        if says.expression is None:
            if says.words not in words.get(name, ()):
                remedy = f"read its licence file, then record {says.words!r} below [words]"
                yield Finding(Rule.UNKNOWN_LICENCE, f"{name} {version}", name, remedy)
        elif says.expression != canonical(known[name]):
            remedy = f"it says {says.expression}, the record {known[name]}"
            yield Finding(Rule.OTHER_LICENCE, f"{name} {version}", name, remedy)
