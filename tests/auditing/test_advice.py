"""What to do about a check that is wanting is said; nobody is told to wait for one that failed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import gopa.auditing
from gopa.auditing.report import Status
from gopa.auditing.session_checks import SESSION_CHECKS
from gopa.cli.audit_screen import details_screen
from tests.auditing.html_samples import report, with_status

WANTING: Final = (Status.MISSING, Status.ERROR, Status.NOT_IMPLEMENTED)
AUDITOR: Final = Path(gopa.auditing.__file__).parent


def said(source: str) -> Iterator[tuple[str, Status]]:
    """Each check that a module calls wanting, with the word for it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="say"),
                args=[ast.Constant(value=str(number)), ast.Attribute(attr=status), *_],
            ) if Status[status] in WANTING:
                yield number, Status[status]


FOUND: Final = sorted(
    {each for file in AUDITOR.glob("*.py") for each in said(file.read_text())},
    key=lambda each: (each[0], each[1].value),
)


def advice(number: str, status: Status) -> list[str]:
    """What the screen says to do about a check that ended so."""
    lines = details_screen(with_status(report(), number, status)).splitlines()
    return [line for line in lines if line.startswith("      -> ")]


def test_the_calls_are_found() -> None:
    assert list(said('tally.say("1.2", Status.MISSING, "x")')) == [("1.2", Status.MISSING)]
    assert list(said('tally.say("1.2", Status.PASS, "x")')) == []
    assert {number for number, _ in FOUND} >= {"0.1", "1.2", "2.3", "4.4", "5.2", "7.3"}


@pytest.mark.parametrize(("number", "status"), FOUND)
def test_what_is_wanting_comes_with_advice(number: str, status: Status) -> None:
    assert advice(number, Status.PASS) == []
    assert len(advice(number, status)) == 1


@pytest.mark.parametrize("number", SESSION_CHECKS)
def test_nothing_that_is_wanting_excuses_what_failed(number: str) -> None:
    """Whoever is told to wait, or to install something, would rely on a sum that is wrong."""
    (failed,) = advice(number, Status.FAIL)
    assert failed not in advice(number, Status.MISSING)
