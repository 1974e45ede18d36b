"""What the parties of a model say in a phase, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gopa.contract.organiser import RemovalCause
from gopa.contract.phases import Phase
from tests.small_worlds.faults import Fault
from tests.small_worlds.world import CUT_OFF, Outcome, World

Verdicts: TypeAlias = dict[int, tuple[RemovalCause, str]]
"""Why parties are not in a list."""

MISSING: Final = {
    Phase.COINS: "04-V1",
    Phase.COMMIT: "04-K4",
    Phase.PUBLISH: "04-P2",
    Phase.ROLLBACK: "04-O3",
}
ECHOED: Final = {
    Phase.JOIN: "04-J3",
    Phase.COINS: "04-V1",
    Phase.COMMIT: "04-K3",
    Phase.PUBLISH: "04-P1",
    Phase.ROLLBACK: "04-O2",
    Phase.UNMASK: "04-U1",
    Phase.RECOVER: "04-U3",
}
"""What another party's message is, word for word; a confirmation is as good as one's own."""

OF_OTHER_LENGTH: Final = {Phase.COMMIT: "04-K1", Phase.ROLLBACK: "04-O1"}
"""The same, if the other party has another number of edges, or other ones."""


@dataclass(slots=True)
class Speech:
    """Remembers who spoke when, who is struck, and whose own checks have stopped it."""

    world: World
    outcome: Outcome
    struck: set[int] = field(default_factory=set)
    halted: set[int] = field(default_factory=set)
    _closed: set[Phase] = field(default_factory=set)

    def heard(
        self, speakers: Iterable[int], phase: Phase, unlike: Collection[int] = ()
    ) -> Verdicts:
        """What keeps speakers out of the list of a phase in which all of them have to speak.

        What parties repeat of others is not even as long as their own message if `unlike`
        names them.
        """
        meant = set(speakers)
        out: Verdicts = {}
        for u in sorted(meant):
            verdict = self._verdict(u, phase, meant, unlike)
            if verdict is not None:
                out[u] = verdict
            if verdict is None or verdict[0] is not RemovalCause.ABSENT:
                self.outcome.spoke.setdefault(phase, set()).add(u)
        return out

    def close(self, phase: Phase) -> None:
        """The phase is over: second entries come that waited for it (04-E3)."""
        if phase in self._closed:
            return
        self._closed.add(phase)
        for u, fault in self.world.faults.items():
            if fault.behind is phase and self.spoke(u, fault.twice or phase):
                self._strike(u)

    def spoke(self, u: int, phase: Phase) -> bool:
        """Whether u posted anything that reached the log in this phase in time."""
        return u in self.outcome.spoke.get(phase, ())

    def _strike(self, u: int) -> None:
        self.struck.add(u)
        self.outcome.faults.add((u, "04-E3"))

    def _verdict(  # noqa: PLR0911 - one return for each way to fail
        self, u: int, phase: Phase, meant: set[int], unlike: Collection[int]
    ) -> tuple[RemovalCause, str] | None:
        fault, lists = self.world.faults.get(u), phase <= Phase.ROLLBACK
        if u in self.struck and lists:
            return RemovalCause.STRUCK, "04-E3"
        silent = u in self.halted or self.world.is_gone(u, phase)
        if silent or (fault is not None and fault.absent is phase):
            cut_off = not silent and fault is not None and fault.late and self.world.below
            return RemovalCause.ABSENT, CUT_OFF if cut_off else MISSING.get(phase, "")
        if fault is None:
            return None
        if fault.twice is phase and fault.behind is None:
            self._strike(u)
            return (RemovalCause.STRUCK, "04-E3") if lists else None
        if fault.replays is phase:  # it acts on a close of another round (04-E4)
            only_absent = phase not in MISSING or phase is Phase.ROLLBACK
            cause = (
                RemovalCause.ABSENT
                if only_absent and phase is not Phase.JOIN
                else RemovalCause.INVALID
            )
            return cause, MISSING[phase] if phase is Phase.ROLLBACK else "04-E4"
        if fault.echo is phase and self.world.about[u] not in meant:
            return RemovalCause.ABSENT, MISSING.get(phase, "")
        return self._judged(u, self._rule(u, fault, phase, unlike))

    def _rule(self, u: int, fault: Fault, phase: Phase, unlike: Collection[int]) -> str:
        """Which rule the message of u breaks."""
        if fault.wrong is phase:
            return fault.rule
        if fault.echo is not phase:
            return ""
        return OF_OTHER_LENGTH[phase] if u in unlike else ECHOED.get(phase, "")

    def _judged(self, u: int, rule: str) -> tuple[RemovalCause, str] | None:
        """In signed mode nothing shows a wrong masked value."""
        if rule == "04-P1" and not self.world.full:
            self.outcome.moved.add(u)
            return None
        if not rule:
            return None
        self.outcome.faults.add((u, rule))
        return RemovalCause.INVALID, rule
