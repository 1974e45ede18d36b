from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from gopa import cli
from gopa.auditing import Verdict
from gopa.auditing.report import EMBEDDED_CODE, NO_RESULT_CODE
from gopa.auditing.sources import open_transcript
from gopa.protocol.organiser import SessionSetting
from tests.auditing.conftest import Gopa
from tests.auditing.logs import TRANSCRIPTS, clean, note_of, played
from tests.auditing.schema import problems
from tests.auditing.test_following import shown
from tests.auditing.transcripts import anchors_of, path_of, stated
from tests.vectors.transcripts.worlds import World

FULL = Path("/dev/full")
NO_RESULT = "abort_by_the_organiser"


def keys(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "anchors.txt"
    path.write_bytes(anchors_of(name).to_bytes())
    return path


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("clean_full", 0),
        ("organiser_wrong_sum", 1),
        ("organiser_stops", 3),
        ("clean_signed", 6),
    ],
)
def test_exit_codes_are_verdicts(gopa: Gopa, tmp_path: Path, name: str, code: int) -> None:
    answer = gopa(path_of(name), "--anchors", keys(tmp_path, name))
    assert answer.code == code
    assert answer.out.startswith(Verdict(stated(name)["expected"]["verdict"]).value)
    assert answer.err == ""


def test_other_exit_codes(gopa: Gopa, tmp_path: Path) -> None:
    name = "dropout_before_publish"
    assert gopa(path_of(name), "--anchors", keys(tmp_path, name)).code == 0
    assert gopa(path_of(name), "--anchors", keys(tmp_path, name), "--strict").code == 10
    assert gopa(path_of(name)).code == 3
    later = tmp_path / "later.gopa"
    later.write_bytes(clean().archive(b"gopa-archive/v9\n"))
    assert gopa(later).code == 4


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing.gopa"],
        ["--no-such-option"],
        ["a.gopa", "--evidence", "b"],
        [path_of("clean_full"), "--anchors", "nowhere.txt"],
        [path_of("clean_full"), "--jobs", "0"],
        [path_of("clean_full"), "--jobs", "many"],
        [path_of("clean_full"), "--session", "12"],
        [path_of("clean_full"), "--since", path_of("clean_full")],
        [path_of("clean_full"), "--receipt", path_of("clean_full")],
        [path_of("clean_full"), "--trust-embedded", "--trace", "xyz"],
        [path_of("clean_full"), "--trust-embedded", "--trace", "ffff"],
        [path_of("clean_full"), "--follow"],
        [path_of("clean_full"), "--save", "/no/such/place", "--trust-embedded"],
        [path_of("clean_full"), "--html", path_of("clean_full")],
        [path_of("clean_full"), "--html", "one", "--save", "one"],
        [
            path_of("clean_full"),
            "--anchors",
            path_of("clean_full"),
            "--save",
            path_of("clean_full"),
        ],
        [path_of("clean_full").parent, "--html", path_of("clean_full").parent / "report.html"],
        [path_of("organiser_wrong_roll"), "--trust-embedded", "--evidence-dir", __file__],
        [path_of("clean_full"), "--trust-embedded", "--trace", "a", "--json"],
        ["--evidence", path_of("clean_full"), "--html", "page.html"],
        ["--evidence", path_of("clean_full"), "--strict"],
        ["--evidence", path_of("clean_full")],
        ["ftp://example.org/"],
    ],
    ids=lambda arguments: " ".join(Path(str(each)).name for each in arguments) or "nothing",
)
def test_wrong_usage_is_2(gopa: Gopa, arguments: list[object]) -> None:
    answer = gopa(*arguments)
    assert answer.code == 2
    assert answer.err


