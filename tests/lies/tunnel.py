"""The session over a tunnel in which lies are told: liars on the log, all others are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from gopa.adversary.boards.lying_client import LyingParty
from gopa.protocol.party import Post
from gopa.protocol.rules import RoundFindings
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.sessions.organising import Over
from tests.board.tools import signer
from tests.lies.worlds import EXACT
from tests.randomness import seeded
from tests.sessions.tunnel.worlds import Tunnelled
from wire.errors import ProtocolError

TURNS = 3
"""As often everybody is called before the organiser looks again: nobody honest is late."""


@dataclass
class TunnelledLies(Tunnelled):
    """Sums without noise; whoever has behaviours reads and writes the log itself."""

    script: Script = field(default_factory=Script)
    refused: list[ProtocolError] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.liars = {
            number: LyingParty(
                number,
                self.manifest,
                self.identities[number],
                copy=SimulatedBoard(signer()),
                rows=[(number,)] * self.terms.rounds,
                behaviours=behaviours,
                rng=seeded(f"liar {number}"),
            )
            for number, behaviours in self.script.parties.items()
        }
        for number in self.liars:
            self.caller(number).silent = True

    @classmethod
    def told(cls, script: Script) -> Self:
        """The session up to its end."""
        world = cls(EXACT, script=script)
        while not isinstance(world.act(), Over):
            for _ in range(TURNS):
                world.turn()
                world._lie()
            for liar in world.liars.values():
                if liar.opened is not None:
                    world._post(liar.finish(liar.opened))
        return world

    def _lie(self) -> None:
        """Liars hear what is new, and post what they make of it."""
        for liar in self.liars.values():
            reader = self.board.reader()
            raws = list(reader.entries(liar.copy.size))
            for posted in liar.read(raws, reader.size, reader.signed.root):
                if liar.simulated.halted is None:
                    self._post(liar.hear(posted))

    def _post(self, posts: Sequence[Post]) -> None:
        for raw in (raw for post in posts for raw in post.entries):
            try:
                self.board.submit(raw)
            except ProtocolError as error:
                self.refused.append(error)

    def last(self) -> RoundFindings:
        """What came of the last round."""
        return self.findings().rounds[-1]
