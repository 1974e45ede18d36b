"""The page about two witnesses as it stands: a newcomer runs the script, and audits a session."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

from tests.board.live import free_port
from tests.board.waiting import LONG, until
from tests.deploy.test_readme import ROOT, blocks, section, terminal

PAGE: Final = ROOT / "docs" / "board" / "two-witnesses.md"
SCRIPT: Final = ROOT / "deploy" / "two-witnesses.sh"
DONE: Final = re.compile(r"gopa (?:board (?:init|witness|serve)|keygen)")


def test_the_page_has_the_steps_of_the_script_in_their_order() -> None:
    steps = re.findall(r"^\| \d \|.*$", section(PAGE, "On three machines"), re.MULTILINE)
    shown = [command for step in steps for command in DONE.findall(step)]
    done = [command for line in SCRIPT.read_text().splitlines() for command in DONE.findall(line)]
    assert shown == done
    assert len(shown) == 4
    numbers = re.findall(r'^echo "(\d)\. ', SCRIPT.read_text(), re.MULTILINE)
    assert numbers == [step[2] for step in steps][: len(numbers)]


@pytest.mark.soak
def test_a_newcomer_sets_up_all_of_it(tmp_path: Path) -> None:
    (start, ask) = blocks(section(PAGE, "On one machine"))
    port = free_port()
    start = start.replace("deploy/", f"{ROOT}/deploy/").replace(" trial", f" trial {port}")
    with terminal(f"exec {start}", tmp_path, "servers") as servers:
        place = tmp_path / "trial"
        log = place / "log" / "board"
        assert until(lambda: log.exists() and "listening at" in log.read_text())
        with terminal(ask.replace("8765", str(port)), place, "people") as people:
            out = people.ends(10 * LONG)
        assert "Do you agree?" not in out  # nobody was asked: the answers are on the line
        assert "VALID (exit code 0)" in out
        assert "too few witnesses" not in people.log
        for number in (1, 2):
            assert (place / f"witness-{number}" / "witness.vkey").exists()
        with pytest.raises(OSError):  # noqa: PT011 - whatever the system says of that
            urlopen(f"http://localhost:{port}/healthz", timeout=LONG)  # it speaks TLS alone
        servers.process.send_signal(signal.SIGTERM)
        servers.ends()
    for name in ("board", "witness-1", "witness-2"):
        assert "stopped: " in (place / "log" / name).read_text()
