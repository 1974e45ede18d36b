"""What `gopa audit` says to a person who has to act on it, and before a long audit begins."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

import gopa
import gopa.auditing
from bulletin_board import Submission
from gopa.auditing import Verdict, audit
from gopa.auditing.checks import CHECKS
from gopa.auditing.evidence import LARGEST_EVIDENCE, MAGIC, TwoEntries
from gopa.auditing.judging import judge
from gopa.auditing.report import EMBEDDED_CODE, NO_RESULT_CODE, Status
from gopa.auditing.session_checks import SESSION_CHECKS
from gopa.cli.audit_evidence import replace as written
from gopa.cli.audit_evidence import require_places
from gopa.cli.audit_screen import details_screen, judged_screen, screen
from gopa.cli.options import fold
from tests.auditing.conftest import Gopa
from tests.auditing.html_samples import UNKNOWN, fault, report, round_report, with_status
from tests.auditing.logs import archived, clean
from tests.auditing.test_cli import FULL, keys
from tests.auditing.test_evidence import evidence
from tests.auditing.test_following import shown
from tests.auditing.transcripts import anchors_of, path_of
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


def test_a_board_that_grows_is_followed_until_it_ends(
    gopa: Gopa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same news is told once; a note that cannot be read is waited for."""
    root, anchors, entries = tmp_path / "board", tmp_path / "anchors.txt", clean().entries
    root.mkdir()
    anchors.write_bytes(clean().anchors.to_bytes())
    naps = 0

    def nap(_: float) -> None:
        nonlocal naps
        naps += 1
        if naps == 1:
            (root / "checkpoint").write_bytes(b"nonsense")
        elif naps == 3:
            shown(root, entries)
        assert naps < 4

    monkeypatch.setattr("gopa.cli.audit.time", SimpleNamespace(sleep=nap))
    shown(root, entries[:9])
    answer = gopa(root, "--follow", "--anchors", anchors)
    assert (answer.code, naps) == (0, 3)
    told = [line for line in answer.err.splitlines() if "entries" in line]
    assert len(told) == len(set(told)) == 3
    assert "INCOMPLETE" in told[0]
    assert "waiting" in told[1]
    assert "VALID" in told[2]


def test_no_evidence_is_made_where_nobody_is_convicted(gopa: Gopa, tmp_path: Path) -> None:
    guilty, innocent = tmp_path / "guilty", tmp_path / "innocent"
    answer = gopa(path_of("organiser_wrong_roll"), "--trust-embedded", "--evidence-dir", guilty)
    assert len(list(guilty.iterdir())) == 1
    assert "evidence: nothing" not in answer.err
    answer = gopa(path_of("clean_full"), "--trust-embedded", "--evidence-dir", innocent)
    assert (answer.code, list(innocent.iterdir())) == (EMBEDDED_CODE, [])
    assert "evidence: nothing" in answer.err
    (tmp_path / "board").mkdir()
    shown(tmp_path / "board", clean().entries)
    (tmp_path / "board" / "checkpoint").write_bytes(b"nonsense")
    answer = gopa(tmp_path / "board", "--trust-embedded", "--evidence-dir", tmp_path / "none")
    assert answer.code == 1
    assert list(tmp_path.glob("none/*")) == []