def test_only_a_result_on_keys_from_outside_is_0(gopa: Gopa, tmp_path: Path) -> None:
    """A script that asks for 0 takes neither a session without a result nor its own word."""
    given = ("--anchors", keys(tmp_path, NO_RESULT))
    assert stated(NO_RESULT)["expected"]["verdict"] == "VALID"
    answer = gopa(path_of(NO_RESULT), *given)
    assert answer.code == NO_RESULT_CODE
    assert answer.out.startswith("VALID, without a result (exit code 7): All rules were kept, but")
    assert "Everything was computed" not in answer.out
    assert gopa(path_of(NO_RESULT), *given, "--strict").code == NO_RESULT_CODE
    assert gopa(path_of(NO_RESULT), "--trust-embedded").code == NO_RESULT_CODE
    assert gopa(path_of("clean_full"), "--trust-embedded").code == EMBEDDED_CODE
    assert gopa(path_of("clean_full"), "--anchors", keys(tmp_path, "clean_full")).code == 0
    answer = gopa(path_of("clean_signed"), "--trust-embedded", "--json")
    assert (answer.code, json.loads(answer.out)["code"]) == (6, 6)


def test_help_is_no_verdict(gopa: Gopa) -> None:
    answer = gopa("--help")
    assert answer.code == 0
    rows = [line.split() for line in answer.out.splitlines()]
    codes = [row[0] for row in rows if row[:1] and row[0].isdecimal()]
    assert codes == ["0", "1", "2", "3", "4", "5", "6", "7", "8", "10", "130"]


def test_a_verdict_stays_one_behind_the_end_of_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, code in (("clean_full", 0), ("organiser_wrong_sum", 1)):
        given = ["audit", str(path_of(name)), "--anchors", str(keys(tmp_path, name))]
        for arguments in (given, ["--", *given]):
            monkeypatch.setattr(sys, "argv", ["gopa", *arguments])
            with pytest.raises(SystemExit) as ended:
                cli.main()
            assert ended.value.code == code


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    ("arguments", "code"), [(["--no-such-option"], 2), (["nothing.gopa"], 2), (["--help"], 5)]
)
def test_who_cannot_be_told_anything_is_accused_of_nothing(arguments: list[str], code: int) -> None:
    command = [sys.executable, "-m", "gopa", "audit", *arguments]
    with FULL.open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=full, check=False)
    assert done.returncode == code


@pytest.mark.thirds
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("bug"),
        MemoryError(),
        OSError(5, "disk"),
        SystemError(),
        SystemExit(1),
        SystemExit(0),
        RecursionError(),
        BrokenPipeError(32, "gone"),
        GeneratorExit(),
    ],
    ids=lambda error: type(error).__name__ + str(getattr(error, "code", "")),
)
@pytest.mark.parametrize(
    "place",
    [
        "gopa.auditing.auditor.read_log",
        "gopa.auditing.auditor.compose",
        "gopa.auditing.composing.check_foundation",
        "gopa.auditing.composing.check_session",
        "gopa.auditing.session_checks.privacy_report",
        "gopa.auditing.reading.verify_many",
        "gopa.cli.audit.options_of",
        "gopa.cli.audit.screen",
    ],
)
def test_whatever_fails_inside_is_5(
    gopa: Gopa, monkeypatch: pytest.MonkeyPatch, error: BaseException, place: str
) -> None:
    assert gopa(path_of("clean_full"), "--trust-embedded").code == EMBEDDED_CODE

    def fails(*_: object, **__: object) -> None:
        raise error

    module, _, name = place.rpartition(".")
    monkeypatch.setattr(sys.modules[module], name, fails)
    answer = gopa(path_of("clean_full"), "--trust-embedded")
    assert answer.code == 5
    assert "INTERNAL ERROR" in answer.err


