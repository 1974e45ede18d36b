"""A real process, stopped or failed at its real system calls by strace.

Needs strace and the right to trace. Where either is missing the test is skipped
and says so; continuous integration installs strace and forbids skips.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bulletin_board.fsck import fsck_directory
from bulletin_board.storage.directory import BoardDirectory
from tests.board.tools import append, copy_of, filled_board, open_log, submissions, trust

ROOT = Path(__file__).resolve().parents[2]
CALLS = "openat,write,pwrite64,fsync,fdatasync,rename,unlink,mkdir,rmdir,ftruncate"


@pytest.fixture(scope="module")
def template(scratch: Path) -> BoardDirectory:
    return filled_board(scratch / "template", submissions(250))


def strace(*arguments: str) -> list[str]:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed: real system calls were not failed")
    return [found, "-f", "-qq", *arguments, sys.executable, "-m", "tests.board.crash_child"]


def run(command: list[str], board: BoardDirectory) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*command, str(board.root)], cwd=ROOT, capture_output=True, timeout=300, check=False
    )


def calls_of_an_append(board: BoardDirectory, trace: Path) -> dict[str, list[int]]:
    """For each call its ordinals in the process, from the mark on."""
    command = strace("-e", f"trace={CALLS},getpriority", "-o", str(trace))
    done = run(command, board)
    if b"ptrace" in done.stderr:
        pytest.skip("tracing is not permitted: real system calls were not failed")
    assert done.stdout == b"." * 15
    counts: dict[str, int] = {}
    wanted: dict[str, list[int]] = {}
    marked = False
    for name in re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE):
        counts[name] = counts.get(name, 0) + 1
        marked |= name == "getpriority"
        if marked and name != "getpriority":
            wanted.setdefault(name, []).append(counts[name])
    return wanted


def check_every(template: BoardDirectory, root: Path, stride: int) -> int:
    wanted = calls_of_an_append(copy_of(template, root / "dry"), root / "trace")
    assert {"fdatasync", "fsync", "rename", "unlink", "write", "pwrite64"} <= set(wanted)
    cases = [(name, when) for name, found in wanted.items() for when in found]
    failed = 0
    for number, (name, when) in enumerate(cases):
        if number % stride:
            continue
        for fault in ("signal=SIGKILL", "error=EIO", "error=ENOSPC"):
            board = copy_of(template, root / f"{name}-{when}-{fault}")
            command = strace("-e", f"trace={name}", "-e", f"inject={name}:{fault}:when={when}")
            done = run(command, board)
            failed += done.returncode != 0
            check_after(board, done.stdout.count(b"."))
            shutil.rmtree(board.root)
    return failed


def check_after(board: BoardDirectory, acknowledged: int) -> None:
    log = open_log(board)
    assert log.signed.size >= 250 + acknowledged
    assert fsck_directory(board.public, trust()).size == log.signed.size
    again = append(log, submissions(15, 250))
    assert [accepted.index for accepted in again] == list(range(250, 265))
    log.close()
    assert fsck_directory(board.public, trust()).size == 265


@pytest.mark.slow
def test_some_system_calls(template: BoardDirectory, tmp_path: Path) -> None:
    assert check_every(template, tmp_path, 60) > 1


@pytest.mark.soak
def test_every_system_call(template: BoardDirectory, tmp_path: Path) -> None:
    assert check_every(template, tmp_path, 1) > 100