def test_faults_without_a_file_are_named_up_to_a_number(
    gopa: Gopa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [path_of("organiser_wrong_roll"), "--trust-embedded", "--evidence-dir"]
    monkeypatch.setattr("gopa.auditing.judging.LARGEST_EVIDENCE", 100)
    named = gopa(*given, tmp_path / "one").err
    assert "[04-J6" in named
    monkeypatch.setattr("gopa.cli.audit_evidence._MOST_NAMED", 0)
    counted = gopa(*given, tmp_path / "none").err
    assert "[04-J6" not in counted
    assert "1 more fault" in counted


def test_evidence_that_is_cut_or_away_proves_nothing_and_says_why(
    gopa: Gopa, tmp_path: Path
) -> None:
    path = tmp_path / "one.evidence"
    path.write_bytes(evidence("organiser_wrong_roll").to_bytes())
    assert gopa("--evidence", path).code == 0
    path.write_bytes(path.read_bytes()[:-1])
    assert gopa("--evidence", path).code == 2
    path.unlink()
    answer = gopa("--evidence", path)
    assert (answer.code, answer.out) == (2, "")


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    written(path, b"old")
    written(path, b"older no more")
    assert path.read_bytes() == b"older no more"

    def fails(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(UsageError):
        written(path, b"new")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"older no more"


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
def test_a_page_for_a_full_device_is_wrong_usage(gopa: Gopa, tmp_path: Path) -> None:
    given = [path_of("clean_full"), "--anchors", keys(tmp_path, "clean_full"), "--html"]
    assert gopa(*given, tmp_path / "page.html").code == 0
    assert gopa(*given, FULL).code == 2


def test_long_lists_are_cut_and_counted() -> None:
    few = details_screen(report(30, gone=20, faults=20))
    many = details_screen(report(60, gone=25, faults=23))
    assert "more (see --json)" not in few
    rest = [line.strip() for line in many.splitlines() if "more (see --json)" in line]
    assert rest == ["and 5 more (see --json)", "and 3 more (see --json)"]
    assert many.count("  excluded   ") == few.count("  excluded   ") == 20


def test_a_mean_without_a_sum_and_a_check_without_advice_are_shown() -> None:
    whole = report()
    weighted = replace(whole, rounds=(replace(round_report(), total=()),))
    assert "             sum " in details_screen(whole)
    assert "             sum " not in details_screen(weighted)
    assert "  computed   mean " in details_screen(weighted)
    for status, advised in ((Status.FAIL, True), (Status.ERROR, False)):
        lines = details_screen(with_status(whole, "7.2", status)).splitlines()
        (at,) = [i for i, line in enumerate(lines) if line.startswith(f"  {status.value.upper()} ")]
        assert "this is why" in lines[at + 1]
        assert lines[at + 2].startswith("      -> ") == advised


LABELS = ["Result", "Who", "Privacy", "Not"]


def labels(text: str) -> list[str]:
    """The first word of every line but the first, which is the verdict."""
    return [line.split(maxsplit=1)[0] for line in text.splitlines()[1:]]


def anchors(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "anchors.txt"
    path.write_bytes(anchors_of(name).to_bytes())
    return path


@pytest.mark.parametrize(
    "name", ["clean_full", "clean_signed", "dropout_weighted", "abort_by_the_organiser"]
)
def test_what_passed_is_told_in_five_lines(gopa: Gopa, tmp_path: Path, name: str) -> None:
    given = [path_of(name), "--anchors", anchors(tmp_path, name)]
    short = gopa(*given)
    assert short.code in {0, 6, 7}
    assert labels(short.out) == LABELS
    assert len(gopa(*given, "--details").out.splitlines()) > 15


def test_a_fault_comes_with_the_check_and_whoever_is_to_blame(gopa: Gopa, tmp_path: Path) -> None:
    name = "organiser_wrong_sum"
    answer = gopa(path_of(name), "--anchors", anchors(tmp_path, name))
    assert answer.code == 1
    assert answer.out.startswith("INVALID (exit code 1)")
    assert labels(answer.out) == ["Why", "->", "Fault", *LABELS]
    assert "organiser" in answer.out.splitlines()[3]


@pytest.mark.parametrize("content", [b"", b"hello\n", bytes(5_000)])
def test_a_file_that_is_no_transcript_is_told_in_one_line(
    gopa: Gopa, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(content)
    answer = gopa(path, "--trust-embedded")
    assert answer.code == 1
    (line,) = answer.out.splitlines()
    assert "not a .gopa file" in line


def test_a_board_out_of_reach_is_told_in_one_line(gopa: Gopa) -> None:
    answer = gopa("http://127.0.0.1:9/", "--trust-embedded")
    assert answer.code == 3
    (line,) = answer.out.splitlines()
    assert "127.0.0.1:9" in line


def test_json_has_all_details_already(gopa: Gopa) -> None:
    given = [path_of("clean_full"), "--trust-embedded", "--json"]
    assert gopa(*given).code == EMBEDDED_CODE
    assert gopa(*given, "--details").code == 2


def test_a_log_that_vouches_for_itself_is_doubted_in_the_first_line() -> None:
    loose = replace(report(), anchors=UNKNOWN)
    assert "keys not anchored" in screen(loose).splitlines()[0]
    assert "keys not anchored" not in screen(report()).splitlines()[0]


@pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.INCOMPLETE])
def test_numbers_that_are_not_established_are_doubted(verdict: Verdict) -> None:
    sure, doubted = screen(report()), screen(replace(report(), verdict=verdict))
    for label in ("Result", "Privacy"):
        before, after = (
            next(line for line in text.splitlines() if line.startswith(label))
            for text in (sure, doubted)
        )
        assert after.startswith(before)
        assert len(after) > len(before)


def test_long_lists_are_cut_in_the_short_form() -> None:
    many = report(60, gone=25, faults=23)
    assert len(screen(many).splitlines()) == 5
    assert "and 22 more (see --details)" in screen(many)
    assert details_screen(many).count("  excluded   ") == 20
    blamed = replace(many, faults=tuple(fault(i, handled=False) for i in range(9)))
    assert labels(screen(blamed)).count("Fault") == 3


def test_wanting_checks_are_cut_and_those_that_failed_come_first() -> None:
    wanting = report()
    for number in ("1.2", "2.3", "4.4", "5.2"):
        wanting = with_status(wanting, number, Status.MISSING)
    wanting = with_status(wanting, "7.2", Status.FAIL)
    lines = screen(wanting).splitlines()
    assert next(line.split()[2] for line in lines if line.startswith("Why")) == "7.2"
    assert sum(line.startswith("Why") for line in lines) == 4
    assert "and 1 more check" in screen(wanting)


def test_the_error_of_a_sum_decides_its_digits() -> None:
    (line,) = [each for each in details_screen(report()).splitlines() if " sum " in each]
    assert line.split() == ["sum", "86", "+-", "6.1"]


def test_checks_read_as_questions_with_their_answers() -> None:
    for status, answer in ((Status.FAIL, "No"), (Status.MISSING, "Not known")):
        found = with_status(report(), "1.1", status)
        (line,) = (each for each in screen(found).splitlines() if each.startswith("Why"))
        assert f"? {answer}: this is why" in line
    assert all(check.question.endswith("?") for check in CHECKS)


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_long_lines_are_folded_between_words(columns: int) -> None:
    wanting = with_status(report(), "1.1", Status.FAIL)
    for text in (screen(wanting), details_screen(wanting)):
        assert max(map(len, text.splitlines())) > 40
        folded = fold(text, columns)
        assert folded.split() == text.split()
        assert all(len(line) <= columns or " " not in line.strip() for line in folded.splitlines())
    (why,) = (at for at, line in enumerate(fold(screen(wanting), 40).splitlines()) if "Why" in line)
    assert fold(screen(wanting), 40).splitlines()[why + 1].startswith(" " * 10)


@pytest.mark.parametrize("terminal", [False, True])
def test_lines_are_as_wide_as_the_terminal_and_whole_in_a_pipe(
    gopa: Gopa, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    lines = gopa(path_of("clean_full")).out.splitlines()
    assert (max(map(len, lines)) <= 40) == terminal


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
