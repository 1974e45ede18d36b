"""An organiser that may lie and go on: its machine is told what fits its lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from bulletin_board import Submission
from bulletin_board.entry import sign_entry
from gopa.contract.framing import Posted
from gopa.contract.party import CONFIRM, Confirm
from gopa.contract.phases import KIND_IN, Kind, Phase
from gopa.protocol.organiser import GiveUp, Idle, Organiser, PhaseOver, Seen, SendMessage
from gopa.protocol.simulation.access import OrganiserAccess
from gopa.protocol.simulation.script import OrganiserBehaviour

Ending: TypeAlias = type[PhaseOver | Idle | GiveUp]
"""How an organiser is told that its phase ends."""

_LEAF: Final = 32


@dataclass(slots=True)
class Desk:
    """One organiser in front of one log, of which it has read `heard` entries.

    Where a lie changed a message, the machine believes that it said what it wanted to say:
    what others say about the lie reaches it as if it were about its own words, and what it
    says next acts on the lie. Parties in `blind` are never read in a phase; in `dreams`
    stands what it reads in the place of an entry.
    """

    machine: Organiser
    access: OrganiserAccess
    behaviours: tuple[OrganiserBehaviour, ...] = ()
    blind: set[tuple[bytes, Phase]] = field(default_factory=set)
    dreams: dict[int, Posted] = field(default_factory=dict)
    heard: int = 0
    lied: bool = False
    _words: dict[bytes, Posted] = field(default_factory=dict)
    _told: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return self.machine.state.over

    @property
    def opens(self) -> Phase | None:
        """The open phase."""
        current = self.machine.state.round
        return None if current is None else current.opens

    def start(self) -> list[bytes]:
        """The manifest."""
        return [raw for each in self.machine.start() for raw in _entries(each)]

    def read(self, entries: Sequence[Posted], upto: int, root: bytes) -> None:
        """Take the log up to there."""
        for posted in entries[self.heard : upto]:
            if posted.entry.session != self.access.session:
                continue
            believed = self._believed(posted)
            if believed is not None:
                self.machine.step(believed)
        self.heard = max(self.heard, upto)
        if upto == self.heard and upto:
            self.machine.step(Seen(upto, root))

    def ends(self, how: Ending) -> list[bytes]:
        """What it posts when its phase ends."""
        return [
            raw
            for output in self.machine.step(how(self.heard))
            if isinstance(output, SendMessage)
            for raw in self._said(output)
        ]

    def dream_of_confirmation(self, posted: Posted, author: bytes, close: bytes) -> None:
        """Read a confirmation, which never was, where a stranger said something."""
        entry = replace(
            posted.entry,
            author=type(posted.entry.author)(author),
            phase=Phase.CONFIRM,
            kind=KIND_IN[Phase.CONFIRM],
            body=CONFIRM.encode(Confirm(self._told.get(close, close))),
        )
        self.lied = True
        self.dreams[posted.index] = Posted(posted.index, posted.leaf, entry)

    def _believed(self, posted: Posted) -> Posted | None:
        posted = self.dreams.get(posted.index, posted)
        entry = posted.entry
        if entry.phase in set(Phase) and (entry.author.data, Phase(entry.phase)) in self.blind:
            return None
        meant = self._words.get(posted.leaf)
        if meant is not None:
            return replace(meant, index=posted.index)
        acts_on = self._told.get(entry.body[:_LEAF])
        if acts_on is None:
            return posted
        return replace(posted, entry=replace(entry, body=acts_on + entry.body[_LEAF:]))

    def _said(self, meant: SendMessage) -> list[bytes]:
        controls: list[SendMessage] = [self._about_lies(meant)]
        for behaviour in self.behaviours:
            controls = [new for old in controls for new in behaviour.publishes(self.access, old)]
        raws = [raw for each in controls for raw in each.entries]
        if raws != list(meant.entries):
            self.lied = True
            self._remember(meant, controls)
        return raws

    def _about_lies(self, meant: SendMessage) -> SendMessage:
        """The same message, acting on what was posted in place of the one before."""
        first = Submission.decode(meant.entries[0]).entry
        lies = {there: here for here, there in self._told.items()}
        acts_on = lies.get(first.body[:_LEAF])
        if acts_on is None:
            return meant
        entry = replace(
            first,
            body=acts_on + first.body[_LEAF:],
            prev_own_leaf=lies.get(first.prev_own_leaf, first.prev_own_leaf),
        )
        return SendMessage(meant.kind, meant.round, (sign_entry(entry, self.access.key),))

    def _remember(self, meant: SendMessage, controls: Sequence[SendMessage]) -> None:
        if not controls or meant.kind is Kind.MANIFEST:
            return
        wanted = Submission.decode(meant.entries[0])
        said = Submission.decode(controls[0].entries[0])
        self._words[said.leaf] = Posted(0, wanted.leaf, wanted.entry)
        self._told[said.leaf] = wanted.leaf


def _entries(output: object) -> tuple[bytes, ...]:
    return output.entries if isinstance(output, SendMessage) else ()
