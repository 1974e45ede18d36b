from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from gopa.auditing import Verdict, audit, session_checks
from gopa.auditing.checks import CHECKS
from gopa.auditing.report import Status
from tests.auditing.logs import clean, ends
from tests.auditing.negatives import NEGATIVES, Given, Negative
from wire.errors import UsageError

ACCEPTED: Final = {Verdict.VALID, Verdict.SIGNED_ONLY}
IDS: Final = [f"{each.check}-{each.name}".strip("-") for each in NEGATIVES]


def audited(given: Given, path: Path) -> tuple[Verdict, dict[str, Status]]:
    archive, options = given
    path.write_bytes(archive)
    report = audit(path, **options)
    assert report.code == report.verdict.code or report.verdict in ACCEPTED
    return report.verdict, ends(report)


def test_every_check_has_a_negative() -> None:
    assert {each.check for each in NEGATIVES} | {"7.3"} == {check.number for check in CHECKS}


@pytest.mark.parametrize("case", NEGATIVES, ids=IDS)
def test_the_twin_is_accepted_and_the_log_is_not(case: Negative, tmp_path: Path) -> None:
    verdict, _ = audited(case.twin(), tmp_path / "twin.gopa")
    assert verdict in ACCEPTED
    verdict, found = audited(case.given(), tmp_path / "log.gopa")
    assert verdict is (Verdict.INVALID if case.status is Status.FAIL else Verdict.INCOMPLETE)
    for number in case.fails or (case.check,):
        assert found[number] is case.status


@pytest.mark.parametrize("case", NEGATIVES, ids=IDS)
def test_without_its_check_it_is_accepted(
    case: Negative, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = case.given()
    assert audited(given, tmp_path / "log.gopa")[0] not in ACCEPTED
    case.disable(monkeypatch)
    verdict, _ = audited(given, tmp_path / "log.gopa")
    if case.stops:  # the honest parties went home: there is no end of the session to accept
        assert verdict is Verdict.INCOMPLETE
    else:
        assert verdict in ACCEPTED


def test_what_cannot_be_computed_is_an_error_of_the_auditor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = clean().archive(), {"anchors": clean().anchors}
    assert audited(given, tmp_path / "log.gopa")[0] is Verdict.VALID

    def fails(*_: object) -> None:
        raise UsageError("out of reach")

    monkeypatch.setattr(session_checks, "privacy_report", fails)
    verdict, found = audited(given, tmp_path / "log.gopa")
    assert verdict is Verdict.INCOMPLETE
    assert found["7.3"] is Status.ERROR
