"""The page on deployment as it stands: one party is killed and goes on, another is Python."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

from tests.board.live import free_port
from tests.board.waiting import LONG, until
from tests.deploy.test_readme import ROOT, answers, blocks, environment

NAMES: Final = ("ada", "ben", "cem", "dan", "eve", "fay")
PYTHON: Final = "fay"
KILLED: Final = "ben"
PAGE: Final = (ROOT / "docs" / "deploy.md").read_text()


class Machines:
    """Everything below one directory, with a place of its own for each party."""

    def __init__(self, root: Path) -> None:
        self.root, self.port, self.figures = root, free_port(), free_port()
        for name in ("etc", "srv/session", *(f"srv/{name}" for name in NAMES)):
            (root / name).mkdir(parents=True)
        for name in ("board.toml", "session.toml"):
            text = (ROOT / "deploy" / name).read_text()
            (root / "etc" / name).write_text(self.placed(text))
        text = (ROOT / "deploy" / "party.toml").read_text()
        for name in NAMES:
            mine = text.replace("9102", str(free_port()))
            (root / "etc" / f"{name}.toml").write_text(self.placed(mine, name))
        (block, *_) = blocks(PAGE)
        self.lines = [line for line in block.splitlines() if line and not line.startswith("#")]

    def placed(self, text: str, party: str = "ada") -> str:
        """The text with paths and addresses of this machine."""
        for wanted, here in (
            ("/srv/party", f"{self.root}/srv/{party}"),
            ("/srv/", f"{self.root}/srv/"),
            ("/etc/gopa/party.toml", f"{self.root}/etc/{party}.toml"),
            ("/etc/gopa", f"{self.root}/etc"),
            ("https://board.example", f"http://127.0.0.1:{self.port}"),
            ("8765", str(self.port)),
            ("9101", str(self.figures)),
            ("anchors anchors.txt", f"anchors {self.root}/srv/session/may/anchors.txt"),
        ):
            text = re.sub(rf"(?<!{re.escape(str(self.root))}){re.escape(wanted)}", here, text)
        return text

    def command(self, begins: str, party: str = "ada") -> list[str]:
        """The line of the page that begins so, as it is on this machine."""
        (line,) = [each for each in self.lines if each.startswith(begins)]
        return shlex.split(self.placed(line, party))

    def run(self, begins: str, party: str = "ada") -> str:
        return self.give(self.command(begins, party))

    def give(self, command: list[str]) -> str:
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=False, timeout=LONG
        )
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    @contextmanager
    def serving(self, begins: str, party: str = "ada") -> Iterator[subprocess.Popen[str]]:
        with self.started(self.command(begins, party)) as process:
            yield process

    @contextmanager
    def started(
        self, command: list[str], log: Path | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        with ExitStack() as opened:
            errors = None if log is None else opened.enter_context(log.open("a"))
            process = subprocess.Popen(
                command, env=environment(), stdout=subprocess.PIPE, stderr=errors, text=True
            )
            try:
                yield process
            finally:
                process.kill()
                process.communicate(timeout=LONG)


@pytest.mark.soak
def test_the_page_leads_to_an_audited_result(tmp_path: Path) -> None:
    here = Machines(tmp_path)
    here.run("gopa board init")
    (here.root / "srv" / "session" / "log.vkey").write_bytes(
        (here.root / "srv" / "board" / "log.vkey").read_bytes()
    )
    keys = []
    for name in NAMES:
        here.run("gopa keygen", name)
        public = here.root / "srv" / name / "key.pub"
        keys.append(f"{name}={public.read_text().split()[0]}")
    made = here.command("gopa session roster")
    here.give([*made[: made.index("roster") + 2], *keys])
    with here.serving("gopa board serve") as board:
        assert until(lambda: answers(f"http://127.0.0.1:{here.port}"))
        here.run("gopa session create")
        ticket = here.root / "srv" / "session" / "may" / "ticket.json"
        for name in NAMES:
            (here.root / "srv" / name / "ticket.json").write_bytes(ticket.read_bytes())
            (here.root / "srv" / name / "value.txt").write_text("1\n")
        with here.serving("gopa session open") as organiser:
            outs = _everybody_answers(here)
            assert organiser.wait(LONG) == 0
        report = here.root / "report.html"
        audit = here.command("gopa audit")
        said = here.give([*audit[: audit.index("--html")], "--html", str(report)])
        board.send_signal(signal.SIGTERM)
        assert board.wait(LONG) == 0
    assert all("yours is among them" in out for out in outs), outs
    assert said.startswith("VALID (exit code 0)")
    assert f"{len(NAMES)} of {len(NAMES)} parties" in said
    assert report.exists()


def _everybody_answers(here: Machines) -> list[str]:
    """One is killed in the middle of the round and started again, one is the page's Python."""
    with ExitStack() as running:
        log = here.root / "ben.log"
        first = running.enter_context(here.started(here.command("gopa join", KILLED), log))
        assert until(lambda: log.exists() and "round 1: joining" in log.read_text())
        with urlopen(f"http://127.0.0.1:{here.figures}/metrics", timeout=9) as page:
            assert "gopa_organiser_round 1\n" in page.read().decode()
        first.kill()
        first.wait(LONG)
        again = [
            running.enter_context(here.started(here.command("gopa join", name)))
            for name in NAMES
            if name != PYTHON
        ]
        python = running.enter_context(here.started(_python(here)))
        outs = [each.communicate(timeout=LONG)[0] for each in again]
        shown = python.communicate(timeout=LONG)[0]
    assert "mean" in shown, shown
    return outs


def _python(here: Machines) -> list[str]:
    """The page's program, in a directory that looks like that of the README's session."""
    (program,) = blocks(PAGE, "python")
    place = here.root / "readme"
    (place / "keys").mkdir(parents=True)
    (place / "may").symlink_to(here.root / "srv" / "session" / "may")
    (place / "keys" / PYTHON).symlink_to(here.root / "srv" / PYTHON / "key")
    return [sys.executable, "-c", f"import os; os.chdir({os.fspath(place)!r})\n{program}"]
