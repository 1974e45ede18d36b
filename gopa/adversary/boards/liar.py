"""A party that lies in a session over HTTP: an actor of a simulation, on a way to a real board."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import Final

from bulletin_board.client.state import MemoryState
from gopa.adversary.boards.front import Way
from gopa.adversary.boards.guests import BRIEF
from gopa.messages.framing import Posted
from gopa.messages.manifest import Manifest
from gopa.messages.phases import Phase
from gopa.party import Event, Party, Post, Supplied, Witnessed
from gopa.rounds.toolkit import Toolkit
from gopa.sessions.following import Link
from gopa.sessions.herald import Herald
from gopa.sessions.ticket import Ticket
from gopa.simulation.actor import Actor
from gopa.simulation.board import SimulatedBoard, size_of
from gopa.simulation.scene import Scene
from gopa.simulation.script import Behaviour
from gopa.simulation.setup import permissive
from wire.ed25519 import SigningKey
from wire.errors import ProtocolError

_NAP_SECONDS: Final = 0.03


class Liar:
    """Reads the whole log, keeps a copy of it, and says what its behaviours make of its messages.

    `told` are the phases whose opening it has heard of: what it says in them has been posted.
    `refused` are the errors with which the board turned something away.
    """

    def __init__(  # noqa: PLR0913 - what a party is made of
        self,
        number: int,
        ticket: Ticket,
        manifest: Manifest,
        key: SigningKey,
        way: Way,
        *,
        copy: SimulatedBoard,
        row: tuple[int, ...],
        behaviours: Sequence[Behaviour],
    ) -> None:
        """`copy` is an empty log; `row` what it has to contribute, on the grid."""
        toolkit = Toolkit()
        policy = permissive(manifest.terms)
        party = Party(
            manifest, key, policy, rng=os.urandom, toolkit=toolkit, session=ticket.session
        )
        state = party.start()
        scene = Scene(
            index=number,
            session=ticket.session,
            manifest=manifest,
            toolkit=toolkit,
            key=key,
            rng=os.urandom,
            board=copy,
            before=state,
            state=state,
        )
        self.number, self.way, self.row = number, way, row
        self.told: set[Phase] = set()
        self.refused: list[ProtocolError] = []
        self._actor = Actor(party, scene, tuple(behaviours))
        self._copy, self._organiser, self._session = copy, manifest.organiser, ticket.session
        self._herald = Herald(manifest)
        self._supplied = False
        self._opens: Phase | None = None
        self._link = Link(
            ticket.board,
            ticket.trust,
            MemoryState(),
            rng=os.urandom,
            transport=way,
            patience=BRIEF,
        )
        self._task = asyncio.create_task(self._run())

    async def leave(self) -> None:
        """It goes home."""
        self._task.cancel()
        await asyncio.wait({self._task})
        await self._link.close()

    async def _run(self) -> None:
        while self._actor.halted is None:
            try:
                fresh = await self._link.read(self._read)
                for posted in fresh:
                    await self._link.read(partial(self._hear, posted))
            except ProtocolError as error:
                self.refused.append(error)
            await asyncio.sleep(_NAP_SECONDS)

    def _read(self) -> Sequence[Posted]:
        """What the log has and the copy had not."""
        reader = self._link.client.reader()
        fresh = self._copy.post(list(reader.entries(min(self._copy.size, reader.size))))
        if fresh:
            self._tell(Witnessed(reader.size, reader.signed.root))
        return fresh

    def _hear(self, posted: Posted) -> None:
        author = posted.entry.author.data
        if author == self._organiser:
            if posted.entry.round and not self._supplied:
                self._supplied = True
                self._post(self._tell(Supplied(0, self.row)))
            news, before = self._herald.hear(posted), self._opens
            self._post(self._tell(posted))
            opens = None if news is None else news.opens
            if before is not None and before is not opens:
                self._post(self._actor.after(before))
            if opens is not None:
                self._post(self._actor.last_words(opens))
                self.told.add(opens)
            self._opens = opens
        elif author == self._actor.author:
            self._post(self._tell(posted))

    def _tell(self, event: Event) -> list[Post]:
        return self._actor.tell(
            event,
            lambda wanted: self._copy.fetch(wanted, self._session),
            lambda entries: size_of(self._copy, entries),
        )

    def _post(self, posts: Sequence[Post]) -> None:
        """What the board takes of it."""
        for raw in (raw for post in posts for raw in post.entries):
            try:
                self._link.client.submit(raw)
            except ProtocolError as error:
                self.refused.append(error)
