"""An audit that finds too little memory ends with 5: libraries below it would end it with 1."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from gopa.cli import entry as room
from gopa.cli.entry import NoRoom, make_room
from tests.auditing.transcripts import anchors_of, path_of

GIVEN: Final = [64, 100, 120, 140, 200, 260, 300, 340, 380, 420]
"""Megabytes of address space, among them those with which a library ends, or never does."""


def audited(tmp_path: Path, megabytes: int) -> subprocess.CompletedProcess[bytes]:
    keys = tmp_path / "anchors.txt"
    keys.write_bytes(anchors_of("clean_five").to_bytes())

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    session = path_of("clean_five")
    command = [sys.executable, "-m", "gopa", "audit", str(session), "--anchors", str(keys)]
    return subprocess.run(command, preexec_fn=limit, capture_output=True, check=False, timeout=120)


@pytest.mark.slow
def test_with_enough_memory_there_is_a_verdict(tmp_path: Path) -> None:
    assert audited(tmp_path, 4_096).returncode == 0


@pytest.mark.thirds
@pytest.mark.parametrize("megabytes", GIVEN)
def test_too_little_memory_accuses_nobody(megabytes: int, tmp_path: Path) -> None:
    ended = audited(tmp_path, megabytes)
    assert ended.returncode in {0, 5}
    assert megabytes > 300 or ended.returncode == 5


def test_room_is_found_or_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    make_room()
    monkeypatch.setattr(room, "LEAST_ROOM", 2**60)
    with pytest.raises(NoRoom):
        make_room()
