"""Judges accusations, and says whom they convict ([A1] to [A5])."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from commitments import Commitment, Pedersen
from gopa.contract.framing import Message
from gopa.contract.limits import POINT, largest_body
from gopa.contract.organiser import RemovalCause
from gopa.contract.party import ACCUSATION, About, Accusation
from gopa.contract.phases import Phase
from gopa.protocol.rules.findings import BreaksRule, PartyVerdict
from gopa.protocol.rules.mailbox import Sorter
from gopa.protocol.rules.round_state import RoundState
from gopa.rounds.context import commit
from gopa.rounds.masks import (
    SharedPoint,
    check_share,
    decode_commitments,
    decode_seed_commitments,
    edge_key,
    edge_key_hash,
    edge_masks,
    open_share,
    share_key,
    share_point,
)
from gopa.rounds.proofs import SharedKeyClaim
from wire.errors import InvalidProof, MalformedMessage


@dataclass(frozen=True, slots=True)
class Conviction:
    """Says who is convicted by the accusation at index `entry`, and why."""

    author: bytes
    rule: str
    entry: int
    what: str

    @property
    def verdict(self) -> PartyVerdict:
        return PartyVerdict(RemovalCause.CONVICTED, self.rule, self.entry, self.what)


@dataclass(slots=True)
class AccusationJudge:
    """Judges the accusations of one round, each once, whenever it is asked."""

    state: RoundState
    _sorter: Sorter[Accusation] = field(init=False)
    _judged: dict[bytes, tuple[Conviction, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        state = self.state
        self._sorter = Sorter(
            mailbox=state.mail,
            phase=Phase.ACCUSE,
            acts_on=state.commit_leaf,
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
        """Refuse accusations about what cannot be accused ([A1]).

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
            acts_on=state.commit_leaf,
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
        """Convict everybody whose bytes are not the right ones, also the accuser ([A3]).

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
        masks = edge_masks(state.group, [key], state.context.mask_law, state.context.dimension)
        return commit(state.key, masks.rows[0], masks.blindings[0]).to_bytes()

    def _share_fits(self, dealer: int, recipient: int, shared: SharedPoint) -> bool:
        """Whether the dealer's share for the recipient fits, under the key that they share ([A4]).

        Stops a false accuser: everybody opens the very bytes that the dealer posted.
        """
        state = self.state
        pad = share_key(
            shared, state.edge_context(dealer, recipient), state.ids[dealer], state.ids[recipient]
        )
        sealed = state.committed.dealt(dealer).share(state.neighbours(dealer).index(recipient))
        try:
            share = open_share(state.group, sealed, pad)
            check_share(dealt_commitments(state, dealer), share_point(recipient), share)
        except (MalformedMessage, InvalidProof):
            return False
        return True


def dealt_commitments(state: RoundState, dealer: int) -> Commitment:
    """C_0 .. C_(T-1) of a listed dealer with neighbours; C_0 is B_u unless it deals its seed."""
    coefficients = state.committed.dealt(dealer).coefficients
    count = len(coefficients) // POINT
    if state.manifest.deals_seeds:
        return decode_seed_commitments(state.group, coefficients, count)
    own = Pedersen(state.group).decode(state.committed.self_mask(dealer), 1)
    return decode_commitments(own, coefficients, count + 1)


def _false(message: Message, rule: str, what: str) -> Conviction:
    return Conviction(message.author, rule, message.index, what)


def _against_accuser(message: Message, verdict: PartyVerdict) -> tuple[Conviction, ...]:
    """Convict an accuser: what is no accusation is a false one, unless it acts on another close."""
    if not verdict.fault:
        return ()
    return (_false(message, verdict.rule, f"a false accusation: {verdict.fault}"),)
