"""The page of errors names every error and exit code, and is what the code says."""

from __future__ import annotations

import ast
import errno
import re
from pathlib import Path

from bulletin_board.admission import RefusalReason
from gopa.auditing import report
from gopa.auditing.report import Verdict
from gopa.cli import exits
from gopa.cli.audit_screen import ADVICE
from gopa.support.wording import ABORTS
from tests import errors_page
from tests.architecture.floors import ROOT
from wire.errors import (
    FaultyBoard,
    FaultyParty,
    MalformedMessage,
    SuspectedPartyOrBoard,
    UsageError,
)


def exit_constants(folder: Path) -> dict[str, int]:
    """Names that end in `_EXIT` in the modules of a folder, with the codes they stand for."""
    found = {}
    for file in sorted(folder.glob("*.py")):
        for node in ast.parse(file.read_text()).body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(code)))
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=int(code)))
                ) if name.endswith("_EXIT"):
                    found[name] = code
                case _:
                    pass
    return found


def test_the_page_is_what_the_code_says() -> None:
    shown = (ROOT / "docs" / "errors.md").read_text()
    assert shown == "\n".join(errors_page.page()) + "\n"


def test_every_error_says_what_it_means_and_what_to_do() -> None:
    found = errors_page.errors()
    assert {kind.__name__ for kind in found} == set(exits.ERRORS_TO_DO)
    assert len(found) == len(exits.ERRORS_TO_DO)
    assert all(errors_page.meaning_of(kind).endswith(".") for kind in found)


def test_every_exit_code_is_named() -> None:
    constants = exit_constants(ROOT / "gopa" / "cli")
    assert {"USAGE_EXIT", "FAILED_EXIT", "ABORTED_EXIT", "LATER_EXIT"} < set(constants)
    assert len(set(constants.values())) == len(constants)
    assert constants.pop("INTERNAL_EXIT") == Verdict.INTERNAL_ERROR.code
    assert set(constants.values()) <= {each.code for each in exits.EXIT_CODES}
    assert {report.NO_RESULT_CODE, report.EMBEDDED_CODE} <= {
        each.code for each in exits.EXIT_CODES if each.command == exits.AUDIT
    }


def test_exit_codes_are_constants_of_one_module() -> None:
    """So that the table cannot miss one."""
    folder = ROOT / "gopa" / "cli"
    names = "|".join(exit_constants(folder))
    homes = {
        file.name
        for file in folder.glob("*.py")
        if re.search(rf"^({names})\b.*=", file.read_text(), re.MULTILINE)
    }
    assert homes == {Path(exits.__file__).name}


def test_every_error_has_its_code() -> None:
    """The table has names of classes: one that was renamed would end as wrong usage."""
    known = {kind.__name__: kind for kind in errors_page.errors()} | {"MemoryError": MemoryError}
    assert set(exits.EXIT_OF) <= set(known)
    for name in ("Unconfirmed", "Overtaken", "InUse", "CannotListen", "FaultyBoard"):
        assert exits.exit_code(known[name]) == exits.FAILED_EXIT
    for name in ("NotShown", "SessionAbsent", "VaultInUse", "MemoryError"):
        assert exits.exit_code(known[name]) == exits.LATER_EXIT
    for name in ("DataNotFound", "WrongSecret", "VaultDamaged", "Refusal"):
        assert exits.exit_code(known[name]) == exits.USAGE_EXIT
    assert exits.exit_code(OSError(errno.ENOSPC, "full")) == exits.LATER_EXIT
    assert exits.exit_code(FileNotFoundError(errno.ENOENT, "no such file")) == exits.USAGE_EXIT


def test_every_verdict_abort_refusal_and_advice_is_there() -> None:
    assert set(exits.VERDICTS_TO_DO) == {each.value for each in Verdict}
    assert set(exits.ABORTS_TO_DO) == set(ABORTS)
    assert set(exits.REFUSALS_TO_DO) == {each.code for each in RefusalReason}
    assert ADVICE


class Forked(FaultyBoard):
    """A board with two histories."""


def test_last_words_say_what_to_do_where_somebody_is_to_blame() -> None:
    for error, name in (
        (Forked("two"), "FaultyBoard"),
        (FaultyParty("lied", bytes(32)), "FaultyParty"),
        (SuspectedPartyOrBoard("silent", bytes(32)), "SuspectedPartyOrBoard"),
    ):
        assert exits.last_words(error) == f"{error}. {exits.ERRORS_TO_DO[name]}"
    for other in (UsageError("wrong", "field"), MalformedMessage("short"), OSError("full")):
        assert exits.last_words(other) == str(other)
