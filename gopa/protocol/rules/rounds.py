"""The rounds of a session: where each message belongs, what is due, and what follows what."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gopa.contract.cutting import pieces_of
from gopa.contract.framing import Broken, Equivocation, Message
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import Abort, AbortReason, Close, Open, ResultMessage, read_control
from gopa.contract.phases import ORDER, TABLE, Kind, Phase
from gopa.protocol.rules.closes import (
    Bars,
    CutOff,
    Due,
    OrganiserStatement,
    aborted,
    cut_off,
    differing,
    excused,
    following,
    given_in,
    open_checkpoint,
    opening,
    require_given,
    stated,
)
from gopa.protocol.rules.commit import CommitRules
from gopa.protocol.rules.final_phases import (
    ConfirmRules,
    CuriousResultRules,
    RecoverRules,
    UnmaskRules,
)
from gopa.protocol.rules.findings import (
    Control,
    Fault,
    Notes,
    Role,
    RoundFindings,
    SessionMemory,
    Views,
)
from gopa.protocol.rules.join import CoinsRules, JoinRules
from gopa.protocol.rules.mailbox import BreaksRule, Mailbox, Tools
from gopa.protocol.rules.numbers import NumberProving
from gopa.protocol.rules.publish import AccusationJudge, PublishRules
from gopa.protocol.rules.roll_and_edges import CutOffUnmasks, Ended
from gopa.protocol.rules.rollback import LateEvidence, RollbackRules, judge_late
from gopa.protocol.rules.round_state import (
    CloseInputs,
    Failure,
    PhaseDecision,
    PhaseRules,
    RoundState,
)
from gopa.protocol.rules.routing import note_above_cut, note_late, route
from gopa.protocol.rules.rows import ProveRules, RowProving
from gopa.protocol.rules.view import RoundPicture, reported, viewed
from gopa.rounds.context import RoundContext
from wire.errors import InvalidProof, MalformedMessage, UsageError

_WITH_BEACON: Final = frozenset({Phase.JOIN, Phase.COINS})
"""In these phases the decision depends on what the organiser gives."""

RULES_OF: Final[dict[Phase | None, type[PhaseRules]]] = {
    Phase.JOIN: JoinRules,
    Phase.COINS: CoinsRules,
    Phase.COMMIT: CommitRules,
    Phase.PUBLISH: PublishRules,
    Phase.PROVE: ProveRules,
    Phase.ROLLBACK: RollbackRules,
    Phase.CONFIRM: ConfirmRules,
    Phase.UNMASK: UnmaskRules,
    Phase.RECOVER: RecoverRules,
    None: CuriousResultRules,
}
"""Who judges a phase; None where the result follows a close at once."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """What the rules demand with one cut, as long as nothing new comes below it."""

    cut: int
    given: CloseInputs
    decision: PhaseDecision
    said: OrganiserStatement


class RoundSequence:
    """The messages of a session with a valid manifest, and the round that is open."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of a ledger
        self,
        tools: Tools,
        manifest: Manifest,
        session: bytes,
        opened: Message,
        notes: Notes,
        views: Views,
    ) -> None:
        self.manifest = manifest
        self.failed = False
        self.ended = 0
        self.results = 0
        self._tools, self._session = tools, session
        self._notes, self._views = notes, views
        self._memory, self._bars = SessionMemory(), Bars()
        self._leaf, self._control_index, self._cut, self._seq = opened.leaf, opened.index, 0, 0
        self._most = manifest.terms.rounds * manifest.terms.attempts  # 04-X4: no more rounds come
        self._state: RoundState | None = None
        self._rules: PhaseRules | None = None
        self._judge: AccusationJudge | None = None
        self._tried: _Tried | None = None
        self._reports: list[RoundFindings] = []
        self._faults: list[Fault] = []
        self._early: dict[int, Mailbox] = {}
        self._equivocators: dict[bytes, int] = {}

    # What is due

    @property
    def number(self) -> int:
        """The current round, or the last one; 0 before the first."""
        return 0 if self._state is None else self._state.number

    @property
    def in_round(self) -> bool:
        return self._rules is not None

    @property
    def over(self) -> bool:
        """Whether all logical rounds are done."""
        return not self.in_round and self._due() is None

    @property
    def releases(self) -> int:
        """Valid final closes of the logical round that is current."""
        return 0 if self._state is None else self._state.releases

    def next_control(self, cut: int, given: CloseInputs) -> Control | None:
        """The message that the rules demand from the organiser now, with this cut."""
        rules = self._asked(cut)
        if rules is None:
            due = None if self.failed else self._due()
            if due is None:
                return None
            said = opening(self._leaf, due.logical, due.attempt)
            return Control(said.kind, due.number, 0, self._leaf, said.message, said.body)
        try:
            tried = self._try(rules, cut, given)
            if tried.said.kind is Kind.CLOSE:
                require_given(rules, given)
        except InvalidProof as error:
            raise UsageError(
                error.message, "beacon" if error.check != "04-C4" else "checkpoint"
            ) from error
        return self._control(tried.said)

    def abort(self, cut: int) -> Control | None:
        """The organiser's own abort, which no rule demands (04-X1); None outside a round."""
        rules = self._asked(cut)
        if rules is None:
            return None
        return self._control(aborted(rules.state, cut, self._leaf, Failure(AbortReason.ORGANISER)))

    def fails(self, cut: int) -> bool:
        """Whether the rules demand an abort of the round with this cut."""
        rules = self._asked(cut)
        try:
            decision = None if rules is None else self._try(rules, cut, CloseInputs()).decision
        except InvalidProof:  # the coins wait for a value of the beacon
            return False
        return decision is not None and isinstance(decision.said, Failure)

    def carries_on(self, cut: int) -> bool:
        """Whether an abort for no reason would be a veto (04-X7) with this cut as its index."""
        rules = self._asked(cut)
        if rules is None or not rules.state.released:
            return False
        decision = self._try(rules, cut, CloseInputs()).decision
        return cut_off(rules, decision, cut, cut, CloseInputs()).goes_on

    def pending_faults(self, cut: int) -> tuple[Fault, ...]:
        """What parties did wrong in the open phase, as its close with this cut would find."""
        rules = self._asked(cut)
        return () if rules is None else self._try(rules, cut, CloseInputs()).decision.faults

    def _asked(self, cut: int) -> PhaseRules | None:
        """The rules that judge with this cut; None outside a round or where the session failed."""
        if self.failed or self._rules is None:
            return None
        if type(cut) is not int or cut < self._cut:
            raise UsageError(f"a cut is an index of the log from {self._cut} on", "cut")
        return self._rules

    def view(self) -> RoundPicture | None:
        """The current round, or the last one."""
        if self._state is None:
            return None
        return viewed(self._state, self._rules, self._leaf, self._control_index, self._cut)

    def reports(self) -> tuple[RoundFindings, ...]:
        """All rounds so far."""
        if self._state is None:
            return tuple(self._reports)
        return (*self._reports, reported(self._state, self._late(self._state).opened))

    def faults(self) -> tuple[Fault, ...]:
        """All faults so far, late evidence of the current round included."""
        if self._state is None:
            return tuple(self._faults)
        return (*self._faults, *self._state.faults, *self._late(self._state).faults)

    # What comes in

    def party(self, message: Message) -> None:
        """Take a message of somebody who may be a party, in a phase of parties."""
        self._outdate(message.index)
        state, phase = self._state, Phase(message.phase)
        if message.round > self._most:
            self._notes.add("04-E4", "a message of a round that never comes", 0, message.index)
        elif message.round > self.number:
            box = self._early.setdefault(message.round, Mailbox())
            box.spoil(phase, message.author, message.index)
            self._notes.add("04-E4", "a message before its round", message.round, message.index)
        elif state is None or message.round < self.number:
            note_late(self._notes, message)
        else:
            route(state, self._rules, self._notes, message)

    def equivocation(self, item: Equivocation) -> None:
        """Take evidence against somebody who may be a party (04-E3, 04-X5)."""
        self._outdate(item.index)
        self._equivocators.setdefault(item.author, item.index)
        if self.number < item.round <= self._most:
            self._early.setdefault(item.round, Mailbox()).strike(item.author, item.index)
        elif self._state is not None and item.round == self.number:
            self._state.mail.strike(item.author, item.index)

    def broken_control(self, item: Broken) -> None:
        """Report an entry of the organiser that continues nothing: what it says cannot be read."""
        what = "its entries do not continue each other"
        fault = Fault(Role.ORGANISER, item.author, "04-E1", what, (item.index,), item.round)
        self._fail(replace(fault, proved=False))

    def control(self, message: Message) -> None:
        """Take a message of the organiser in phase 0."""
        if self.failed:
            what = "the organiser goes on after it broke the rules"
            self._notes.add("04-C3", what, message.round, message.index)
            return
        try:
            self._accept(message)
        except BreaksRule as error:
            author, entries = message.author, (message.index,)
            what, number = error.message, message.round
            self._fail(Fault(Role.ORGANISER, author, error.rule, what, entries, number))

    # A message of the organiser

    def _accept(self, message: Message) -> None:
        """Require the next message in order, acting on the last one (04-C1, 04-E4); then judge it.

        Stops closes out of order, which would have values before edges are compared (attack
        `phases-out-of-order`), and a second chain of closes (`two-closes-in-a-row`).
        """
        due = None if self.in_round else self._due()
        number = self.number if self.in_round else (0 if due is None else due.number)
        if due is None and not self.in_round:
            raise BreaksRule("04-X3", "a message after the last round")
        if message.round != number or message.seq != (self._seq if self.in_round else 0):
            raise BreaksRule("04-C1", "a message out of its order")
        if message.body[:32] != self._leaf:
            raise BreaksRule("04-E4", "it does not act on its author's last message")
        try:
            said = read_control(message.kind, message.body)
        except MalformedMessage as error:
            raise BreaksRule("04-C1", f"not readable: {error}") from None
        if due is not None:
            self._open(message, due)
        elif isinstance(said, Open):
            raise BreaksRule("04-C1", "a round is going on")
        else:
            self._proceed(message, said)
        self._leaf, self._control_index = message.leaf, message.index
        self._seq = message.seq + len(pieces_of(message.kind, message.body))

    def _open(self, message: Message, due: Due) -> None:
        """Begin the round that is due (04-X3), and no other.

        Each attempt draws coins: an organiser could draw until it likes them (attacks
        `wrong-attempt`, `one-attempt-more`).
        """
        demanded = opening(self._leaf, due.logical, due.attempt)
        if demanded.body != message.body:
            raise BreaksRule("04-X3", "another round than the next one")
        self._finish_last(due)
        mail = self._early.pop(due.number, Mailbox())
        group = self._tools.toolkit.group
        context = RoundContext(self.manifest, self._session, due.number, group)
        self._state = RoundState(
            tools=self._tools,
            context=context,
            proving=RowProving() if context.in_rows else NumberProving(),
            logical=due.logical,
            attempt=due.attempt,
            opened=message,
            barred=self._bars.for_round(due, self._equivocators),
            memory=self._memory,
            earlier_releases=self.releases if due.attempt else 0,
            mail=mail,
        )
        self._judge = None
        self._begin(self._state, ORDER[0], message)
        self._cut, self._tried = message.first, None

    def _finish_last(self, due: Due) -> None:
        """Judge the evidence about the round before that stands below this `open`."""
        state = self._state
        if state is None:
            return
        late = self._late(state)
        self._bars.learn(state, late.convicted)
        self._reports.append(reported(state, late.opened))
        self._faults += [*state.faults, *late.faults]
        if not due.attempt:
            self._memory.inputs.clear()

    def _proceed(self, message: Message, said: Close | ResultMessage | Abort) -> None:
        rules = self._rules
        if rules is None:
            return
        if not self._cut <= said.cut <= message.first:
            raise BreaksRule("04-C2", "a cut that goes back or lies ahead")
        if said.cut < message.seen:  # else it could read on and count nothing of it
            raise BreaksRule("04-C2", "a cut below what it says that it has seen")
        if isinstance(said, Close):
            self._require_root(said, message)
        if isinstance(said, Abort) and said.reason is AbortReason.ORGANISER:
            self._own_abort(rules, message, said)
            return
        given = given_in(said)
        try:
            tried = self._try(rules, said.cut, given)
            if isinstance(tried.said.message, Close):
                require_given(rules, given)
        except InvalidProof as error:
            rule = error.check if error.check.startswith("04-") else "04-V4"
            raise BreaksRule(rule, error.message) from None
        # Byte for byte: there is no list, reason or sum that an organiser may choose (04-C3).
        if tried.said.body != message.body:
            raise BreaksRule(*differing(tried.said.message, said))
        self._remember_checkpoint(given, message)
        self._apply(rules, tried.decision, message, said)

    def _require_root(self, said: Close, message: Message) -> None:
        """Require the root that the log has at the cut, where that is known (04-C7).

        So the leaf of a close fixes the entries that count: whoever knows the leaf, and what is
        drawn from it, writes none of them any more (attack `foreign-root`). It says what its author
        saw of the log, as `seen_root` does, unless that speaks about the same entries.
        """
        if message.seen != said.cut:
            self._views.add(said.cut, said.root, message.index)
        if self._tools.root_at(said.cut) not in {None, said.root}:
            raise BreaksRule("04-C7", "it names another root than the log has at its cut")

    def _own_abort(self, rules: PhaseRules, message: Message, said: Abort) -> None:
        """End a round by the organiser's own abort, which names nobody (04-X1).

        Behind the final close it may be a veto (04-X7): it could end what it dislikes.
        """
        state = rules.state
        demanded = aborted(state, said.cut, self._leaf, Failure(AbortReason.ORGANISER))
        if demanded.body != message.body:
            raise BreaksRule(*differing(demanded.message, said))
        left = None
        if state.released:
            decision = self._try(rules, said.cut, CloseInputs()).decision
            left = cut_off(rules, decision, said.cut, message.first, CloseInputs())
        note_above_cut(rules, self._notes, said.cut, message.first)
        ended = Ended(said, message.index, veto=self._veto(state, left, message))
        self._leave(state, ended, said.cut, heard=0)

    def _apply(
        self,
        rules: PhaseRules,
        decision: PhaseDecision,
        message: Message,
        said: Close | ResultMessage | Abort,
    ) -> None:
        state, given = rules.state, given_in(said)
        left = cut_off(rules, decision, said.cut, message.first, given)
        state.removals += excused(decision.removed, left.late)
        state.faults += decision.faults
        state.convicted |= decision.convicted
        state.laggards |= decision.laggards - left.late.keys()
        if rules.phase is Phase.UNMASK:
            late = frozenset(state.places[author] for author in left.late)
            state.reach(CutOffUnmasks(late))
        note_above_cut(rules, self._notes, said.cut, message.first)
        decision.settle(message)
        if not isinstance(said, Close):
            abort = isinstance(said, Abort)
            culprits = left.culprits if abort else ()
            veto = self._veto(state, left if abort else None, message)
            ended = Ended(said, message.index, culprits, veto)
            self._leave(state, ended, said.cut, heard=decision.heard)
            return
        self._forget(state, rules.phase, decision.heard)
        turn = self.manifest.turn_after(said.phase, final=state.lists[-1].final)
        self._begin(state, TABLE[said.phase].then[turn], message)
        self._cut, self._tried = said.cut, None

    def _begin(self, state: RoundState, phase: Phase | None, opened: Message) -> None:
        """Make the rules of the phase that a message opens; None: the result is due."""
        self._rules = rules = RULES_OF[phase](state, opened)
        if isinstance(rules, PublishRules):
            self._judge = rules.judge

    def _veto(self, state: RoundState, left: CutOff | None, message: Message) -> tuple[int, ...]:
        """A veto, which is noted: an abort that the log before it does not bear out (04-X7).

        Stops an organiser that ends a round in somebody else's name (attack `early-cut`).
        """
        if left is None or not left.goes_on:
            return ()
        veto = (message.index, *sorted(left.late.values()))
        what = "the organiser's veto: without its cut the round would have gone on"
        for index in veto:
            self._notes.add("04-X7", what, state.number, index, message.author)
        return veto

    def _leave(self, state: RoundState, ended: Ended, cut: int, *, heard: int) -> None:
        """Leave a round that is over; what came too late is kept until the next one opens."""
        for phase in Phase:
            self._forget(state, phase, heard)
        state.reach(ended)
        self._rules, self._cut, self._tried = None, cut, None
        self.ended += 1
        self.results += isinstance(ended.message, ResultMessage)

    def _forget(self, state: RoundState, phase: Phase | None, heard: int) -> None:
        """Drop the messages of a phase that is over, but for accusations above its cut."""
        if phase is None or phase is Phase.ACCUSE:
            return
        if phase is Phase.PUBLISH:
            accusations = state.mail.many(Phase.ACCUSE)
            state.late_accusations += [each for each in accusations if each.index >= heard]
            state.mail.drop(Phase.ACCUSE)
        state.mail.drop(phase)

    def _remember_checkpoint(self, given: CloseInputs, message: Message) -> None:
        if given.checkpoint:
            signed = open_checkpoint(self.manifest.policy, given.checkpoint)
            self._views.add(signed.size, signed.root, message.index)

    # Small things

    def _due(self) -> Due | None:
        return following(self.manifest, self._state)

    def _late(self, state: RoundState) -> LateEvidence:
        judge = self._judge
        return judge_late(state, {} if judge is None else judge.convict(state.late_accusations))

    def _fail(self, fault: Fault) -> None:
        self._faults.append(fault)
        self.failed = True

    def _outdate(self, index: int) -> None:
        """Drop what was worked out for a cut above this entry: it holds no more."""
        if self._tried is not None and index < self._tried.cut:
            self._tried = None

    def _try(self, rules: PhaseRules, cut: int, given: CloseInputs) -> _Tried:
        tried = self._tried
        if tried is not None and (tried.cut, tried.given) == (cut, given):
            return tried
        decision = None
        if tried is not None and tried.cut == cut:
            same = tried.given.beacon == given.beacon or rules.phase not in _WITH_BEACON
            decision = tried.decision if same else None
        decision = decision or rules.demand(cut, given)
        said = stated(rules, decision, cut, given, self._leaf)
        self._tried = _Tried(cut, given, decision, said)
        return self._tried

    def _control(self, said: OrganiserStatement) -> Control:
        return Control(said.kind, self.number, self._seq, self._leaf, said.message, said.body)
