from __future__ import annotations

from pathlib import Path

import pytest

from supply import sbom
from supply.__main__ import main
from supply.commands import Exit
from supply.licence_record import RECORD
from tests.supply.osv_files import advisory, package, spans, write
from tests.supply.trees import ROOT, edit


@pytest.mark.parametrize("command", ["locks", "licences", "all"])
def test_this_tree_is_in_order(command: str) -> None:
    assert main([command], ROOT) == Exit.FINE


def test_a_missing_database_is_said_and_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["all"], ROOT) == Exit.FINE
    assert "COULD NOT RUN" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "name", "old", "new"),
    [
        ("locks", "requirements/dev.txt", "click==", "click>="),
        ("locks", "native/Cargo.lock", "checksum = ", "unchecked = "),
        ("locks", "requirements/dev.in", "ruff\n", "ruff\n--find-links x\n"),
        ("licences", RECORD, 'click = "BSD-3-Clause"', 'click = "GPL-3.0-only"'),
        ("sbom", sbom.FILE, "gopa", "gapo"),
    ],
)
def test_one_fault_fails_its_command_and_the_whole(
    tree: Path, command: str, name: str, old: str, new: str
) -> None:
    arguments = [command, "--check", str(tree / sbom.FILE)] if command == "sbom" else [command]
    assert main(arguments, tree) == Exit.FINE
    assert main(["all"], tree) == Exit.FINE
    edit(tree, name, old, new)
    assert main(arguments, tree) == Exit.WRONG
    assert main(["all"], tree) == Exit.WRONG


def test_a_named_database_decides(tree: Path, tmp_path: Path) -> None:
    database = tmp_path / "database"
    arguments = ["all", "--database", str(database)]
    assert main(arguments, tree) == Exit.WRONG  # named and not there
    write(database)
    assert main(arguments, tree) == Exit.FINE
    write(database, advisory(package("cryptography", **spans("introduced 0"))))
    assert main(arguments, tree) == Exit.WRONG


@pytest.mark.parametrize("arguments", [[], ["other"], ["locks", "--fast"], ["sbom", "--check"]])
def test_wrong_usage_has_its_own_exit_code(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments, ROOT)
    assert ended.value.code == 2
