"""Commands in processes of their own, and what they have said so far."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from gopa.cli import main

ROOT: Final = Path(__file__).resolve().parents[3]
FOREVER: Final = 420.0
"""Seconds after which something is not slow but wrong, however busy the machine."""

_PAUSE: Final = 0.1
_SECRETS: Final = frozenset({"GOPA_PASSPHRASE"})


def eventually(condition: Callable[[], Any], what: str, seconds: float = FOREVER) -> None:
    """Return as soon as the condition holds; fail if it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(_PAUSE)


@dataclass
class Running:
    """One process. Its output is in files, so that nothing is lost however it ends."""

    name: str
    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    _read: int = 0
    _events: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        name: str,
        arguments: Sequence[object],
        directory: Path,
        *,
        stdin: str | None = None,
        env: dict[str, str] | None = None,
    ) -> Running:
        """Files of earlier processes of the same name stay."""
        directory.mkdir(exist_ok=True)
        number = len(list(directory.glob(f"{name}.*.out")))
        out, err = directory / f"{name}.{number}.out", directory / f"{name}.{number}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [str(each) for each in arguments],
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                cwd=ROOT,
                env={k: v for k, v in os.environ.items() if k not in _SECRETS} | (env or {}),
            )
        if process.stdin is not None:
            process.stdin.write((stdin or "").encode())
            process.stdin.close()
        return cls(name, process, out, err)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON lines that are complete."""
        data = self.out.read_bytes()
        whole = data.rfind(b"\n") + 1
        for line in data[self._read : whole].splitlines():
            self._events.append(json.loads(line))
        self._read = whole
        return self._events

    @property
    def complaint(self) -> str:
        return self.err.read_text()

    def said(self, event: str, **facts: object) -> dict[str, Any] | None:
        """The first event of this name that has these facts."""
        for each in self.events:
            if each.get("event") == event and facts.items() <= each.items():
                return each
        return None

    def awaited(self, event: str, **facts: object) -> dict[str, Any]:
        """The same, once it is there; fails if the process ends before."""
        eventually(
            lambda: self.said(event, **facts) or not self.alive, f"{self.name}: {event} {facts}"
        )
        found = self.said(event, **facts)
        assert found is not None, (self.name, self.process.returncode, self.complaint)
        return found

    def wait(self) -> int:
        """The exit code."""
        eventually(lambda: not self.alive, f"the end of {self.name}: {self.complaint[-500:]}")
        return self.process.returncode

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def strike(self) -> None:
        """`kill` of one that runs: fails if it had ended before."""
        self.kill()
        assert self.process.returncode == -signal.SIGKILL, (self.name, self.complaint)

    def kill(self) -> None:
        """As a power cut does: nothing is said or saved. Does nothing to what has ended."""
        if self.alive:
            self.process.kill()
        self.process.wait()


@dataclass(frozen=True)
class Ended:
    """A command that was run to its end in this process, through its entry point."""

    code: int
    out: str
    complaint: str

    def said(self, event: str) -> dict[str, Any] | None:
        """The first event of this name."""
        lines = [json.loads(line) for line in self.out.splitlines()]
        return next((each for each in lines if each.get("event") == event), None)


def ended(
    *arguments: object, stdin: str | None = None, env: Mapping[str, str] | None = None
) -> Ended:
    """Run `gopa` with these arguments, where a process of its own would show nothing more."""
    hidden: dict[str, str | None] = dict.fromkeys(_SECRETS)
    with (
        CliRunner().isolation(stdin, env={**hidden, **(env or {})}) as (out, err, _),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "argv", ["gopa", *map(str, arguments)])
        patch.setattr(os, "_exit", sys.exit)  # a thread that hangs would end the tests, too
        with pytest.raises(SystemExit) as ending:
            main()
        sys.stdout.flush()
        sys.stderr.flush()
        return Ended(int(ending.value.code or 0), out.getvalue().decode(), err.getvalue().decode())


def python(*arguments: object) -> tuple[object, ...]:
    return (sys.executable, *arguments)


def gopa(*arguments: object) -> tuple[object, ...]:
    return python("-m", "gopa", *arguments)
