"""A SuperLink and SuperNodes as processes, and what is in the memory of those on the server."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

EXAMPLE: Final = Path(__file__).resolve().parents[3] / "examples" / "flower-verified"
_PIECE: Final = 1 << 24
_SHORTER: Final = """import time
slept = time.sleep
time.sleep = lambda seconds: slept({pause} if seconds == 3 else seconds)
"""
"""Flower asks again after three seconds, at both ends of every exchange."""


@dataclass
class Deployment:
    """Processes of one SuperLink and its nodes, and their files."""

    root: Path
    nodes: int
    port: int
    environment: dict[str, str]
    rounds: int = 2
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start a command of Flower; its output goes to a file of this name."""
        with (self.root / f"{name}.log").open("wb") as out:
            found = subprocess.Popen(
                [str(Path(sys.executable).parent / command[0]), *command[1:]],
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.root,
            )
        self.running.append(found)
        return found

    def app(self) -> subprocess.Popen[bytes]:
        """Run the example on these nodes."""
        kept = f'keep="{self.root / "logs"}"'
        config = f"clients={self.nodes} rounds={self.rounds} dropout=0.0 {kept}"
        where = str(self.root / "app")
        return self.start("run", "flwr", "run", where, "test", "--stream", "--run-config", config)

    def said(self, name: str) -> str:
        """The output so far."""
        return (self.root / f"{name}.log").read_text(errors="replace")

    def server(self) -> list[int]:
        """The SuperLink, and every process below it: the one that runs the ServerApp too."""
        parents = dict(_parents())
        found = [self.running[0].pid]
        for each in found:
            found += [pid for pid, parent in parents.items() if parent == each]
        return found


@contextmanager
def deployed(
    root: Path, nodes: int, rounds: int = 2, pause: float | None = None
) -> Iterator[Deployment]:
    """Start everything, and end it.

    With a `pause` all processes wait so many seconds wherever Flower waits three for a message.
    """
    ports = _free(nodes + 1)
    environment = dict(os.environ)
    python = str(Path(sys.executable).parent)
    environment |= {
        "FLWR_HOME": str(root / "flower"),
        "HOME": str(root),
        "PATH": f"{python}:{environment['PATH']}",
    }
    if pause is not None:
        (root / "shorter").mkdir()
        (root / "shorter" / "sitecustomize.py").write_text(_SHORTER.format(pause=pause))
        paths = [str(root / "shorter"), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    (root / "flower").mkdir()
    shutil.copytree(EXAMPLE, root / "app", ignore=shutil.ignore_patterns("__pycache__", "*logs"))
    config = f'[superlink]\ndefault = "test"\n[superlink.test]\naddress = "127.0.0.1:{ports[0]}"\n'
    (root / "flower" / "config.toml").write_text(config + "insecure = true\n")
    held = Deployment(root, nodes, ports[0], environment, rounds)
    try:
        link = ["--insecure", "--disable-runtime-dependency-installation", "--port", str(ports[0])]
        held.start("superlink", "flower-superlink", *link)
        _await(ports[0])
        for number, port in enumerate(ports[1:]):
            own = f'partition-id={number} gopa-home="{root / f"home-{number}"}"'
            link = ["--insecure", "--superlink", f"127.0.0.1:{ports[0]}", "--port", str(port)]
            held.start(f"node-{number}", "flower-supernode", *link, "--node-config", own)
        yield held
    finally:
        for each in reversed(held.running):
            if each.poll() is None:
                each.send_signal(signal.SIGTERM)
        for each in held.running:
            try:
                each.wait(20)
            except subprocess.TimeoutExpired:
                each.kill()


def memory_has(pid: int, marks: dict[str, bytes]) -> set[str]:
    """Which of these bytes are anywhere in what a process can write to."""
    found: set[str] = set()
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            for low, high in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw", maps, re.MULTILINE):
                found |= _in_region(memory, int(low, 16), int(high, 16), marks)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return found
    return found


def _in_region(memory: object, start: int, stop: int, marks: dict[str, bytes]) -> set[str]:
    found: set[str] = set()
    while start < stop:
        try:
            data = os.pread(memory.fileno(), min(_PIECE, stop - start), start)  # type: ignore[attr-defined]
        except OSError:
            return found
        if not data:
            return found
        found |= {name for name, mark in marks.items() if mark in data}
        start += len(data)
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                stat = (each / "stat").read_text()
            except OSError:
                continue
            yield int(each.name), int(stat.rpartition(")")[2].split()[1])


def _free(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _await(port: int, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError("the SuperLink does not start")