@pytest.mark.parametrize("place", ["gopa.auditing.auditor.read_log", "gopa.cli.audit.run"])
def test_whoever_stops_an_audit_gets_no_complaint(
    gopa: Gopa, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    given = [path_of("clean_full"), "--trust-embedded"]
    assert gopa(*given).code == EMBEDDED_CODE

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    module, _, name = place.rpartition(".")
    monkeypatch.setattr(sys.modules[module], name, stopped)
    for more in ((), ("--json",)):
        answer = gopa(*given, *more)
        assert (answer.code, answer.out, answer.err.strip()) == (130, "", "")


_SLOW_WORKERS: Final = """
import sys, time
import gopa.cli as cli
from gopa.auditing import auditor

def slowly(transcript, options, pool):
    tasks = [pool.submit(time.sleep, 600) for _ in range(8)]
    print("working", flush=True)
    tasks[0].result()

auditor.read_log = slowly
sys.argv = ["gopa", "audit", sys.argv[1], "--jobs", "2"]
cli.main()
"""


@pytest.mark.slow
def test_the_workers_of_an_audit_end_quietly_with_it() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW_WORKERS, str(path_of("clean_full"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of them
    out, err = process.communicate(timeout=60)
    assert (process.returncode, (out + err).strip()) == (130, "")


def test_a_failure_is_a_report_too(gopa: Gopa, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gopa.auditing.auditor.read_log", fails)
    answer = gopa(path_of("clean_full"), "--json")
    found = json.loads(answer.out)
    assert problems(found) == []
    assert (answer.code, found["code"], found["verdict"]) == (5, 5, "INTERNAL ERROR")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "code"),
    [("KeyboardInterrupt", 130), ("ImportError('x')", 5), ("BrokenPipeError(32, 'x')", 5)],
)
def test_nothing_that_click_or_python_does_ends_with_1(error: str, code: int) -> None:
    """In a process of its own: an interrupt while the command is being imported."""
    program = (
        "import sys, gopa.cli as cli\n"
        "sys.argv = ['gopa', 'audit', sys.argv[1]]\n"
        "def broken(*_): raise {error}\n"
        "cli.entry.import_module = broken\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program.format(error=error), str(path_of("clean_full"))],
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr


def test_json_is_the_report(gopa: Gopa, tmp_path: Path) -> None:
    name = "commit_flipped_proof"
    plain = gopa(path_of(name), "--anchors", keys(tmp_path, name), "--json")
    assert plain.code == 0
    assert problems(json.loads(plain.out)) == []
    again = gopa(path_of(name), "--anchors", keys(tmp_path, name), "--json", "--jobs", "2")
    assert again.out == plain.out


def test_a_page_is_written(gopa: Gopa, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    answer = gopa(path_of("clean_full"), "--trust-embedded", "--html", page)
    assert answer.code == EMBEDDED_CODE
    assert page.read_text().startswith("<!")


def test_state_is_saved_and_continued(gopa: Gopa, tmp_path: Path) -> None:
    state = tmp_path / "state"
    given = [path_of("clean_full"), "--anchors", keys(tmp_path, "clean_full")]
    assert gopa(*given, "--save", state).code == 0
    assert state.read_text() == stated("clean_full")["anchors"]["checkpoint"]
    assert gopa(*given, "--since", state).code == 0
    other = [path_of("dropout_weighted"), "--anchors", keys(tmp_path, "dropout_weighted")]
    answer = gopa(*other, "--since", state)
    assert answer.code in {1, 3}


def test_a_broken_log_is_not_saved(gopa: Gopa, tmp_path: Path) -> None:
    state, damaged = tmp_path / "state", tmp_path / "damaged.gopa"
    damaged.write_bytes(path_of("clean_full").read_bytes()[:-1])
    assert gopa(damaged, "--trust-embedded", "--save", state).code == 1
    assert not state.exists()


def test_evidence_is_written_and_convicts(gopa: Gopa, tmp_path: Path) -> None:
    place = tmp_path / "evidence"
    given = [path_of("organiser_wrong_roll"), "--trust-embedded"]
    assert gopa(*given, "--evidence-dir", place).code == 1
    (file,) = place.iterdir()
    answer = gopa("--evidence", file)
    assert answer.code == 0
    assert stated("organiser_wrong_roll")["organiser"] in answer.out
    found = json.loads(gopa("--evidence", file, "--json").out)
    assert (found["convicts"], found["rule"]) == (True, "04-J6")
    other = keys(tmp_path, "clean_full")
    assert gopa("--evidence", file, "--anchors", other).code == 0
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    answer = gopa("--evidence", file)
    assert answer.code == 1
    assert answer.out.startswith("PROVES NOTHING")


def test_a_trace_shows_all_of_one_party(gopa: Gopa) -> None:
    name = "commit_flipped_proof"
    liar = stated(name)["parties"][stated(name)["liars"][0]]
    answer = gopa(path_of(name), "--trust-embedded", "--trace", liar[:10].upper())
    assert answer.code == EMBEDDED_CODE
    part = answer.out.partition("Everything of ")[2].partition(liar)[2]
    assert part.count("entry ") >= 3
    assert "04-K3" in part
    assert gopa(path_of(name), "--trust-embedded", "--trace", "").code == 2


def test_a_board_is_followed_to_the_end_of_its_session(gopa: Gopa, tmp_path: Path) -> None:
    root, state = tmp_path / "board", tmp_path / "state"
    root.mkdir()
    shown(root, clean().entries)
    anchors = tmp_path / "anchors.txt"
    anchors.write_bytes(clean().anchors.to_bytes())
    answer = gopa(root, "--follow", "--anchors", anchors, "--save", state)
    assert answer.code == 0
    assert state.read_bytes() == clean().note
    assert f"{len(clean().entries)} entries: VALID" in answer.err


def test_names_from_the_log_cannot_speak_to_the_terminal(gopa: Gopa, tmp_path: Path) -> None:
    wild = tmp_path / "a\x1b[31m.gopa"
    wild.write_bytes(path_of("clean_full").read_bytes())
    answer = gopa(wild, "--trust-embedded")
    assert answer.code == EMBEDDED_CODE
    assert "\x1b" not in answer.out


def test_a_title_cannot_speak_to_the_terminal(gopa: Gopa, tmp_path: Path) -> None:
    title = "\x1b[31m\x9b\x7f\u202e\u2028<script>"
    log = played(World(setting=SessionSetting(title=title)))
    wild = tmp_path / "log.gopa"
    wild.write_bytes(log.archive())
    anchors = tmp_path / "anchors.txt"
    anchors.write_bytes(log.anchors.to_bytes())
    page = tmp_path / "page.html"
    for arguments in ([], ["--json"]):
        answer = gopa(wild, "--anchors", anchors, "--html", page, *arguments)
        assert answer.code == 0
        assert set(title) & set(answer.out) <= set("[31m<script>")
    assert json.loads(answer.out)["session"]["title"] == title
    assert not set("\x1b\x9b\x7f\u202e\u2028") & set(page.read_text())


def test_the_transcripts_are_where_they_should_be() -> None:
    assert path_of("clean_full").parent == TRANSCRIPTS


def test_what_changes_between_two_readings_is_no_evidence(
    gopa: Gopa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy, place = tmp_path / "copy.gopa", tmp_path / "evidence"
    copy.write_bytes(path_of("organiser_wrong_roll").read_bytes())
    given = [copy, "--trust-embedded", "--evidence-dir", place]
    assert gopa(*given).code == 1
    (file,) = place.iterdir()
    file.unlink()

    def truncated(source: str, opened: ExitStack) -> object:
        copy.write_bytes(copy.read_bytes()[:-1])
        return open_transcript(source, opened)

    monkeypatch.setattr("gopa.cli.audit_evidence.open_transcript", truncated)
    assert gopa(*given).code == 2
    assert list(place.iterdir()) == []


def test_a_device_is_written_to_and_not_replaced(gopa: Gopa, tmp_path: Path) -> None:
    pipe, pages = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: pages.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert gopa(path_of("clean_full"), "--trust-embedded", "--html", pipe).code == EMBEDDED_CODE
    reader.join(30)
    assert pages[0].startswith(b"<!")
    assert pipe.is_fifo()


def test_a_link_stays_a_link(gopa: Gopa, tmp_path: Path) -> None:
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    link.symlink_to(page)
    assert gopa(path_of("clean_full"), "--trust-embedded", "--html", link).code == EMBEDDED_CODE
    assert link.is_symlink()
    assert page.read_text().startswith("<!")
    assert sorted(tmp_path.iterdir()) == [link, page]


def test_an_older_copy_does_not_replace_what_was_saved(gopa: Gopa, tmp_path: Path) -> None:
    root, state, anchors = tmp_path / "board", tmp_path / "state", tmp_path / "anchors.txt"
    root.mkdir()
    anchors.write_bytes(clean().anchors.to_bytes())
    given = [root, "--anchors", anchors, "--save", state]
    shown(root, clean().entries)
    assert gopa(*given).code == 0
    saved = state.read_bytes()
    assert saved == clean().note
    shown(root, clean().entries[:9])
    (root / "tile" / "entries" / "000.p" / str(len(clean().entries))).unlink()
    (root / "tile" / "0" / "000.p" / str(len(clean().entries))).unlink()
    assert gopa(*given, "--since", state).code == 3
    assert state.read_bytes() == saved


def test_who_follows_again_goes_on_from_what_was_saved(gopa: Gopa, tmp_path: Path) -> None:
    root, state, anchors = tmp_path / "board", tmp_path / "state", tmp_path / "anchors.txt"
    root.mkdir()
    anchors.write_bytes(clean().anchors.to_bytes())
    given = [root, "--follow", "--anchors", anchors, "--save", state]
    shown(root, clean().entries)
    assert gopa(*given).code == 0
    assert gopa(*given).code == 0
    entries = clean().entries
    forked = note_of((*entries[:4], *entries[5:9]), clean().signer)
    state.write_bytes(forked)
    answer = gopa(*given)
    assert answer.code == 1
    assert "check 1.5 failed" in answer.out
    assert state.read_bytes() == forked


def test_following_ends_where_it_cannot_begin(gopa: Gopa, tmp_path: Path) -> None:
    root, anchors = tmp_path / "board", tmp_path / "anchors.txt"
    root.mkdir()
    anchors.write_bytes(clean().anchors.to_bytes())
    given = ["--follow", "--anchors", anchors]
    shown(root, clean().entries)
    assert gopa(root, *given).code == 0
    assert gopa("http://127.0.0.1:1", *given).code == 3
    later = (99).to_bytes(2) + clean().entries[-1][2:]
    shown(root, (*clean().entries[:-1], later))
    assert gopa(root, *given).code == 4


def test_evidence_about_another_session_says_so(gopa: Gopa, tmp_path: Path) -> None:
    place, name = tmp_path / "evidence", "commit_flipped_proof"
    gopa(path_of(name), "--trust-embedded", "--evidence-dir", place)
    (file,) = place.iterdir()
    own = gopa("--evidence", file, "--anchors", keys(tmp_path, name))
    other = gopa("--evidence", file, "--anchors", keys(tmp_path, "clean_signed"))
    assert (own.code, other.code) == (0, 0)
    assert "another session" not in own.out
    assert "another session" in other.out


def test_the_day_of_an_audit_stands_on_its_page_and_in_no_report(
    gopa: Gopa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, given = tmp_path / "report.html", [path_of("clean_full"), "--trust-embedded"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    reports = set()
    for jobs in ("1", "2"):
        answer = gopa(*given, "--json", "--html", page, "--jobs", jobs)
        assert answer.code == EMBEDDED_CODE
        reports.add((answer.out, page.read_text()))
    assert len(reports) == 1
    assert "2001-09-09" in page.read_text()
    assert "2001-09-09" not in answer.out
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    page.unlink()
    assert gopa(*given, "--html", page).code == 2
    assert not page.exists()
