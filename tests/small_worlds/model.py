"""A model of one round in sets: what the rules have to make of a world.

Written from the specification alone: no messages, no commitments, no code of the rules.
Parties are numbers, a departure is a `Fault`, and everything follows from who is meant
to say what, and does.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.phases import Phase
from tests.small_worlds.court import convictions
from tests.small_worlds.graphs import pair
from tests.small_worlds.speech import MISSING, Speech, Verdicts
from tests.small_worlds.world import CUT_OFF, Outcome, Row, World


def predict(world: World) -> Outcome:
    """Follow one round through all of its phases."""
    course = _Course(world)
    with suppress(_Over):
        course.run()
    return course.outcome


class _Over(Exception):
    """The round was aborted."""


class _Course:
    """The state of a round; every method is one phase, or one rule."""

    def __init__(self, world: World) -> None:
        self.world, self.whole = world, world
        self.outcome = Outcome()
        self.speech = Speech(world, self.outcome)
        self.withheld = 0
        self.keys: dict[int, set[int]] = {}

    def run(self) -> None:
        joining = self.world.joining
        roll = self._join(set(range(self.world.parties) if joining is None else joining))
        members = self._coins(roll)
        out = self.speech.heard(members, Phase.COMMIT, self._of_other_degree(members))
        listed = self._shortened(members, out, Phase.COMMIT)
        live = self._compare(listed)
        final = self._rollback(live, self._publish(roll, listed, live))
        self.outcome.final = frozenset(final)
        self._unmask(final, self._confirm(final, live))

    def _join(self, everybody: set[int]) -> set[int]:
        out = self.speech.heard(everybody, Phase.JOIN)
        for u in self.world.barred & everybody:
            self.outcome.faults.discard((u, "04-J3"))  # its proof is not even read
            if out.get(u, (None, "04-J3"))[1] == "04-J3":
                out[u] = RemovalCause.INVALID, "04-X5"
        self._remove(
            {u: each for u, each in out.items() if each[0] is not RemovalCause.ABSENT}, Phase.JOIN
        )
        self.speech.close(Phase.JOIN)
        if len(everybody) - len(out) < self.world.survivors:
            self._abort(AbortReason.TOO_FEW_JOINED, {}, Phase.JOIN)
        return everybody - out.keys()

    def _coins(self, roll: set[int]) -> set[int]:
        out = self.speech.heard(roll, Phase.COINS)
        self._remove(out, Phase.COINS)
        self.speech.close(Phase.COINS)
        if len(out) > self.world.loss:
            self._abort(AbortReason.TOO_MANY_WITHHELD, out, Phase.COINS)
        members = roll - out.keys()
        if len(members) < self.world.survivors:
            self._abort(AbortReason.TOO_FEW_LEFT, out, Phase.COINS)
        self.withheld = len(out)
        edges = frozenset(edge for edge in self.world.edges if members.issuperset(edge))
        self.world = self.speech.world = replace(self.world, edges=edges)
        return members

    def _compare(self, listed: set[int]) -> set[tuple[int, int]]:
        """04-K5: the live edges; and which keys each party keeps."""
        world = self.world
        inside = {edge for edge in world.edges if listed.issuperset(edge)}
        void = {(u, v) for u, v in inside if world.lies_to(u, v) or world.lies_to(v, u)}
        self.outcome.void = void
        for u in listed:
            believed = self._believed(u, listed)
            self.keys[u] = {v for v in believed if not world.conspires_with(v, u)}
        return inside - void

    def _publish(self, roll: set[int], listed: set[int], live: set[tuple[int, int]]) -> set[int]:
        convicted = convictions(self.world, roll, listed, self.outcome.void)
        out = self.speech.heard(listed, Phase.PUBLISH)
        fits = {
            u
            for u in listed
            if {pair(u, v) for v in self._believed(u, listed)} == {e for e in live if u in e}
        }
        if self.world.full:
            self._hold_against(out, listed - fits, Phase.PUBLISH)
        for u in listed - out.keys() - convicted.keys() - fits:
            self._misfit(u, out)
        for u, rule in convicted.items():
            if u not in out or out[u][0] is not RemovalCause.STRUCK:
                out[u] = RemovalCause.CONVICTED, rule
        self.outcome.faults |= set(convicted.items())
        members = self._shortened(listed, out, Phase.PUBLISH)
        if self._owed(live, members) and not self.world.rollbacks:
            self._abort(AbortReason.TOO_MANY_ROLLBACKS, out, Phase.PUBLISH)
        return members

    def _rollback(self, live: set[tuple[int, int]], members: set[int]) -> set[int]:
        step = 0
        while step or self._owed(live, members):
            step += 1
            owed = self._owed(live, members)
            out = self._openings(owed, members)
            before, members = members, self._shortened(members, out, Phase.ROLLBACK, step)
            if members != before and step >= self.world.rollbacks:
                self._abort(AbortReason.TOO_MANY_ROLLBACKS, out, Phase.ROLLBACK, step)
            for u in before - {v for v in out if out[v][0] is not RemovalCause.LOST}:
                self.outcome.opened |= {pair(u, v) for v in owed.get(u, ())}
                self.keys[u] &= before
            if members == before:
                break
        self.speech.halted |= {u for u in members if not self.keys[u] <= members}
        return members

    def _confirm(self, final: set[int], live: set[tuple[int, int]]) -> set[int]:
        out = self.speech.heard(final, Phase.CONFIRM)
        self.outcome.laggards |= out.keys() - _cut_off(out)
        self.speech.close(Phase.CONFIRM)
        self._tell(final, live)
        confirmed = final - out.keys()
        if not self._enough(final, confirmed):
            self._abort(AbortReason.NOT_CONFIRMED, out, Phase.CONFIRM)
        for u in self._echoing & confirmed:
            if not self._enough(final, confirmed - {u}):  # its own words are not in the log
                self.speech.halted.add(u)
        return confirmed

    def _enough(self, final: set[int], confirmed: set[int]) -> bool:
        """04-F2, with these confirmations."""
        lonely = any(self.world.lost(u, confirmed, self.withheld) > self.world.loss for u in final)
        return len(confirmed) >= self.world.survivors and not lonely

    def _unmask(self, final: set[int], confirmed: set[int]) -> None:
        out = self.speech.heard(final, Phase.UNMASK)
        self.speech.close(Phase.UNMASK)
        self.outcome.laggards |= out.keys() - _cut_off(out)
        self.outcome.unmasked = final - out.keys()
        if not out:
            return
        if self.world.threshold is None:
            self._abort(AbortReason.NOT_UNMASKED, out, Phase.UNMASK)
        closed = self._recover(set(out), confirmed)
        if closed:
            self.outcome.vetoed = closed <= _cut_off(out)
            self._abort(AbortReason.NOT_UNMASKED, {u: out[u] for u in closed}, Phase.RECOVER)
        self.outcome.recovered, self.outcome.unmasked = set(out), set(final)

    def _recover(self, missing: set[int], confirmed: set[int]) -> set[int]:
        """04-U3, 04-U4, 04-U5: whose self-mask stays closed."""
        world = self.world
        assert world.threshold is not None
        sure = confirmed - self._echoing
        owing = {u for u in sure if world.neighbours(u) & missing}
        giving = owing - self.speech.heard(owing, Phase.RECOVER).keys()
        given = {u: world.neighbours(u) & missing for u in giving}
        for u in giving & {v for v, fault in world.faults.items() if fault.spoils}:
            given[u].discard(min(given[u]))
            self.outcome.faults.add((u, "04-U3"))
        closed = {
            dealer
            for dealer in missing
            if sum(dealer in each for each in given.values())
            <= int(world.threshold * len(world.neighbours(dealer)))
        }
        others = {u for u, fault in world.faults.items() if fault.deals_another}
        convicted = others & (missing - closed)
        self.outcome.faults |= {(u, "04-U5") for u in convicted}
        return closed | convicted

    # Rules of several phases

    @property
    def _echoing(self) -> set[int]:
        """Who posts a confirmation that it did not write, and so does not know as its own."""
        return {u for u, fault in self.world.faults.items() if fault.echo is Phase.CONFIRM}

    def _believed(self, u: int, listed: set[int]) -> set[int]:
        """With whom u shares a live edge, for all it knows: they posted what it computed."""
        around = self.world.neighbours(u) & listed
        return {v for v in around if not self.world.lies_to(v, u)}

    def _of_other_degree(self, members: set[int]) -> set[int]:
        """Who has another number of neighbours than the party that its fault is about."""
        degree = {u: len(self.world.neighbours(u)) for u in members}
        return {u for u in members if degree.get(self.world.about.get(u, u)) != degree[u]}

    def _misfit(self, u: int, out: Verdicts) -> None:
        """04-P1: the published value has other masks than those that count."""
        if self.world.full:
            self.outcome.faults.add((u, "04-P1"))
            out[u] = RemovalCause.INVALID, "04-P1"
        else:
            self.outcome.moved.add(u)

    def _owed(self, live: set[tuple[int, int]], members: set[int]) -> dict[int, set[int]]:
        """04-O1."""
        owed: dict[int, set[int]] = {}
        for edge in live - self.outcome.opened:
            for u, v in (edge, edge[::-1]):
                if u in members and v not in members:
                    owed.setdefault(u, set()).add(v)
        return owed

    def _openings(self, owed: dict[int, set[int]], members: set[int]) -> Verdicts:
        """Who does not open what it owes, or opens more since it misjudged an edge."""
        ready = {u: self.keys[u] - members for u in members if not self.keys[u] <= members}
        out: Verdicts = dict.fromkeys(owed.keys() - ready.keys(), (RemovalCause.ABSENT, "04-O3"))
        unlike = {u for u in ready if ready.get(self.world.about.get(u, u)) != ready[u]}
        out |= self.speech.heard(ready, Phase.ROLLBACK, unlike)
        wrong = {u for u in ready if ready[u] != owed.get(u, set())}
        self._hold_against(out, wrong & owed.keys(), Phase.ROLLBACK)
        for u in wrong - owed.keys() & _cut_off(out):
            del out[u]  # it owes nothing: who says nothing is not missed
        for u in ready.keys() - out.keys():
            if u in wrong and not self._is_late(u, Phase.ROLLBACK):
                out[u] = RemovalCause.INVALID, "04-O1"
                self.outcome.faults.add((u, "04-O1"))
        return out | dict.fromkeys(members & self.speech.struck, (RemovalCause.STRUCK, "04-E3"))

    def _tell(self, final: set[int], live: set[tuple[int, int]]) -> None:
        """04-O5, 04-F3: edges that were opened behind the final close, and the confirmation."""
        for u, fault in self.world.faults.items():
            told = {pair(u, v) for v in self.keys.get(u, set()) & final} & live
            if fault.tells and self.speech.spoke(u, Phase.CONFIRM) and told:
                self.outcome.opened |= told
                self.outcome.faults |= {(u, "04-O5"), (u, "04-F3")}

    def _shortened(self, before: set[int], out: Verdicts, phase: Phase, step: int = 0) -> set[int]:
        """04-L2, 04-L3: the list after peeling, or an abort."""
        named, kept = _named(out), before - out.keys()
        while True:
            lost = {u for u in kept if self._is_lost(u, kept)}
            if not lost:
                break
            kept -= lost
            out |= dict.fromkeys(lost, (RemovalCause.LOST, "04-L2"))
        self._remove(out, phase, step)
        self.speech.close(phase)
        if len(kept) < self.world.survivors:
            self._abort(AbortReason.TOO_FEW_LEFT, {u: out[u] for u in named}, phase, step)
        return kept

    def _is_lost(self, u: int, kept: set[int]) -> bool:
        return self.world.lost(u, kept, self.withheld) > self.world.loss

    def _remove(self, out: Verdicts, phase: Phase, step: int = 0) -> None:
        self.outcome.removals |= {
            Row(u, phase, step, cause, rule) for u, (cause, rule) in out.items()
        }

    def _hold_against(self, out: Verdicts, wrong: Iterable[int], phase: Phase) -> None:
        """04-C6: of these the message would not have counted either."""
        for u in _cut_off(out).intersection(wrong):
            out[u] = RemovalCause.ABSENT, MISSING[phase]

    def _is_late(self, u: int, phase: Phase) -> bool:
        fault = self.world.faults.get(u)
        return fault is not None and fault.late and fault.absent is phase

    def _abort(self, why: AbortReason, out: Verdicts, phase: Phase, step: int = 0) -> None:
        """04-X1, and 04-X7: what comes of the same world in which those cut off were not late."""
        late = _cut_off(out)
        self.outcome.abort, self.outcome.stopped_at = why, (phase, step)
        if late and phase is not Phase.RECOVER:
            faults = dict(self.whole.faults)
            for u in late:
                faults[u] = replace(faults[u], absent=None, late=False)
            then = predict(replace(self.whole, faults=faults)).stopped_at
            self.outcome.vetoed = then is None or then > (phase, step)
        culprits = () if self.outcome.vetoed or phase is Phase.JOIN else _named(out)
        self.outcome.culprits = frozenset(culprits) - late
        raise _Over


def _cut_off(out: Verdicts) -> set[int]:
    """04-C6: who was late by the cut."""
    return {u for u, (_, rule) in out.items() if rule == CUT_OFF}


def _named(out: Verdicts) -> list[int]:
    """Who was missing or wrong; not who lost its neighbours (04-X1)."""
    return [u for u, (cause, _) in out.items() if cause is not RemovalCause.LOST]
