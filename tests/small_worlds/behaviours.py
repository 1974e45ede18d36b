"""Departures that small worlds need beside those of simulations and of `gopa.adversary.deeds`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gopa.adversary.deeds import other_seed
from gopa.adversary.deeds.kinds import key_of
from gopa.contract.party import COMMIT, Commit
from gopa.contract.phases import Phase
from gopa.protocol.party import Post
from gopa.protocol.simulation.access import PartyAccess, body_of, first_entry
from gopa.protocol.simulation.script import Honest
from tests.lies import lying


@dataclass(frozen=True, slots=True)
class Cut(Honest):
    """Posts its message of a phase without the last byte."""

    phase: Phase

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not self.phase:
            return [post]
        seq = first_entry(post.entries).seq
        return [access.sign(post.phase, body_of(post.entries)[:-1], seq)]


@dataclass(frozen=True, slots=True)
class Echo(Honest):
    """Waits for another party's message of a phase and posts the body as its own."""

    phase: Phase
    victim: int

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not self.phase:
            return [post]
        access.memory["echo"] = first_entry(post.entries).seq
        return []

    def last_words(self, access: PartyAccess, phase: Phase) -> Sequence[Post]:
        seq = access.memory.pop("echo", None) if phase is self.phase else None
        close = access.state.chain.leaf
        seen = [
            posted.entry.body
            for posted in access.board.stream(key_of(access, self.victim), self.phase, access.round)
            if posted.entry.body.startswith(close)
        ]
        return [] if seq is None or not seen else [access.sign(phase, seen[0], seq)]


@dataclass(frozen=True, slots=True)
class EdgeMissing(Honest):
    """Commits to one edge less than it has neighbours, or to one that is nobody's."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.COMMIT:
            return [post]
        return [access.altered(post, COMMIT, lambda c: replace(c, edges=self._edges(access, c)))]

    def _edges(self, access: PartyAccess, content: Commit) -> tuple[bytes, ...]:
        return content.edges[:-1] if content.edges else (access.toolkit.group.generator.to_bytes(),)


@dataclass(frozen=True, slots=True)
class VetoWithAnotherSeed(Honest):
    """Deals right shares of another seed than its own, and keeps its own."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        return (
            [] if post.phase is Phase.UNMASK else lying("commit", other_seed()).says(access, post)
        )
