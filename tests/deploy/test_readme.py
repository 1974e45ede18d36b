"""The session of the README as it stands: three terminals, from keys to an audited result."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

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


@contextmanager
def terminal(block: str, place: Path) -> Iterator[subprocess.Popen[str]]:
    """Somebody pastes a block into a terminal of its own."""
    process = subprocess.Popen(
        ["/bin/bash", "-euo", "pipefail", "-c", block],
        cwd=place,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LONG)


def answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/healthz", timeout=5) as answer:  # noqa: S310 - http
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def test_three_terminals(tmp_path: Path) -> None:
    board, organiser, parties = blocks(section(ROOT / "README.md", "Real sessions"))
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    served = board.replace("--sessions", f"--sessions --port {port}")
    assert served != board
    with terminal(f"{served.rstrip()} & trap 'kill $!' TERM; wait; wait", tmp_path) as first:
        assert until(lambda: answers(address) or first.poll() is not None)
        assert (tmp_path / "board" / "log.vkey").read_text().startswith("board.example/2026+")
        with terminal(organiser.replace("http://127.0.0.1:8765", address), tmp_path) as second:
            ticket = tmp_path / "may" / "ticket.json"
            assert until(lambda: ticket.exists() or second.poll() is not None)
            with terminal(parties.replace("http://127.0.0.1:8765", address), tmp_path) as third:
                out, errors = third.communicate(timeout=LONG)
            assert third.returncode == 0, (out, errors, second.poll())
            opened, log = second.communicate(timeout=LONG)
        assert second.returncode == 0, (opened, log)
        first.send_signal(signal.SIGTERM)
        _, board_log = first.communicate(timeout=LONG)
    assert "Do you agree?" in out  # before anybody answers
    assert out.count("yours is among them") == PARTIES
    assert "VALID" in out.rpartition("yours is among them")[2]
    assert (tmp_path / "report.html").read_text().startswith("<!")
    assert "round 1: joining" in log
    assert f"over {PARTIES} parties" in log
    assert "listening at" in board_log
    assert "stopped: " in board_log
    assert oct((tmp_path / "keys" / "ada").stat().st_mode & 0o777) == "0o600"
