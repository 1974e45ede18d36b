"""The close of publish: whose value opens what it committed to, and whom accusations convict.

Values: 04-P1 to 04-P3. Accusations, which are heard in the same phase: 04-A1 to 04-A5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from commitments.group import Group, ScalarVec
from gopa.contract.framing import Message
from gopa.contract.limits import largest_body
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.party import ACCUSATION, About, Accusation
from gopa.contract.phases import Phase
from gopa.protocol.rules.mailbox import BreaksRule, CheckedOnce, Conviction, PartyVerdict, Sorter
from gopa.protocol.rules.openings import ClaimedOpenings, wrong_openings
from gopa.protocol.rules.roll_and_edges import (
    CommittedEdges,
    Masked,
    PublishedValues,
    ValueCommitments,
)
from gopa.protocol.rules.round_state import (
    CloseInputs,
    PhaseDecision,
    PhaseRules,
    RoundState,
)
from gopa.rounds.context import commit
from gopa.rounds.masks import (
    SharedPoint,
    check_share,
    edge_key,
    edge_key_hash,
    open_share,
    share_point,
)
from gopa.rounds.proofs import SharedKeyClaim
from wire.errors import InvalidProof, MalformedMessage

_AT_ONCE: Final = 2_048
"""So many openings are checked together: memory does not grow with the list."""


@dataclass(slots=True)
class PublishRules(PhaseRules):
    """The judge from the close of commit to that of publish; accusations are heard in it."""

    phase = Phase.PUBLISH
    judge: AccusationJudge = field(init=False)
    _sorter: Sorter[Masked] = field(init=False)
    _opening: CheckedOnce[Masked] = field(init=False)

    def __post_init__(self) -> None:
        state = self.state
        self.judge = AccusationJudge(state)
        self._sorter = self.sorter(
            lambda message: state.proving.read_value(state, message), "04-P2"
        )
        fault = "a value that does not open its commitments"
        self._opening = CheckedOnce("04-P1", fault, self._wrong)

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(self.state.members)

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        convicted = self._convicted(cut)
        found = self._sorter.sort(self.awaited(), cut)
        verdicts = found.out
        for author, conviction in convicted.items():
            found.read.pop(author, None)
            if author in verdicts and verdicts[author].cause is RemovalCause.STRUCK:
                continue
            if state.places[author] in state.committed:
                verdicts[author] = conviction.verdict
        if state.context.committed_masks:
            self._opening.require(found.read, verdicts)
        read = {state.places[author]: content for author, (_, content) in found.read.items()}
        members = state.shortened(sorted(read), verdicts)
        # Not final while an edge leads out: its mask would stay in the sum (`final-too-early`).
        settled = not state.proving.proves_values
        final = state.curious or (settled and not state.matched.crossing(members))
        faults = [state.convicts(each) for each in convicted.values()]
        if state.too_few(members):
            return self.abort(AbortReason.TOO_FEW_LEFT, verdicts, *faults, heard=cut)
        if settled and not final and not state.manifest.max_rollbacks:
            return self.abort(AbortReason.TOO_MANY_ROLLBACKS, verdicts, *faults, heard=cut)

        def settle(message: Message) -> None:
            values = [b""] * len(state.enrolled)
            for place in members:
                values[place] = read[place].data
            state.reach(PublishedValues(values))
            state.leave(ValueCommitments)
            state.proving.keep_values(state, {place: read[place] for place in members})
            state.settle_list(Phase.PUBLISH, cut, message, members, final=final)

        said = state.packed(members, final=final)
        return self.decision(said, verdicts, *faults, settle=settle, heard=cut)

    def _convicted(self, cut: int) -> dict[bytes, Conviction]:
        """Who is convicted by accusations below the cut (04-A5); later ones change no list."""
        heard = [each for each in self.state.mail.many(Phase.ACCUSE) if each.index < cut]
        return dict(self.judge.convict(heard))

    def _wrong(self, messages: Sequence[tuple[Message, Masked]]) -> frozenset[int]:
        """Find masked values that do not open what their authors committed to (04-P1).

        Stops a party that proves one value and publishes another (attack `late-change-of-value`).
        """
        published = [(self.state.places[each.author], masked) for each, masked in messages]
        return frozenset(
            at + number
            for at in range(0, len(published), _AT_ONCE)
            for number in self._wrong_among(published[at : at + _AT_ONCE])
        )

    def _wrong_among(self, published: Sequence[tuple[int, Masked]]) -> frozenset[int]:
        state = self.state
        rows = [masked.values for _, masked in published if masked.values is not None]
        blindings = _joined(state.group, [masked.blinding for _, masked in published])
        targets = state.at(ValueCommitments).points.gather([place for place, _ in published])
        return wrong_openings(ClaimedOpenings(state.key, rows, blindings, targets), state.tools.rng)


def _joined(group: Group, vectors: Iterable[ScalarVec | None]) -> ScalarVec:
    data = b"".join(vector.to_bytes() for vector in vectors if vector is not None)
    return group.decode_scalars(data, len(data) // group.scalar_size)


@dataclass(slots=True)
class AccusationJudge:
    """The judge of the accusations of one round, each once, whenever it is asked."""

    state: RoundState
    _sorter: Sorter[Accusation] = field(init=False)
    _judged: dict[bytes, tuple[Conviction, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        state = self.state
        self._sorter = Sorter(
            mailbox=state.mail,
            phase=Phase.ACCUSE,
            acts_on=state.at(CommittedEdges).leaf,
            opened_at=state.lists[-1].index,
            largest=largest_body(state.manifest, Phase.ACCUSE),
            rule="04-A1",
            missing="04-A1",
            read=lambda message: ACCUSATION.decode(message.body),
        )

    def convict(self, messages: Iterable[Message]) -> Mapping[bytes, Conviction]:
        """The first conviction of each party, over these messages in the order of the log."""
        heard = sorted(messages, key=lambda message: message.index)
        self._hear([each for each in heard if each.leaf not in self._judged])
        found: dict[bytes, Conviction] = {}
        for message in heard:
            for conviction in self._judged[message.leaf]:
                found.setdefault(conviction.author, conviction)
        return found

    def _hear(self, messages: list[Message]) -> None:
        """Judge all new accusations; their proofs are checked together.

        Who shows another key than the shared one could make any edge or share look wrong (attack
        `forged-accusation`), and is convicted in the place of whom it accuses.
        """
        pending: list[tuple[Message, Accusation]] = []
        for message in messages:
            accusation = self._sorter.judge(message)
            if isinstance(accusation, PartyVerdict):
                self._judged[message.leaf] = _against_accuser(message, accusation)
                continue
            try:
                self._require_admissible(message, accusation)
            except BreaksRule as error:
                self._judged[message.leaf] = (_false(message, error.rule, error.message),)
            else:
                pending.append((message, accusation))
        claims = [self._claim(*each) for each in pending]
        tools = self.state.tools
        bad = tools.toolkit.proofs.bad_shared(claims, tools.rng, tools.executor)
        for number, (message, accusation) in enumerate(pending):
            self._judged[message.leaf] = (
                (_false(message, "04-A2", "a false accusation: another key than the shared one"),)
                if number in bad
                else self._judge(message, accusation)
            )

    def _require_admissible(self, message: Message, accusation: Accusation) -> None:
        """Refuse accusations about what cannot be accused (04-A1).

        A live edge masks: to show its key would open a mask that both ends rely on (attack
        `false-accusation`).
        """
        state = self.state
        accuser, accused = state.places[message.author], accusation.accused
        listed = accuser in state.committed and accused in state.committed
        if not listed or accused not in state.neighbours(accuser):
            raise BreaksRule("04-A1", "a false accusation: not of a listed neighbour")
        pair = min(accuser, accused), max(accuser, accused)
        if accusation.about is About.EDGE and pair not in state.matched.void_between:
            raise BreaksRule("04-A1", "a false accusation: the edge is live")
        if accusation.about is About.SHARE and not state.recovers:
            raise BreaksRule("04-A1", "a false accusation: there are no shares")
        try:
            state.group.decode_point(accusation.shared)
        except MalformedMessage:
            raise BreaksRule("04-A2", "a false accusation: the key is no point") from None

    def _claim(self, message: Message, accusation: Accusation) -> SharedKeyClaim:
        state = self.state
        accuser = state.places[message.author]
        return SharedKeyClaim(
            context=state.context,
            acts_on=state.at(CommittedEdges).leaf,
            party=state.ids[accuser],
            own=state.enrolled.key(accuser),
            other=state.enrolled.key(accusation.accused),
            shared=accusation.shared,
            proof=accusation.proof,
        )

    def _judge(self, message: Message, accusation: Accusation) -> tuple[Conviction, ...]:
        shared = SharedPoint.from_revealed(self.state.group.decode_point(accusation.shared))
        accuser = self.state.places[message.author]
        if accusation.about is About.EDGE:
            return self._judge_edge(message, accuser, accusation.accused, shared)
        if self._share_fits(accusation.accused, accuser, shared):
            return (_false(message, "04-A5", "a false accusation: the share fits"),)
        author = self.state.author(accusation.accused)
        return (Conviction(author, "04-A4", message.index, "it dealt a share that does not fit"),)

    def _judge_edge(
        self, message: Message, accuser: int, accused: int, shared: SharedPoint
    ) -> tuple[Conviction, ...]:
        """Convict everybody whose bytes are not the right ones, also the accuser (04-A3).

        Stops a party that spoils an edge itself and accuses its neighbour (attack
        `frame-the-neighbour`).
        """
        state = self.state
        edge = state.matched.void_between[min(accuser, accused), max(accuser, accused)]
        right = self._right_bytes(edge.low, edge.high, shared)
        posted = ((edge.low, edge.by_low), (edge.high, edge.by_high))
        what = "it committed to another mask than the edge's"
        return tuple(
            Conviction(state.author(place), "04-A3", message.index, what)
            for place, data in posted
            if data != right
        )

    def _right_bytes(self, low: int, high: int, shared: SharedPoint) -> bytes:
        state = self.state
        context = state.edge_context(low, high)
        key = edge_key(shared, context)
        if not state.context.committed_masks:
            return edge_key_hash(key, context)
        masks = state.context.edge_masks([key])
        return commit(state.key, masks.rows[0], masks.blindings[0]).to_bytes()

    def _share_fits(self, dealer: int, recipient: int, shared: SharedPoint) -> bool:
        """Whether the dealer's share for the recipient fits, under the key that they share (04-A4).

        Stops a false accuser: everybody opens the very bytes that the dealer posted.
        """
        state = self.state
        pad = state.context.share_key(shared, state.ids[dealer], state.ids[recipient])
        sealed = state.committed.dealt(dealer).share(state.neighbours(dealer).index(recipient))
        try:
            share = open_share(state.group, sealed, pad)
            check_share(state.dealt_commitments(dealer), share_point(recipient), share)
        except (MalformedMessage, InvalidProof):
            return False
        return True


def _false(message: Message, rule: str, what: str) -> Conviction:
    return Conviction(message.author, rule, message.index, what)


def _against_accuser(message: Message, verdict: PartyVerdict) -> tuple[Conviction, ...]:
    """Convict an accuser: what is no accusation is a false one, unless it acts on another close."""
    if not verdict.fault:
        return ()
    return (_false(message, verdict.rule, f"a false accusation: {verdict.fault}"),)
