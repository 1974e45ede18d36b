"""Starts a command as a unit of `deploy/systemd/` would: again, or not, by the unit's own rules."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Final

from tests.board.waiting import LONG
from tests.deploy.test_readme import environment

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
