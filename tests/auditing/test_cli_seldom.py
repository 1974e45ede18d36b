"""`gopa audit` where there is little or much to say, and where nothing can be written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gopa.auditing.report import EMBEDDED_CODE, Status
from gopa.cli.audit_evidence import replace as written
from gopa.cli.audit_screen import details_screen
from tests.auditing.conftest import Gopa
from tests.auditing.html_samples import report, round_report, with_status
from tests.auditing.logs import clean
from tests.auditing.test_cli import FULL, keys
from tests.auditing.test_evidence import evidence
from tests.auditing.test_following import shown
from tests.auditing.transcripts import path_of
from wire.errors import UsageError


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
