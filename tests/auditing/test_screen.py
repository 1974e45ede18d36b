"""What `gopa audit` prints: five lines, in between what is wanting, and all the rest on demand."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gopa.auditing.checks import CHECKS
from gopa.auditing.report import EMBEDDED_CODE, Status, Verdict
from gopa.cli.audit_screen import details_screen, screen
from gopa.cli.folding import fold
from tests.auditing.conftest import Gopa
from tests.auditing.html_samples import UNKNOWN, fault, report, with_status
from tests.auditing.transcripts import anchors_of, path_of

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
