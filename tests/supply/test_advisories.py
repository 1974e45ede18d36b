from __future__ import annotations

from pathlib import Path

import pytest

from supply.__main__ import main
from supply.accepted import ACCEPTED
from supply.advisories import ask, locked_packages
from supply.commands import Exit
from supply.crates import read_crates
from supply.locks import lock_files
from supply.registries import CRATES_ECOSYSTEM, PYTHON_ECOSYSTEM
from tests.supply.osv_files import Fields, advisory, crate, harmless, package, spans, write
from tests.supply.trees import ROOT, extend

EVERYTHING = spans("introduced 0")


def ended(database: Path, root: Path = ROOT) -> int:
    return main(["advisories", "--database", str(database)], root)


def locked(name: str) -> str:
    return next(p.version for p in locked_packages(ROOT) if p.name == name)


def test_everything_locked_is_asked_about() -> None:
    packages = locked_packages(ROOT)
    names = {(package.ecosystem, package.name) for package in packages}
    assert {(PYTHON_ECOSYSTEM, "cryptography"), (PYTHON_ECOSYSTEM, "uv")} <= names
    assert (CRATES_ECOSYSTEM, "curve25519-dalek") in names
    assert (CRATES_ECOSYSTEM, "gopa-native") not in names
    pins = {(p.name, p.version) for lock in lock_files(ROOT) for p in lock.pins}
    assert len(packages) == len(pins) + len(read_crates(ROOT)) - 1


def test_nothing_known(tmp_path: Path) -> None:
    answer = ask(ROOT, write(tmp_path))
    assert (answer.hits, answer.gaps, answer.advisories) == ((), (), len(harmless()))
    assert answer.newest == "2026-01-02T03:04:05Z"
    assert ended(tmp_path) == Exit.FINE


@pytest.mark.parametrize(
    "affected",
    [
        package("Cryptography", **EVERYTHING),
        package("cryptography", versions=[locked("cryptography")]),
        package("cryptography", **spans("introduced 1", f"last_affected {locked('cryptography')}")),
        crate("curve25519-dalek", **EVERYTHING),
    ],
    ids=["name", "version", "last affected", "crate"],
)
def test_affected(tmp_path: Path, affected: Fields) -> None:
    assert ended(write(tmp_path)) == Exit.FINE
    write(tmp_path, advisory(affected))
    assert [hit.identifier for hit in ask(ROOT, tmp_path).hits] == ["TEST-1"]
    assert ended(tmp_path) == Exit.WRONG


@pytest.mark.parametrize(
    "fields",
    [
        advisory(package("cryptography", **EVERYTHING), withdrawn="2026-01-01T00:00:00Z"),
        advisory(
            package("cryptography", **spans("introduced 0", f"fixed {locked('cryptography')}"))
        ),
        advisory(package("cryptography", "npm", **EVERYTHING)),
        advisory(crate("cryptography", **EVERYTHING)),
        advisory({"ranges": []}),
    ],
    ids=["withdrawn", "fixed", "foreign ecosystem", "a crate of that name", "no package"],
)
def test_not_affected(tmp_path: Path, fields: Fields) -> None:
    assert ended(write(tmp_path, fields)) == Exit.FINE


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": "X"}'])
def test_a_malformed_file_is_no_pass(tmp_path: Path, content: str) -> None:
    assert ended(write(tmp_path)) == Exit.FINE
    extend(tmp_path, "broken.json", content)
    assert ended(tmp_path) == Exit.COULD_NOT_RUN


def test_what_cannot_be_decided_is_no_pass(tmp_path: Path) -> None:
    assert ended(write(tmp_path, advisory(package("unlocked")))) == Exit.FINE
    assert ended(write(tmp_path, advisory(package("cryptography")))) == Exit.COULD_NOT_RUN


def test_affected_outweighs_a_malformed_file(tmp_path: Path) -> None:
    write(tmp_path, advisory(package("cryptography", **EVERYTHING)))
    extend(tmp_path, "broken.json", "{")
    assert ended(tmp_path) == Exit.WRONG


def test_no_database_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advisories"], ROOT) == Exit.COULD_NOT_RUN
    assert "COULD NOT RUN" in capsys.readouterr().out
    assert ended(tmp_path / "absent") == Exit.COULD_NOT_RUN
    assert ended(tmp_path) == Exit.COULD_NOT_RUN


def test_a_database_of_one_ecosystem_is_no_pass(tmp_path: Path) -> None:
    assert ended(write(tmp_path)) == Exit.FINE
    (tmp_path / "1" / "1.json").unlink()
    answer = ask(ROOT, tmp_path)
    assert (answer.advisories, len(answer.gaps)) == (1, 1)
    assert ended(tmp_path) == Exit.COULD_NOT_RUN


@pytest.mark.parametrize("name", ["TEST-1", "ALIAS-1"])
def test_an_advisory_can_be_accepted_with_a_reason(tree: Path, tmp_path: Path, name: str) -> None:
    bad = advisory(package("cryptography", **EVERYTHING), aliases=["ALIAS-1"])
    database = write(tmp_path / "database", bad)
    assert ended(database, tree) == Exit.WRONG
    extend(tree, ACCEPTED, f'[click]\n"{name}" = "That is another package."\n')
    assert ended(database, tree) == Exit.WRONG
    extend(tree, ACCEPTED, f'[cryptography]\n"{name}" = "We never call that function."\n')
    assert ended(database, tree) == Exit.FINE
    assert [hit.accepted for hit in ask(tree, database).hits] == ["We never call that function."]


@pytest.mark.parametrize("reason", ['""', '"harmless"', "true", "[]"])
def test_accepting_needs_a_reason(tree: Path, tmp_path: Path, reason: str) -> None:
    database = write(tmp_path / "database")
    assert ended(database, tree) == Exit.FINE
    extend(tree, ACCEPTED, f'[cryptography]\n"TEST-1" = {reason}\n')
    assert ended(database, tree) == Exit.WRONG
