"""A party of a simulation: its state machine, its behaviours, what it cost and what it hides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from commitments import Opening
from gopa.contract.framing import Posted, party_id
from gopa.contract.phases import Phase
from gopa.protocol.party import (
    Event,
    Fetch,
    Fetched,
    Finished,
    Halted,
    Output,
    Party,
    PartyState,
    Post,
    TimedOut,
    with_root,
)
from gopa.protocol.party.states import Committed, RowVectors
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.script import Behaviour
from gopa.rounds.masks import add_self_words, self_mask
from gopa.rounds.rows.challenges import signed_permutation
from wire.errors import ProtocolError, UsageError
from wire.secret import Guarded


@dataclass(slots=True)
class Usage:
    """What a party cost so far.

    `posted` and `read` are bytes of entries; `entries` is how many were read, each of them
    with a signature. `cpu_seconds` is what the clock of the options measured of the party's steps,
    without those signatures: 0 unless the options have a clock.
    """

    posted: int = 0
    read: int = 0
    entries: int = 0
    cpu_seconds: float = 0.0

    def since(self, then: Usage) -> Usage:
        """The usage between an earlier reading and this one."""
        return Usage(
            self.posted - then.posted,
            self.read - then.read,
            self.entries - then.entries,
            self.cpu_seconds - then.cpu_seconds,
        )


Answer = Callable[[Fetch], tuple[Posted, ...]]
Sizes = Callable[[Sequence[Posted]], int]
Clock = Callable[[], float]


def unmeasured() -> float:
    """A clock that stands still."""
    return 0.0


@dataclass(slots=True, repr=False, eq=False)
class SimulatedParty(Guarded):
    """One party, stepped, whose behaviours change what it posts."""

    party: Party
    access: PartyAccess
    behaviours: tuple[Behaviour, ...] = ()
    clock: Clock = unmeasured
    usage: Usage = field(default_factory=Usage)
    finished: list[Finished] = field(default_factory=list)
    halted: ProtocolError | None = None

    @property
    def index(self) -> int:
        """Its number, in the order of the keys."""
        return self.access.index

    @property
    def author(self) -> bytes:
        """The party's Ed25519 key."""
        return self.access.key.public.data

    @property
    def state(self) -> PartyState:
        """The state of its machine."""
        return self.access.state

    def tell(
        self, event: Event, answer: Answer, size_of: Callable[[Sequence[Posted]], int]
    ) -> list[Post]:
        """What the party posts when it is told this, fetches answered at once.

        Of a close it is told the root that its board has at the cut.
        """
        if isinstance(event, Posted):
            event = with_root(self.state.chain, event, self.access.board.root_at)
        said: list[Post] = []
        waiting: list[Event] = [event]
        while waiting:
            for output in self._step(waiting.pop(0)):
                if isinstance(output, Post):
                    said += self._spoken(output)
                elif isinstance(output, Fetch):
                    entries = answer(output)
                    self.reads(entries, size_of)
                    waiting.append(Fetched(output.phase, entries))
                elif isinstance(output, Finished):
                    self.finished.append(output)
                elif isinstance(output, Halted):
                    self.halted = output.error
        return said

    def reads(self, entries: Sequence[Posted], size_of: Sizes) -> None:
        """Count what the party reads."""
        self.usage.read += size_of(entries)
        self.usage.entries += len(entries)

    def last_words(self, phase: Phase) -> list[Post]:
        """What its behaviours add before a phase ends."""
        return self._counted(
            [post for each in self.behaviours for post in each.last_words(self.access, phase)]
        )

    def after(self, phase: Phase) -> list[Post]:
        """What its behaviours add behind the close of a phase."""
        return self._counted(
            [post for each in self.behaviours for post in each.after(self.access, phase)]
        )

    def _step(self, event: Event) -> tuple[Output, ...]:
        begun = self.clock()
        state, outputs = self.party.step(self.access.state, event)
        self.usage.cpu_seconds += self.clock() - begun
        self.access.before, self.access.state = self.access.state, state
        return outputs

    def _spoken(self, post: Post) -> list[Post]:
        posts = [post]
        for behaviour in self.behaviours:
            posts = [new for old in posts for new in behaviour.says(self.access, old)]
        if self.access.silenced:
            self.access.silenced = False
            self._step(TimedOut(self.access.round))
        return self._counted(posts)

    def _counted(self, posts: list[Post]) -> list[Post]:
        self.usage.posted += sum(len(raw) for post in posts for raw in post.entries)
        return posts


def noise_for_tests(state: PartyState, author: bytes, values: tuple[int, ...]) -> tuple[int, ...]:
    """The noise that a party has just committed to: its masked input, less mask and input.

    Raises:
        UsageError: the party is not in the stage right behind its commit.
    """
    stage = state.stage
    if not isinstance(stage, Committed):
        raise UsageError("the noise is known between the closes of coins and commit", "state")
    context = stage.view.context
    place = context.self_context(party_id(author))
    if isinstance(stage.masked, Opening):
        if stage.seed is None:
            raise UsageError("full mode has self-masks", "state")
        own = self_mask(context.group, stage.seed, place, context.dimension)
        plain = (stage.masked.values - own.values).reveal().ints()
        return tuple(
            _centred(y - x, context.group.order) for y, x in zip(plain, values, strict=True)
        )
    if isinstance(stage.masked, RowVectors):
        moved = signed_permutation(context, stage.view.joint, place.party)
        noise = moved.applied(stage.masked.drawn.rows.values)
        return tuple(noise[: context.dimension].tolist())
    words = stage.masked.copy()
    if stage.seed is not None:
        add_self_words(words, stage.seed, place, -1, group=context.group)
    plain = words.astype(np.uint64).tolist()
    return _differences(plain, values, 1 << (8 * words.itemsize))


def _differences(masked: list[int], values: tuple[int, ...], modulus: int) -> tuple[int, ...]:
    return tuple(_centred(y - x, modulus) for y, x in zip(masked, values, strict=True))


def _centred(value: int, modulus: int) -> int:
    """The representative next to zero."""
    reduced = value % modulus
    return reduced - modulus if reduced > modulus // 2 else reduced
