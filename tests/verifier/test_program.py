"""The program as it is run: exit codes, output, what it is made of."""

from __future__ import annotations

import ast
import importlib
import io
import json
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.verifier.answers import PROGRAM, anchors_of, program, report
from tests.verifier.mutations import closed
from tests.verifier.test_transcripts import anchors_for, archive_of

FILES: Final = sorted(PROGRAM.glob("*.py"))
CODES: Final = {
    "clean_five": 0,
    "organiser_wrong_sum": 1,
    "clean_drand": 3,
    "clean_signed": 6,
}
MOST_LINES: Final = 4_250
"""A fifth of them judge what terms are worth, a sixth are about long vectors."""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The program in this process, as it is started from a command line."""
    program()
    given = [*map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = importlib.import_module("verify").run(given)
    return subprocess.CompletedProcess(given, code, out.getvalue(), err.getvalue())


def run_alone(*arguments: object) -> subprocess.CompletedProcess[str]:
    """As a stranger would run it: without environment and without any installed package."""
    command = [sys.executable, "-S", "-s", "-E", str(PROGRAM / "verify.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def session(tmp_path: Path) -> tuple[Path, Path]:
    """A good session and its anchors, as files."""
    return _files(tmp_path, "clean_five")


def _files(folder: Path, name: str) -> tuple[Path, Path]:
    archive, keys = folder / "session.gopa", folder / "keys"
    archive.write_bytes(archive_of(name))
    keys.write_bytes(anchors_for(name))
    return archive, keys


@cache
def require_accepted_unchanged() -> None:
    """What tests take something away from ends with 0 as it is; said once."""
    with TemporaryDirectory() as place:
        archive, keys = _files(Path(place), "clean_five")
        assert run(archive, "--anchors", keys).returncode == 0


@pytest.mark.parametrize("name", sorted(CODES))
def test_exit_codes_of_verdicts(name: str, tmp_path: Path) -> None:
    archive, keys = _files(tmp_path, name)
    ended = run_alone(archive, "--anchors", keys)
    assert ended.returncode == CODES[name], ended.stderr
    stated = json.loads(ended.stdout)
    assert stated["code"] == CODES[name]
    assert stated == report(archive_of(name), anchors_for(name))


def test_the_same_bytes_every_time(session: tuple[Path, Path]) -> None:
    archive, keys = session
    outputs = {run_alone(archive, "--anchors", keys).stdout, run(archive, "--anchors", keys).stdout}
    assert len(outputs) == 1


def test_without_anchors_nothing_is_valid(session: tuple[Path, Path]) -> None:
    archive, keys = session
    assert run(archive, "--anchors", keys).returncode == 0
    ended = run(archive)
    assert ended.returncode == 3
    assert "keys not anchored" in ended.stdout


def test_the_files_own_keys_are_believed_only_on_request(session: tuple[Path, Path]) -> None:
    archive, _ = session
    ended = run(archive, "--trust-embedded")
    assert ended.returncode == 8
    assert "self-consistent; keys not anchored" in ended.stdout


@pytest.mark.parametrize("kept", ["manifest", "log"])
def test_half_of_the_anchors_is_not_enough(kept: str) -> None:
    archive, anchors = archive_of("clean_five"), anchors_for("clean_five")
    head, _, rest = anchors.partition(b"\n")
    half = head + b"\n" if kept == "manifest" else rest
    assert report(archive, anchors)["verdict"] == "VALID"
    assert report(archive, half)["verdict"] == "INCOMPLETE"
    assert report(archive, half, embedded=True)["verdict"] == "VALID"


def test_other_anchors_refuse() -> None:
    archive, anchors = archive_of("clean_five"), anchors_for("clean_five")
    other = b"manifest " + sha256(b"another").hexdigest().encode() + anchors[73:]
    assert report(archive, anchors)["verdict"] == "VALID"
    for embedded in (False, True):
        assert report(archive, other, embedded=embedded)["verdict"] == "INVALID"


def test_a_quorum_that_has_not_cosigned_is_missing() -> None:
    """Cosignatures in the closes are none of the whole log."""
    found = json.loads((PROGRAM.parent / "vectors/transcripts/clean_witnessed.json").read_text())
    given, archive = found["anchors"], archive_of("clean_witnessed")
    strict, alone = (
        anchors_of(given["log"], given["manifest_sha256"], policy)
        for policy in (given["policy"], "")
    )
    note = given["checkpoint"].encode()
    bare = note[: note.index(b"\n", note.index(b"\n\n") + 2) + 1]
    assert note.count(b"\n") > bare.count(b"\n")
    framed = [len(each).to_bytes(4) + each for each in (note, bare)]
    assert archive.count(framed[0]) == 1
    stripped = closed(archive[:-32].replace(*framed))
    assert report(archive, strict)["verdict"] == "VALID"
    assert report(stripped, alone)["verdict"] == "VALID"
    assert report(stripped, strict)["verdict"] == "INCOMPLETE"


@pytest.mark.parametrize(
    "arguments",
    [(), ("--unknown",), ("{tmp}/nothing.gopa",), ("{archive}", "--anchors", "{tmp}/nothing")],
    ids=["none", "unknown", "no-session", "no-keys"],
)
def test_wrong_usage(arguments: tuple[str, ...], session: tuple[Path, Path]) -> None:
    archive, _ = session
    require_accepted_unchanged()
    given = [each.format(tmp=archive.parent, archive=archive) for each in arguments]
    assert run(*given).returncode == 2
    assert arguments or run_alone().returncode == 2


@pytest.mark.parametrize("text", ["manifest 00\n", "log nonsense\n", "quorum none\n", "what\n"])
def test_anchors_that_are_none_are_wrong_usage(text: str, session: tuple[Path, Path]) -> None:
    archive, keys = session
    require_accepted_unchanged()
    keys.write_text(text)
    assert run(archive, "--anchors", keys).returncode == 2


def test_an_unknown_version_is_not_invalid(session: tuple[Path, Path]) -> None:
    archive, keys = session
    require_accepted_unchanged()
    archive.write_bytes(b"gopa-archive/v2\n" + archive.read_bytes()[16:])
    assert run(archive, "--anchors", keys).returncode == 4


@pytest.mark.parametrize(
    "error", [ValueError, MemoryError, KeyboardInterrupt, RecursionError, KeyError]
)
def test_no_exception_leaves_as_invalid(
    error: type[BaseException],
    session: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive, keys = session
    module, verify = program(), importlib.import_module("verify")
    arguments = [str(archive), "--anchors", str(keys)]
    assert verify.run(arguments) == 0

    def crash(*_: object) -> None:
        raise error

    for name in ("read_archive", "read_entry", "_describe", "_verdict"):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, crash)
            assert verify.run(arguments) == 5
    assert "internal error" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["verifier/curve.py", "04-protocol.md"])
def test_a_program_that_is_damaged_does_not_say_invalid(
    part: str, session: tuple[Path, Path], tmp_path: Path
) -> None:
    archive, keys = session
    copy = shutil.copytree(PROGRAM.parent, tmp_path / "specs")
    program = copy / PROGRAM.name / "verify.py"
    command = [sys.executable, str(program), str(archive), "--anchors", str(keys)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    (copy / part).unlink()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 5


def test_what_is_not_checked_is_said(session: tuple[Path, Path]) -> None:
    archive, keys = session
    assert json.loads(run(archive, "--anchors", keys).stdout)["not_checked"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_the_standard_library_is_imported(path: Path) -> None:
    own = {each.stem for each in FILES}
    tree = ast.parse(path.read_text())
    found = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert found
    assert found <= own | sys.stdlib_module_names
    assert not any(
        isinstance(node, ast.Name) and node.id in {"__import__", "importlib", "exec", "eval"}
        for node in ast.walk(tree)
    )


def test_it_stays_small() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in FILES}
    assert "verify.py" in lengths
    assert sum(lengths.values()) <= MOST_LINES
    assert max(lengths.values()) <= 400
