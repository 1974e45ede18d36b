"""The session of the README as it stands: three terminals, from keys to an audited result."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.board.live import free_port
from tests.board.waiting import LONG, until

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PARTIES: Final = 6


def section(page: Path, title: str) -> str:
    """What stands under a heading."""
    return page.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(text: str, language: str = "sh") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """As in a terminal where the commands of this installation are found."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path}


class Terminal:
    """A block that runs, with what it logs in a file."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process, self._log = process, log

    @property
    def log(self) -> str:
        return self._log.read_text()

    def logs(self, text: str) -> bool:
        """Wait until it has logged this, or ends."""
        return until(lambda: text in self.log or self.process.poll() is not None)

    def ends(self, seconds: float = LONG) -> str:
        """What it printed, when it has ended well."""
        out, _ = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, (out, self.log)
        return out


@contextmanager
def terminal(block: str, place: Path, name: str) -> Iterator[Terminal]:
    """Somebody pastes a block into a terminal of its own."""
    log = place / f"{name}.err"
    with log.open("w") as errors:
        process = subprocess.Popen(
            ["/bin/bash", "-euo", "pipefail", "-c", block],
            cwd=place,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            yield Terminal(process, log)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=LONG)


def answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/healthz", timeout=5) as answer:  # noqa: S310 - http
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


@pytest.mark.soak
def test_three_terminals(tmp_path: Path) -> None:
    board, organiser, parties = blocks(section(ROOT / "README.md", "Real sessions"))
    port = free_port()
    usual, address = "http://127.0.0.1:8765", f"http://127.0.0.1:{port}"
    served = board.rstrip().replace("--sessions", f"--sessions --port {port}")
    assert served != board.rstrip()
    with terminal(f"{served} & trap 'kill $!' TERM; wait || wait", tmp_path, "one") as first:
        assert until(lambda: answers(address))
        assert (tmp_path / "board" / "log.vkey").read_text().startswith("board.example/2026+")
        with terminal(organiser.replace(usual, address), tmp_path, "two") as second:
            assert second.logs("round 1: joining")
            with terminal(parties.replace(usual, address), tmp_path, "three") as third:
                out = third.ends()
            second.ends()
        first.process.send_signal(signal.SIGTERM)
        first.ends()
    asked, *answered = out.split("yours is among them")
    assert "Do you agree?" in asked  # before anybody answers
    assert len(answered) == PARTIES
    assert "VALID" in answered[-1]
    assert (tmp_path / "report.html").read_text().startswith("<!")
    assert f"over {PARTIES} parties" in second.log
    assert "listening at" in first.log
    assert "stopped: " in first.log
    assert oct((tmp_path / "keys" / "ada").stat().st_mode & 0o777) == "0o600"
