"""A board, witnesses, an organiser and parties, each a process in a place of its own."""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gopa.contract.phases import Phase
from gopa.sessions.organising.storage import OrganiserPlace
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import identity as identities
from tests.sessions.processes.running import Ended, Running, ended, eventually, gopa, python
from tests.sessions.processes.stranger import gate

PLAN: Final = ("--epsilon", "100", "--delta", "0.1", "--dropout", "0.1", "--recovery", "1/2")
ACCEPTED: Final = ("--epsilon", "100", "--delta", "0.1")
LONG_PHASES: Final = ("--join-seconds", "3600", "--phase-seconds", "3600", "--poll", "0.2")
"""No phase ends because its time is over, unless a test says so."""

Prefix = Callable[[str], tuple[str, ...]]


def nowhere(_: str) -> tuple[str, ...]:
    """No prefix: everything runs on this machine."""
    return ()


def lasting_port() -> int:
    """A free port that stays free while a board that is killed is away.

    Systems take the ports of outgoing connections from 32768 upwards: one of a client that
    looks for the board may be the board's own, and it could not listen there again.
    """
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port


@dataclass
class World:
    """Everything of one session lies below `root`; `prefix` says where a process runs."""

    root: Path
    parties: int
    host: str = "127.0.0.1"
    prefix: Prefix = nowhere
    plan: Sequence[str] = PLAN
    port: int = field(default_factory=lasting_port)
    keys: list[bytes] = field(default_factory=list)
    started: list[Running] = field(default_factory=list)
    log_key: str = ""
    policy: Path | None = None
    witnesses: list[Running] = field(default_factory=list)
    board: Running = field(init=False)

    @property
    def board_directory(self) -> Path:
        return self.root / "board"

    @property
    def place(self) -> OrganiserPlace:
        return OrganiserPlace(self.root / "organiser")

    @property
    def ticket(self) -> Ticket:
        return self.place.ticket()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def run(
        self,
        name: str,
        *arguments: object,
        stdin: str | None = None,
        env: dict[str, str] | None = None,
    ) -> Running:
        """A process in the place of this name."""
        whole = (*self.prefix(name), *arguments)
        running = Running.start(name, whole, self.root / "said", stdin=stdin, env=env)
        self.started.append(running)
        return running

    def facts(self, name: str, *arguments: object) -> dict[str, Any]:
        """The answer of a command that does one thing."""
        if self.prefix is nowhere:
            done = ended(*arguments, "--json")
            assert done.code == 0, done.complaint
            return dict(json.loads(done.out))
        running = self.run(name, *gopa(*arguments, "--json"))
        assert running.wait() == 0, running.complaint
        found = json.loads(running.out.read_text())
        assert isinstance(found, dict)
        return found

    def prepare(self, *more: object) -> None:
        """The board runs, everybody has a key, the ticket is written."""
        made = self.facts("board", "board", "init", self.board_directory, "--origin", "b.example/t")
        self.log_key = made["log"]
        self._keys()
        if more:
            self._witnesses(*more)
        self.serve()
        roster = self.root / "roster.txt"
        roster.write_text("".join(f"{key.hex()}\n" for key in self.keys))
        where = ("--board", self.url, "--log-key", self.log_key, "--roster", roster)
        trusted = () if self.policy is None else ("--policy", self.policy)
        self.facts("organiser", "session", "create", self.place.root, *where, *trusted, *self.plan)

    def serve(self) -> None:
        """The board, which listens; also again on the same port."""
        place = ("--host", self.host, "--port", self.port)
        trusted = () if self.policy is None else ("--policy", self.policy)
        serving = gopa("board", "serve", self.board_directory, "--sessions", *place, *trusted)
        self.board = self.run("board", *serving, "--json")
        self._listening(self.board)

    def open(self, *more: object) -> Running:
        """The organiser, whose phases wait for everybody."""
        command = gopa("session", "open", self.place.root, *LONG_PHASES, *more, "--json")
        return self.run("organiser", *command)

    def join(
        self,
        number: int,
        *how: object,
        stdin: str | None = None,
        ticket: Path | None = None,
        accepted: Sequence[str] = ACCEPTED,
        env: dict[str, str] | None = None,
    ) -> Running:
        """A party; `how` gives its value."""
        command = gopa(*self._joining(number, ticket), *accepted, *how)
        return self.run(f"p{number}", *command, stdin=stdin, env=env)

    def answer(
        self, number: int, *how: object, ticket: Path | None = None, **options: Any
    ) -> Ended:
        """What a party gets that does not wait for others, in this process."""
        return ended(*self._joining(number, ticket), *ACCEPTED, *how, **options)

    def _joining(self, number: int, ticket: Path | None) -> tuple[object, ...]:
        where = ticket or self.place.ticket_path
        return ("join", where, "--identity", self.identity(number), "--json")

    def stranger(self, kind: str, number: int) -> Running:
        """A party of another kind: see the module."""
        where = (kind, self.place.ticket_path, self.identity(number), self.home(number))
        return self.run(f"p{number}", *python("-m", "tests.sessions.processes.stranger", *where))

    def let_through(self, number: int, phase: Phase) -> None:
        """The party that waits says what it has to say in this phase."""
        gate(self.home(number), phase).touch()

    def home(self, number: int) -> Path:
        return self.root / f"p{number}"

    def identity(self, number: int) -> Path:
        return self.home(number) / "key"

    def _keys(self) -> None:
        for number in range(self.parties):
            self.home(number).mkdir()
            made = identities.create(self.identity(number), rng=os.urandom)
            self.keys.append(made.public.data)

    def _witnesses(self, *names: object) -> None:
        """One process for each name, and a policy that wants all but one of them."""
        lines, signers = [f"log {self.log_key}"], []
        for name in names:
            port = lasting_port()
            command = gopa("board", "witness", self.root / str(name), "--name", f"{name}.example")
            where = ("--log", self.log_key, "--port", port, "--json")
            witness = self.run(str(name), *command, *where)
            self._listening(witness)
            self.witnesses.append(witness)
            key = witness.events[0]["witness"]
            lines.append(f"witness {name} {key} http://127.0.0.1:{port}")
            signers.append(str(name))
        lines += [f"group all {max(1, len(names) - 1)} {' '.join(signers)}", "quorum all", ""]
        self.policy = self.root / "policy.txt"
        self.policy.write_text("\n".join(lines))

    @staticmethod
    def _listening(server: Running) -> None:
        eventually(lambda: server.events or not server.alive, f"{server.name} listens")
        assert server.alive, server.complaint

    def stop(self) -> None:
        """Every process that is left."""
        for running in self.started:
            running.kill()


@contextmanager
def world(root: Path, parties: int, **options: Any) -> Iterator[World]:
    """All processes end with the block."""
    made = World(root, parties, **options)
    try:
        yield made
    finally:
        made.stop()
