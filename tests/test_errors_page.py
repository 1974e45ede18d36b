"""The page of errors names every error and exit code, and is what the code says."""

from __future__ import annotations

import ast
from pathlib import Path

from bulletin_board.admission import RefusalReason
from gopa.auditing.report import Verdict
from gopa.cli.audit_screen import ADVICE
from gopa.wording import ABORTS
from tests import errors_page
from tests.architecture.floors import ROOT


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
    assert {kind.__name__ for kind in found} == set(errors_page.ERRORS_TO_DO)
    assert len(found) == len(errors_page.ERRORS_TO_DO)
    assert all(errors_page.meaning_of(kind).endswith(".") for kind in found)


def test_every_exit_code_is_named() -> None:
    constants = exit_constants(ROOT / "gopa" / "cli")
    assert {"USAGE_EXIT", "FAILED_EXIT", "ABORTED_EXIT"} < set(constants)
    source = Path(errors_page.__file__).read_text()
    named = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    verdicts = {"INTERNAL_EXIT": Verdict.INTERNAL_ERROR}
    assert set(constants) - set(verdicts) <= named
    assert all(constants[name] == verdict.code for name, verdict in verdicts.items())


def test_every_verdict_abort_refusal_and_advice_is_there() -> None:
    assert set(errors_page.VERDICTS_TO_DO) == set(Verdict)
    assert set(errors_page.ABORTS_TO_DO) == set(ABORTS)
    assert set(errors_page.REFUSALS_TO_DO) == set(RefusalReason)
    assert ADVICE
