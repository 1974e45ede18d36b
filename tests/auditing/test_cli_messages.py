"""What `gopa audit` says to a person who has to act on it, and before a long audit begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bulletin_board import Submission
from gopa.auditing import Verdict, audit
from gopa.auditing.evidence import LARGEST_EVIDENCE, MAGIC, TwoEntries
from gopa.auditing.judging import judge
from gopa.auditing.report import EMBEDDED_CODE, NO_RESULT_CODE
from gopa.cli.audit_evidence import require_places
from gopa.cli.audit_screen import judged_screen, screen
from tests.auditing.conftest import Gopa
from tests.auditing.logs import archived, clean
from tests.auditing.test_cli import keys
from tests.auditing.test_evidence import evidence
from tests.auditing.transcripts import path_of
from wire.errors import UsageError


@pytest.mark.parametrize("name", ["equivocation_commit", "organiser_two_closes_in_one_slot"])
def test_two_entries_name_author_and_session_but_no_part(name: str) -> None:
    found = evidence(name)
    assert isinstance(found.shown, TwoEntries)
    judgement = judge(found.to_bytes())
    assert judgement.convicts
    assert judgement.culprit is None
    assert judgement.session == Submission.decode(found.shown.first).entry.session
    said = judged_screen(judgement, None)
    assert judgement.session.hex() in said
    assert judgement.author.hex() in said
    assert "CONVICTS organiser" not in said
    assert "CONVICTS party" not in said


def test_two_entries_convict_of_the_round_that_is_stated() -> None:
    found = evidence("equivocation_commit")
    assert judge(found.to_bytes()).convicts
    other = replace(found.statement, round=found.statement.round + 1)
    assert not judge(replace(found, statement=other).to_bytes()).convicts


def test_evidence_has_a_largest_size(gopa: Gopa, tmp_path: Path) -> None:
    good, path = evidence("organiser_wrong_roll").to_bytes(), tmp_path / "one.evidence"
    path.write_bytes(good)
    assert gopa("--evidence", path).code == 0
    with path.open("wb") as file:
        file.write(MAGIC)
        file.truncate(LARGEST_EVIDENCE + 1)
    assert gopa("--evidence", path).code == 2


def test_a_fault_without_a_file_is_named(
    gopa: Gopa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [path_of("organiser_wrong_roll"), "--trust-embedded"]
    answer = gopa(*given, "--evidence-dir", tmp_path / "whole")
    assert (answer.code, len(list((tmp_path / "whole").iterdir()))) == (1, 1)
    assert "[04-J6" not in answer.err
    monkeypatch.setattr("gopa.auditing.judging.LARGEST_EVIDENCE", 100)
    answer = gopa(*given, "--evidence-dir", tmp_path / "none")
    assert (answer.code, list((tmp_path / "none").iterdir())) == (1, [])
    assert "[04-J6" in answer.err


def test_a_page_that_cannot_be_written_is_refused_before_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_places([tmp_path / "page.html", Path("/dev/null")])
    with pytest.raises(UsageError):
        require_places([tmp_path / "nowhere" / "page.html"])
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UsageError):
        require_places([tmp_path / "page.html"])


def test_nothing_is_printed_before_a_trace_that_cannot_be_made(gopa: Gopa, tmp_path: Path) -> None:
    given = [path_of("clean_full"), "--anchors", keys(tmp_path, "clean_full")]
    assert gopa(*given).code == 0
    answer = gopa(*given, "--trace", "ffff")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("gopa: --trace: ")


def test_messages_name_options(gopa: Gopa) -> None:
    good = path_of("clean_full")
    for option in ("--anchors", "--since", "--receipt"):
        answer = gopa(good, "--trust-embedded", option, good)
        assert answer.code == 2
        assert answer.err.startswith(f"gopa: {option}: ")


def test_a_log_in_which_the_session_has_not_begun_is_incomplete(tmp_path: Path) -> None:
    """A board holds other sessions, and the announced one may begin later."""
    log, path = clean(), tmp_path / "log.gopa"
    path.write_bytes(archived(log.entries, log.note, bytes(32)))
    assert audit(path, anchors=log.anchors).verdict is Verdict.VALID
    later = replace(log.anchors, manifest=bytes(32))
    assert audit(path, anchors=later).verdict is Verdict.INCOMPLETE
    path.write_bytes(log.archive())
    assert audit(path, anchors=later).verdict is Verdict.INVALID


def test_numbers_that_are_not_established_are_not_shown_without_the_doubt(tmp_path: Path) -> None:
    log, path = clean(), tmp_path / "log.gopa"
    path.write_bytes(log.archive())
    heads = set()
    for anchors in (log.anchors, None, replace(log.anchors, manifest=bytes(32))):
        report = audit(path, anchors=anchors)
        assert report.rounds[0].sums
        heads.add(next(line for line in screen(report).split("\n") if line.startswith("Result")))
    assert len(heads) == 3


def test_a_session_without_a_result_does_not_speak_of_results() -> None:
    results = "Every result is the sum"
    good = audit(path_of("clean_full"), trust_embedded=True)
    none = audit(path_of("abort_by_the_organiser"), trust_embedded=True)
    assert (good.code, none.code) == (EMBEDDED_CODE, NO_RESULT_CODE)
    assert results in good.summary
    assert results not in none.summary
