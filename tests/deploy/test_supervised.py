"""Boards that cannot start come back by themselves under the rules of the shipped unit.

Every cause is a real start that fails: the process ends with its code, and the unit's own lines
decide whether there is another one.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Final

import pytest

from bulletin_board.note import KeyKind
from gopa.cli.exits import (
    EXIT_CODES,
    FAILED_EXIT,
    INTERRUPTED_EXIT,
    JOIN,
    LATER_EXIT,
    OPEN,
    SERVE,
    USAGE_EXIT,
    WITNESS,
    exits_of,
)
from tests.board.live import free_port, live_witness
from tests.board.tools import append, log_key, new_board, open_log, signer, submission
from tests.board.waiting import LONG, until
from tests.deploy.test_pages import ROOT, answers, environment, section

CLEAN: Final = {0, -signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM, -signal.SIGPIPE}


"""What `Restart=on-failure` takes for a good end: systemd.service(5)."""


START_LIMIT: Final = (10.0, 5)


"""Seconds, and how many starts in them, after which systemd gives up unless a unit says more."""


@dataclass(frozen=True)
class UnitRules:
    """Holds what the `[Service]` part of a unit says about starting again."""

    restart: str
    seconds: float
    prevented: frozenset[int]
    clean: frozenset[int]
    reload: str

    @classmethod
    def of(cls, unit: Path) -> UnitRules:
        said = dict(
            line.split("=", 1)
            for line in unit.read_text().splitlines()
            if "=" in line and not line.startswith("#")
        )
        own = {int(code) for code in said.get("SuccessExitStatus", "").split()}
        return cls(
            said.get("Restart", "no"),
            float(said.get("RestartSec", "0.1")),
            frozenset(map(int, said.get("RestartPreventExitStatus", "").split())),
            frozenset(CLEAN | own),
            said.get("ExecReload", ""),
        )

    def again(self, code: int) -> bool:
        """Whether a command that ended so is started again."""
        if code in self.prevented:
            return False
        return {"no": False, "always": True, "on-failure": code not in self.clean}[self.restart]

    @property
    def for_ever(self) -> bool:
        """Whether the limit of starts is never met, however quickly the command ends."""
        window, most = START_LIMIT
        return self.seconds * most > window


@dataclass
class Supervised:
    """One command under a unit's rules; `ends` are the codes so far, `gone` is set at the last."""

    rules: UnitRules
    command: Sequence[str]
    log: Path
    ends: list[int] = field(default_factory=list)
    gone: Event = field(default_factory=Event)
    process: subprocess.Popen[bytes] | None = None
    _stopped: Event = field(default_factory=Event)

    def run(self) -> None:
        """Start it, and again as the rules say; a moment stands for `RestartSec`."""
        while not self._stopped.is_set():
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
            )
            _, said = self.process.communicate()
            with self.log.open("ab") as log:
                log.write(said)
            self.ends.append(self.process.returncode)
            if not self.rules.again(self.ends[-1]):
                break
            time.sleep(0.2)
        self.gone.set()

    def stop(self) -> int:
        """As `systemctl stop` does; what it ended with."""
        self._stopped.set()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.gone.wait(LONG)
        return self.ends[-1]


