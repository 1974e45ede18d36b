from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gopa import cli
from gopa.auditing import Verdict
from tests.auditing.logs import TRANSCRIPTS, clean
from tests.auditing.schema import problems
from tests.auditing.test_following import shown
from tests.auditing.transcripts import anchors_of, path_of, stated


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str


Gopa = Callable[..., Answer]


@pytest.fixture
def gopa(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Gopa:
    """`gopa audit` in this process, through its entry point."""

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["gopa", "audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsysbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, out.decode(), err.decode())

    return run


def keys(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "keys.txt"
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
    answer = gopa(path_of(name), "--keys", keys(tmp_path, name))
    assert answer.code == code
    assert answer.out.startswith(Verdict(stated(name)["expected"]["verdict"]).value)
    assert answer.err == ""


def test_other_exit_codes(gopa: Gopa, tmp_path: Path) -> None:
    name = "dropout_before_publish"
    assert gopa(path_of(name), "--keys", keys(tmp_path, name)).code == 0
    assert gopa(path_of(name), "--keys", keys(tmp_path, name), "--strict").code == 10
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
        [path_of("clean_full"), "--keys", "nowhere.txt"],
        [path_of("clean_full"), "--jobs", "0"],
        [path_of("clean_full"), "--jobs", "many"],
        [path_of("clean_full"), "--session", "12"],
        [path_of("clean_full"), "--since", path_of("clean_full")],
        [path_of("clean_full"), "--receipt", path_of("clean_full")],
        [path_of("clean_full"), "--trust-embedded", "--trace", "xyz"],
        [path_of("clean_full"), "--trust-embedded", "--trace", "ffff"],
        [path_of("clean_full"), "--follow"],
        [path_of("clean_full"), "--save", "/no/such/place", "--trust-embedded"],
        ["--evidence", path_of("clean_full")],
        ["ftp://example.org/"],
    ],
    ids=lambda arguments: " ".join(Path(str(each)).name for each in arguments) or "nothing",
)
def test_wrong_usage_is_2(gopa: Gopa, arguments: list[object]) -> None:
    answer = gopa(*arguments)
    assert answer.code == 2
    assert answer.err


def test_help_is_no_verdict(gopa: Gopa) -> None:
    answer = gopa("--help")
    assert answer.code == 0
    assert "Exit codes" in answer.out


@pytest.mark.parametrize(
    "error",
    [RuntimeError("bug"), MemoryError(), KeyboardInterrupt(), OSError(5, "disk"), SystemError()],
)
@pytest.mark.parametrize("place", ["gopa.auditing.auditor.read_log", "gopa.cli.audit.screen"])
def test_whatever_fails_inside_is_5(
    gopa: Gopa, monkeypatch: pytest.MonkeyPatch, error: BaseException, place: str
) -> None:
    assert gopa(path_of("clean_full"), "--trust-embedded").code == 0

    def fails(*_: object, **__: object) -> None:
        raise error

    module, _, name = place.rpartition(".")
    monkeypatch.setattr(sys.modules[module], name, fails)
    answer = gopa(path_of("clean_full"), "--trust-embedded")
    assert answer.code == 5
    assert "INTERNAL ERROR" in answer.err


def test_a_failure_is_a_report_too(gopa: Gopa, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gopa.auditing.auditor.read_log", fails)
    answer = gopa(path_of("clean_full"), "--json")
    found = json.loads(answer.out)
    assert problems(found) == []
    assert (answer.code, found["code"], found["verdict"]) == (5, 5, "INTERNAL ERROR")


def test_nothing_that_click_or_python_does_ends_with_1() -> None:
    """In a process of its own: an interrupt while the command is being imported."""
    program = (
        "import sys, gopa.cli as cli\n"
        "sys.argv = ['gopa', 'audit', sys.argv[1]]\n"
        "def broken(*_): raise {error}\n"
        "cli.import_module = broken\n"
        "cli.main()\n"
    )
    for error in ("KeyboardInterrupt", "ImportError('x')", "BrokenPipeError(32, 'x')"):
        done = subprocess.run(
            [sys.executable, "-c", program.format(error=error), str(path_of("clean_full"))],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 5, (error, done.stderr)


def test_json_is_the_report(gopa: Gopa, tmp_path: Path) -> None:
    name = "commit_flipped_proof"
    plain = gopa(path_of(name), "--keys", keys(tmp_path, name), "--json")
    assert plain.code == 0
    assert problems(json.loads(plain.out)) == []
    again = gopa(path_of(name), "--keys", keys(tmp_path, name), "--json", "--jobs", "2")
    assert again.out == plain.out


def test_a_page_is_written(gopa: Gopa, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    answer = gopa(path_of("clean_full"), "--trust-embedded", "--html", page)
    assert answer.code == 0
    assert page.read_text().startswith("<!")


def test_state_is_saved_and_continued(gopa: Gopa, tmp_path: Path) -> None:
    state = tmp_path / "state"
    given = [path_of("clean_full"), "--keys", keys(tmp_path, "clean_full")]
    assert gopa(*given, "--save", state).code == 0
    assert state.read_text() == stated("clean_full")["anchors"]["checkpoint"]
    assert gopa(*given, "--since", state).code == 0
    other = [path_of("dropout_weighted"), "--keys", keys(tmp_path, "dropout_weighted")]
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
    assert gopa("--evidence", file, "--keys", other).code == 0
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
    assert answer.code == 0
    part = answer.out.partition(f"Everything of {liar}:")[2]
    assert part.count("entry ") >= 3
    assert "04-K3" in part
    assert gopa(path_of(name), "--trust-embedded", "--trace", "").code == 2


def test_a_board_is_followed_to_the_end_of_its_session(gopa: Gopa, tmp_path: Path) -> None:
    root, state = tmp_path / "board", tmp_path / "state"
    root.mkdir()
    shown(root, clean().entries)
    anchors = tmp_path / "keys.txt"
    anchors.write_bytes(clean().anchors.to_bytes())
    answer = gopa(root, "--follow", "--keys", anchors, "--save", state)
    assert answer.code == 0
    assert state.read_bytes() == clean().note
    assert f"{len(clean().entries)} entries: VALID" in answer.err


def test_names_from_the_log_cannot_speak_to_the_terminal(gopa: Gopa, tmp_path: Path) -> None:
    wild = tmp_path / "a\x1b[31m.gopa"
    wild.write_bytes(path_of("clean_full").read_bytes())
    answer = gopa(wild, "--trust-embedded")
    assert answer.code == 0
    assert "\x1b" not in answer.out


def test_the_transcripts_are_where_they_should_be() -> None:
    assert path_of("clean_full").parent == TRANSCRIPTS
