"""What the command line does: check, print, and answer with an exit code."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Final

from supply import addresses, crates, sbom
from supply import advisories as known
from supply import licences as terms
from supply import locks as python
from supply.accepted import NoReason
from supply.findings import Report

SHOWN: Final = 20


class Exit(IntEnum):
    """How a command ended; 2 is wrong usage, as everywhere."""

    FINE = 0
    WRONG = 1
    COULD_NOT_RUN = 3


def locks(root: Path) -> Exit:
    """The locks of Python packages and crates, and no address of a registry anywhere."""
    checks = {"Python locks": python, "crate lock": crates, "addresses": addresses}
    return max(_print(name, module.check(root)) for name, module in checks.items())


def licences(root: Path) -> Exit:
    """The licences of everything that is locked."""
    return _print("licences", terms.check(root))


def write_sbom(root: Path, output: Path | None) -> Exit:
    """Write the bill of materials."""
    path = output or root / sbom.FILE
    text = _rendered(root)
    if text is None:
        return Exit.WRONG
    path.write_text(text)
    print(f"sbom: written to {path}")
    return Exit.FINE


def check_sbom(root: Path, path: Path) -> Exit:
    """Compare a file with the bill of materials of this tree, byte for byte."""
    if not path.is_file():
        print(f"sbom: {path} is no file")
        return Exit.COULD_NOT_RUN
    text = _rendered(root)
    if text is None:
        return Exit.WRONG
    if path.read_bytes() == text.encode():
        print(f"sbom: {path} is that of this tree")
        return Exit.FINE
    print(f"sbom: {path} is not that of this tree; `python -m supply sbom` writes it")
    return Exit.WRONG


def _rendered(root: Path) -> str | None:
    try:
        return sbom.render(root)
    except ValueError as error:
        print(f"sbom: cannot be made: {error}")
        return None


def advisories(root: Path, database: Path | None) -> Exit:
    """Match the locked versions with a local database of advisories."""
    if database is None:
        return _could_not_run("no database of advisories was named")
    if not database.is_dir():
        return _could_not_run(f"{database} is no folder")
    try:
        answer = known.ask(root, database)
    except NoReason as error:
        print(f"advisories: {error}")
        return Exit.WRONG
    for hit in answer.hits:
        what = f"{hit.locked.name} {hit.locked.version}: {hit.identifier} {hit.summary}"
        print(f"advisories: {what}" + (f" (accepted: {hit.accepted})" if hit.accepted else ""))
    for gap in answer.gaps[:SHOWN]:
        print(f"advisories: {gap}")
    print(
        f"advisories: {answer.packages} locked versions, {answer.advisories} advisories,"
        f" the newest of {answer.newest or 'never'}"
    )
    if answer.affected:
        print("advisories: AFFECTED; update, or accept with a reason in supply/accepted.toml")
        return Exit.WRONG
    if answer.gaps:
        return _could_not_run(f"{len(answer.gaps)} gaps in the database, see above")
    print("advisories: nothing known")
    return Exit.FINE


def _could_not_run(reason: str) -> Exit:
    print(f"advisories: COULD NOT RUN: {reason}.")
    print("Whether the locked versions have known vulnerabilities was NOT found out.")
    print(known.HOW_TO_GET_ONE)
    return Exit.COULD_NOT_RUN


def everything(root: Path, database: Path | None) -> Exit:
    """All checks; that no database was named is said and does not fail."""
    results = [locks(root), licences(root), check_sbom(root, root / sbom.FILE)]
    about_advisories = advisories(root, database)
    if database is not None:
        results.append(about_advisories)
    wrong = any(results)
    left_out = ", advisories were not looked at" if about_advisories is Exit.COULD_NOT_RUN else ""
    print(f"supply: {'something has to change' if wrong else 'in order'}{left_out}")
    return Exit.WRONG if wrong else Exit.FINE


def _print(name: str, report: Report) -> Exit:
    for finding in report.findings:
        print(f"{name}: {finding}")
    print(f"{name}: {report.looked_at}, {len(report.findings) or 'no'} findings")
    if report.unseen:
        print(f"{name}: NOT ON THIS MACHINE, taken from the record: {', '.join(report.unseen)}")
    return Exit.WRONG if report.findings else Exit.FINE
