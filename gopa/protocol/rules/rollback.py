"""Who opened which edges: the closes of rollback (04-O1 to 04-O4), and openings that came too late.

Late evidence changes no list; it convicts by 04-A5, 04-E3, 04-F3 and 04-O5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gopa.contract.framing import Message
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.party import OPENING, EdgeOpenings
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules.findings import Fault
from gopa.protocol.rules.mailbox import (
    LEAF_SIZE,
    BreaksRule,
    CheckedOnce,
    Conviction,
    PartyVerdict,
    Sorter,
    absent,
)
from gopa.protocol.rules.openings import ClaimedOpenings, wrong_openings
from gopa.protocol.rules.roll_and_edges import Lies
from gopa.protocol.rules.round_state import (
    CloseInputs,
    PhaseDecision,
    PhaseRules,
    RoundState,
)
from gopa.rounds.masks import edge_key_hash
from wire.errors import MalformedMessage
from wire.secret import SecretBytes


@dataclass(slots=True)
class RollbackRules(PhaseRules):
    """The judge from one close to that of rollback `step`; `members` is L_(step - 1)."""

    phase = Phase.ROLLBACK

    members: tuple[int, ...] = field(init=False)
    owed: Mapping[int, Mapping[int, int]] = field(init=False)
    """For each party that owes something: the edge to each neighbour that is gone.

    Or that disagrees about it, in the first rollback (14-P9).
    """
    _sorter: Sorter[EdgeOpenings] = field(init=False)
    _fitting: CheckedOnce[EdgeOpenings] = field(init=False)
    _lies: dict[bytes, Lies] = field(default_factory=dict)
    """By the leaves of openings: whom their keys convict."""

    def __post_init__(self) -> None:
        state = self.state
        self.step, self.members = state.lists[-1].step + 1, state.members
        disputed = state.proving.disputed(state) if self.step == 1 else ()
        self.owed = owed_edges(state, self.members, disputed)
        self._sorter = self.sorter(self._read, "04-O1")
        fault = "a key that does not make the edge's commitment"
        self._fitting = CheckedOnce("04-O2", fault, self._unfitting)

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(sorted(self.owed))

    def edges_owed(self) -> Mapping[int, tuple[int, ...]]:
        return {place: tuple(sorted(edges)) for place, edges in self.owed.items()}

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        verdicts: dict[bytes, PartyVerdict] = {}
        read = self._received(cut, verdicts)
        heard = [message for message, _ in read.values()]
        self._fitting.require(read, verdicts)
        convictions = self._convict(heard, read, verdicts)
        stay = [place for place in self.members if state.author(place) not in verdicts]
        members = state.shortened(stay, verdicts)
        final = members == self.members
        convicted = frozenset(fault.author for fault in convictions)
        failed: AbortReason | None = None
        if state.proving.too_many_gone(state, members):
            failed = AbortReason.TOO_FEW_LEFT
        # Each rollback may lose one more: without an end a few could go on (`endless-refusals`).
        elif not final and self.step >= state.manifest.max_rollbacks:
            failed = AbortReason.TOO_MANY_ROLLBACKS
        if failed is not None:
            return self.abort(failed, verdicts, *convictions, convicted=convicted)
        counted = frozenset(message.leaf for message, _ in read.values())
        opened = {
            self.owed[state.places[author]][edge.neighbour]: SecretBytes(edge.key)
            for author, (_, opening) in read.items()
            for edge in opening.edges
        }

        def settle(message: Message) -> None:
            state.openings |= opened
            state.stray_openings += [
                each for each in state.mail.many(Phase.ROLLBACK) if each.leaf not in counted
            ]
            state.settle_list(Phase.ROLLBACK, cut, message, members, self.step, final=final)

        said = state.packed(members, final=final)
        return self.decision(said, verdicts, *convictions, settle=settle, convicted=convicted)

    def _received(
        self, cut: int, verdicts: dict[bytes, PartyVerdict]
    ) -> dict[bytes, tuple[Message, EdgeOpenings]]:
        """Read the first message of each party that acts on the close before (04-O1).

        Whoever owes an opening and does not give it is out: the mask of an edge between two liars,
        one in and one out, could carry any value into the sum (attack `hidden-residual`).
        """
        state = self.state
        read: dict[bytes, tuple[Message, EdgeOpenings]] = {}
        members = frozenset(self.members)
        for message in state.mail.many(Phase.ROLLBACK):
            author = message.author
            listed = state.places[author] in members
            if message.index >= cut or not listed or author in read or author in verdicts:
                continue
            opening = self._sorter.judge(message)
            if not isinstance(opening, PartyVerdict):
                read[author] = message, opening
            elif opening.rule != "04-E4":
                verdicts[author] = opening
        for place in self.members:
            author = state.author(place)
            if state.mail.is_struck(author, cut):
                read.pop(author, None)
                verdicts[author] = PartyVerdict(
                    RemovalCause.STRUCK, "04-E3", state.mail.struck[author]
                )
            elif place in self.owed and author not in read and author not in verdicts:
                verdicts[author] = absent("04-O3")
        return read

    def _read(self, message: Message) -> EdgeOpenings:
        """Require the keys of exactly those edges that lead to parties which are gone (04-O1).

        More would bare somebody who is still there (attack `opens-more`).
        """
        opening = OPENING.decode(message.body)
        owed = self.owed.get(self.state.places[message.author], {})
        if [edge.neighbour for edge in opening.edges] != sorted(owed):
            raise BreaksRule("04-O1", "other edges than those that it owes")
        return opening

    def _unfitting(self, openings: Sequence[tuple[Message, EdgeOpenings]]) -> frozenset[int]:
        """Find who opened another key than the edge's; all keys are checked together (04-O2).

        Else a wrong key would shift the sum by whatever its author likes (attack `wrong-opening`).
        """
        state = self.state
        keys: list[tuple[int, SecretBytes]] = []
        owners: list[int] = []
        for number, (message, opening) in enumerate(openings):
            owed = self.owed[state.places[message.author]]
            keys += [(owed[edge.neighbour], SecretBytes(edge.key)) for edge in opening.edges]
            owners += [number] * len(opening.edges)
        wrong = wrong_keys(state, keys)
        false = self._false(openings, keys, owners, wrong)
        return frozenset({owners[number] for number in wrong} | false)

    def _false(
        self,
        openings: Sequence[tuple[Message, EdgeOpenings]],
        keys: Sequence[tuple[int, SecretBytes]],
        owners: Sequence[int],
        wrong: frozenset[int],
    ) -> set[int]:
        """Find who said something else about its own edge than the key gives (14-P9).

        Of a disputed edge one end stays at most; a false one to somebody who is gone would shift
        the sum. Everybody who lied is remembered.
        """
        state = self.state
        right = [number for number in range(len(keys)) if number not in wrong]
        lies = state.proving.liars_about_edges(state, [keys[number] for number in right])
        found: dict[int, dict[int, tuple[int, int]]] = {}
        for number, ends in zip(right, lies, strict=True):
            found.setdefault(owners[number], {}).update(ends)
        self._lies |= {openings[owner][0].leaf: ends for owner, ends in found.items()}
        return {
            owner
            for owner, ends in found.items()
            if state.places[openings[owner][0].author] in ends
        }

    def _convict(
        self,
        heard: Iterable[Message],
        read: dict[bytes, tuple[Message, EdgeOpenings]],
        verdicts: dict[bytes, PartyVerdict],
    ) -> tuple[Fault, ...]:
        """Convict whoever said something false about an edge whose key is open now (14-K6)."""
        state = self.state
        faults: dict[bytes, Fault] = {}
        for message in sorted(heard, key=lambda message: message.index):
            for place, entries in sorted(self._lies.get(message.leaf, {}).items()):
                author = state.author(place)
                if author in faults or author in state.convicted:
                    continue
                faults[author] = state.false_mask(place, entries, message.index)
                read.pop(author, None)
                struck = author in verdicts and verdicts[author].cause is RemovalCause.STRUCK
                if place in self.members and not struck:
                    verdicts[author] = PartyVerdict(RemovalCause.CONVICTED, "14-K6", entries[1])
        return tuple(faults.values())


def owed_edges(
    state: RoundState, members: Iterable[int], disputed: Iterable[int] = ()
) -> dict[int, dict[int, int]]:
    """The live edges to parties that are gone and not open yet, for each member.

    And the disputed ones, which both ends owe.
    """
    owed: dict[int, dict[int, int]] = {}
    for edge, inside, outside in state.matched.crossing(members):
        if edge not in state.openings:
            owed.setdefault(inside, {})[outside] = edge
    for edge in disputed:
        low, high = state.matched.ends(edge)
        owed.setdefault(low, {})[high] = edge
        owed.setdefault(high, {})[low] = edge
    return owed


def wrong_keys(state: RoundState, keys: list[tuple[int, SecretBytes]]) -> frozenset[int]:
    """The positions of keys from which another commitment than the edge's follows (04-O2)."""
    edges = state.matched
    if not state.context.committed_masks:
        return frozenset(
            number
            for number, (edge, key) in enumerate(keys)
            if edge_key_hash(key, state.edge_context(*edges.ends(edge))) != edges.encoding(edge)
        )
    if not keys:
        return frozenset()
    masks = state.context.edge_masks([key for _, key in keys])
    rows = [row.reveal() for row in masks.rows]
    points = edges.points(state.group, [edge for edge, _ in keys])
    return wrong_openings(
        ClaimedOpenings(state.key, rows, masks.blindings.reveal(), points), state.tools.rng
    )