@contextmanager
def supervised(unit: Path, command: Sequence[str], log: Path) -> Iterator[Supervised]:
    """The command runs until the block ends."""
    found = Supervised(UnitRules.of(unit), command, log)
    thread = Thread(target=found.run, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        if not found.gone.is_set():
            found.stop()
        thread.join(LONG)


def gopa(*arguments: str | Path, before: str = "") -> list[str]:
    """The command of this installation; `before` is Python that runs first, such as a fault."""
    program = f"{before}\nfrom gopa.cli import main; main()"
    return [sys.executable, "-c", program, *map(str, arguments)]


SYSTEMD: Final = ROOT / "deploy" / "systemd"


UNIT: Final = SYSTEMD / "gopa-board.service"


UNITS: Final = {
    "gopa-board": SERVE,
    "gopa-witness": WITNESS,
    "gopa-party": JOIN,
    "gopa-session": OPEN,
}


@pytest.mark.parametrize("name", UNITS)
def test_units_start_again_what_may_come_further(name: str) -> None:
    rules = UnitRules.of(SYSTEMD / f"{name}.service")
    assert rules.restart == "on-failure"
    assert rules.for_ever
    codes = {each.code: each.again for each in exits_of(UNITS[name]) if each.code}
    assert codes.pop(INTERRUPTED_EXIT) is False
    assert {code: rules.again(code) for code in codes} == codes
    assert not rules.again(0)
    assert rules.again(-9)  # killed, as by a system without memory


def test_the_page_names_the_codes_of_the_table() -> None:
    page = section(ROOT / "docs" / "deploy.md", "Exit codes and logs")
    head, *rows = re.findall(r"^\| (.*) \|$", page, re.MULTILINE)
    codes = [int(each) for each in head.split(" | ")[1:]]
    shown = {cells[0].strip("` "): cells[1:] for cells in (row.split("|") for row in rows)}
    for command in UNITS.values():
        said = {code for code, cell in zip(codes, shown[command], strict=True) if cell.strip()}
        assert said == {each.code for each in EXIT_CODES if each.command == command}


class Place:
    """A log with an entry, the port of its board, and what it logs."""

    def __init__(self, root: Path) -> None:
        self.root, self.board, self.port = root, root / "log", free_port()
        log = open_log(new_board(self.board))
        append(log, [submission(0)])
        log.close()

    @contextmanager
    def serving(self, *options: str | Path, before: str = "") -> Iterator[Supervised]:
        arguments = ["board", "serve", self.board, "--port", str(self.port), *options]
        with supervised(UNIT, gopa(*arguments, before=before), self.root / "errors") as found:
            yield found
            assert found.stop() == 0
        said = (self.root / "errors").read_text()
        assert "Traceback" not in said
        assert "stopped: " in said

    @property
    def answers(self) -> bool:
        return answers(f"http://127.0.0.1:{self.port}")

    def fails_with(self, found: Supervised, code: int) -> None:
        """It fails, is started again, and fails once more for the same reason."""
        assert until(lambda: len(found.ends) > 1 or found.gone.is_set())
        assert set(found.ends) == {code}
        assert not found.gone.is_set()

    def comes_back(self, found: Supervised) -> None:
        assert until(lambda: self.answers or found.gone.is_set())
        assert not found.gone.is_set()


FULL: Final = """
import os, resource
if not os.path.exists({free!r}):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
"""


"""Files of the process take no more bytes, as on a disk that is full."""


READ_ONLY: Final = """
import errno, os
usual = os.open
def checked(path, flags, *more, **named):
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes and not os.path.exists({free!r}) and {board!r} in os.fspath(path):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))
    return usual(path, flags, *more, **named)
os.open = checked
"""


"""The system refuses to open files for writing, as where it has put a disk read-only."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_a_disk_that_takes_nothing(fault: str, tmp_path: Path) -> None:
    place, free = Place(tmp_path), tmp_path / "free"
    before = fault.format(free=str(free), board=str(place.board))
    with place.serving("--anyone", before=before) as found:
        place.fails_with(found, FAILED_EXIT)
        free.touch()
        place.comes_back(found)


@pytest.mark.slow
def test_a_disk_that_is_not_there_yet(tmp_path: Path) -> None:
    place = Place(tmp_path)
    public = place.board / "public"
    public.rename(tmp_path / "elsewhere")
    with place.serving("--anyone") as found:
        place.fails_with(found, FAILED_EXIT)
        (tmp_path / "elsewhere").rename(public)
        place.comes_back(found)


@pytest.mark.slow
def test_an_index_that_is_damaged(tmp_path: Path) -> None:
    """Until a person has rebuilt it: the board itself does not need to be told."""
    place = Place(tmp_path)
    index = place.board / "state" / "index.sqlite"
    right = index.read_bytes()
    index.write_bytes(b"\0" * len(right))
    with place.serving("--anyone") as found:
        place.fails_with(found, FAILED_EXIT)
        index.write_bytes(right)
        place.comes_back(found)


@pytest.mark.slow
def test_a_port_that_is_taken(tmp_path: Path) -> None:
    place = Place(tmp_path)
    taken = socket.create_server(("127.0.0.1", place.port))
    with taken, place.serving("--anyone") as found:
        place.fails_with(found, FAILED_EXIT)
        taken.close()
        place.comes_back(found)


@pytest.mark.slow
def test_witnesses_that_start_after_the_board(tmp_path: Path) -> None:
    """Power comes back, and the board's machine is the faster one."""
    place, policy = Place(tmp_path), tmp_path / "policy"
    port = free_port()
    key = signer("witness.example/1", KeyKind.WITNESS).verifier
    policy.write_text(f"log {log_key()}\nwitness w {key} http://127.0.0.1:{port}\nquorum w\n")
    with place.serving("--anyone", "--policy", policy) as found:
        place.fails_with(found, FAILED_EXIT)
        with live_witness(tmp_path, 1, port=port):
            place.comes_back(found)


@pytest.mark.slow
def test_a_reload_stops_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert UnitRules.of(UNIT).reload == "/bin/kill -HUP $MAINPID"
    with place.serving("--anyone") as found:
        place.comes_back(found)
        assert found.process is not None
        for _ in range(3):
            found.process.send_signal(signal.SIGHUP)
            assert place.answers
    assert found.ends == [0]
    assert "read anew" in (tmp_path / "errors").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("--no-such-option",), ("--sessions", "--anyone"), ("--anyone", "--policy", "nowhere")],
    ids=["option", "two that exclude each other", "file"],
)
def test_wrong_usage_is_not_tried_again(options: tuple[str, ...], tmp_path: Path) -> None:
    place = Place(tmp_path)
    command = gopa("board", "serve", place.board, "--port", str(place.port), *options)
    with supervised(UNIT, command, tmp_path / "errors") as found:
        assert until(found.gone.is_set)
        assert found.ends == [USAGE_EXIT]
    (line,) = (tmp_path / "errors").read_text().splitlines()
    assert line.startswith("gopa: ")


def test_the_supervisor_follows_the_unit(tmp_path: Path) -> None:
    """Under rules that forbid it, nothing is started again: the tests above would fail."""
    unit = tmp_path / "board.service"
    unit.write_text(UNIT.read_text().replace("=2\n", f"=2 {FAILED_EXIT}\n"))
    assert not UnitRules.of(unit).again(FAILED_EXIT)
    assert UnitRules.of(UNIT).again(FAILED_EXIT)
    assert UnitRules.of(UNIT).again(LATER_EXIT)
