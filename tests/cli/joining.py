"""Sessions that `gopa join` may take part in, with everybody else in a thread."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from gopa.cli import commands
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.sessions.board_access import Together
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import identity
from tests.board.waiting import LONG
from tests.sessions.hostile.worlds import Gate, Through, said
from tests.sessions.live.worlds import Gathering, gathering

ACCEPTED = ("--epsilon", "100", "--delta", "0.999", "--allow-signed")


@dataclass
class Stand:
    """One party's key and ticket in a session whose others are busy in a thread."""

    world: Gathering
    root: Path

    @property
    def key(self) -> Path:
        return self.root / "mine" / "key"

    def ticket(self, changed: Ticket | None = None) -> Path:
        path = self.root / f"ticket-{len(list(self.root.glob('ticket-*')))}.json"
        (changed or self.world.ticket).write(path)
        return path

    def join(self, *more: object, ticket: Path | None = None, as_json: bool = True) -> Result:
        """The command, to its end, in this process."""
        line = ["join", ticket or self.ticket(), "--identity", self.key, *ACCEPTED, *more]
        line += ["--json"] if as_json else []
        return CliRunner().invoke(commands, [str(each) for each in line])


def events(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@contextmanager
def stand(root: Path, terms: Terms, *, mute: int | None = None, **options: Any) -> Iterator[Stand]:
    """Party 0 is whoever joins; the others offer 0.5 in every round, once it is opened.

    Nothing that party `mute` publishes arrives.
    """
    (root / "mine").mkdir()
    mine = identity.create(root / "mine" / "key", rng=os.urandom)
    with gathering(root, terms, first=mine, **options) as world:
        loop, done = asyncio.new_event_loop(), Future[None]()
        task = loop.create_task(_crowd(world, mute))

        def work() -> None:
            try:
                loop.run_until_complete(asyncio.wait({task}))
            finally:
                done.set_result(None)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield Stand(world, root)
        finally:
            loop.call_soon_threadsafe(task.cancel)
            done.result(LONG)
            thread.join(LONG)
            loop.close()


async def _crowd(world: Gathering, mute: int | None) -> None:
    together = Together()
    clients = []
    for number in range(1, world.terms.parties):
        way = Through(Gate(world.ticket.board))
        way.gate.stops = said(Phase.PUBLISH)
        clients.append(world.member(number, connect=way if number == mute else together))
    work: list[asyncio.Task[Any]] = [asyncio.create_task(world.open())]
    for _ in range(world.terms.rounds):
        work += [asyncio.create_task(each.contribute(world.ticket, 0.5)) for each in clients]
    try:
        await asyncio.gather(*work, return_exceptions=True)
    finally:
        for each in work:
            each.cancel()
        for client in clients:
            await client.close()