@dataclass(frozen=True, slots=True)
class LateEvidence:
    """Convictions that bar from later rounds, faults, and edges public all the same."""

    convicted: Mapping[bytes, Conviction]
    faults: tuple[Fault, ...]
    opened: tuple[tuple[int, int], ...]


def judge_late(state: RoundState, convicted: Mapping[bytes, Conviction]) -> LateEvidence:
    """What the late evidence of one round shows; it never changes a list or a result.

    `convicted` are those whom late accusations convict.

    Else a second signature could undo the final list when edges are open already (attack
    `second-signature-after-the-final-close`).
    """
    faults = [state.convicts(each) for each in convicted.values()]
    opened: set[tuple[int, int]] = set()
    for message in state.stray_openings:
        edges = _public_inside(state, message)
        opened |= edges
        faults += _stray_faults(state, message, edges)
    return LateEvidence(convicted, tuple(faults), tuple(sorted(opened)))


def _public_inside(state: RoundState, message: Message) -> set[tuple[int, int]]:
    """Edges inside the final list whose keys this message gives away, whatever it acts on."""
    opening, place = _decoded(message), state.places[message.author]
    final = set(state.final) if state.released else set()
    if opening is None or place not in final:
        return set()
    keys: list[tuple[int, SecretBytes]] = []
    for each in opening.edges:
        edge = state.matched.find(place, each.neighbour) if each.neighbour in final else None
        if edge is not None:
            keys.append((edge, SecretBytes(each.key)))
    wrong = wrong_keys(state, keys)
    return {
        state.matched.ends(edge) for number, (edge, _) in enumerate(keys) if number not in wrong
    }


def _stray_faults(
    state: RoundState, message: Message, edges: set[tuple[int, int]]
) -> Iterator[Fault]:
    """Faults of a party in the final list: it opened an edge that may stay closed (`betray`).

    Only if its message acts on a close of this log, and not of a forked one.
    """
    author, index = message.author, message.index
    if not state.released or state.places[author] not in state.final:
        return
    if message.kind != Kind.OPENING or message.body[:LEAF_SIZE] not in state.publish_leaves:
        return
    if edges:
        yield state.fault(author, "04-O5", "it opened an edge inside the final list", index)
    confirmed = state.confirmed_at.get(state.places[author], index)
    # What it opened before it confirmed says nothing about what it does from then on.
    if confirmed < index:
        what = "it confirmed the final close and opens edges"
        yield state.fault(author, "04-F3", what, confirmed, index)


def _decoded(message: Message) -> EdgeOpenings | None:
    if message.kind != Kind.OPENING or message.phase != Phase.ROLLBACK:
        return None
    try:
        return OPENING.decode(message.body)
    except MalformedMessage:
        return None
