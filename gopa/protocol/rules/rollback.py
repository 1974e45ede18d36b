"""Judges the closes of rollback: who opened the edges to those that are gone ([O1] to [O4])."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gopa.contract.framing import Message
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.party import OPENING, EdgeOpenings
from gopa.contract.phases import Phase
from gopa.protocol.rules.equations import false_equation, liars_about_edges
from gopa.protocol.rules.final_phases import ConfirmRules, CuriousResultRules
from gopa.protocol.rules.findings import BreaksRule, Fault, PartyVerdict, absent
from gopa.protocol.rules.mailbox import Sorter
from gopa.protocol.rules.roll_and_edges import ClaimedOpenings, wrong_openings
from gopa.protocol.rules.round_state import (
    CheckedOnce,
    CloseInputs,
    PhaseDecision,
    PhaseRules,
    RoundState,
    fails,
)
from gopa.rounds.masks import edge_key_hash, edge_masks
from wire.secret import SecretBytes


@dataclass(slots=True)
class RollbackRules(PhaseRules):
    """Judges from one close to that of rollback `step`; `members` is L_(step - 1)."""

    phase = Phase.ROLLBACK

    step: int
    members: tuple[int, ...]
    owed: Mapping[int, Mapping[int, int]] = field(init=False)
    """For each party that owes something: the edge to each neighbour that is gone.

    Or that disagrees about it, in the first rollback ([P9] of 14).
    """
    _sorter: Sorter[EdgeOpenings] = field(init=False)
    _fitting: CheckedOnce[EdgeOpenings] = field(init=False)
    _lies: dict[bytes, frozenset[int]] = field(default_factory=dict)
    """By the leaves of openings: whom their keys convict."""

    def __post_init__(self) -> None:
        state = self.state
        state.publish_leaves.add(self.opened.leaf)
        self.owed = owed_edges(state, self.members, state.disputed if self.step == 1 else ())
        self._sorter = self.sorter(self._read, "04-O1")
        fault = "a key that does not make the edge's commitment"
        self._fitting = CheckedOnce("04-O2", fault, self._unfitting)

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(sorted(self.owed))

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
        removed = state.removed(verdicts, Phase.ROLLBACK, self.step)
        faults = (*state.blamed(verdicts), *convictions)
        convicted = frozenset(fault.author for fault in convictions)
        culprits = state.culprits(verdicts)
        failed: AbortReason | None = None
        if state.too_many_gone(members):
            failed = AbortReason.TOO_FEW_LEFT
        # Each rollback may lose one more: without an end a few could go on (`endless-refusals`).
        elif not final and self.step >= state.manifest.max_rollbacks:
            failed = AbortReason.TOO_MANY_ROLLBACKS
        if failed is not None:
            decision = fails(failed, culprits, removed, faults, out=verdicts)
            return replace(decision, convicted=convicted)
        counted = frozenset(message.leaf for message, _ in read.values())
        opened = {
            self.owed[state.places[author]][edge.neighbour]: SecretBytes(edge.key)
            for author, (_, opening) in read.items()
            for edge in opening.edges
        }

        def settle(message: Message) -> PhaseRules:
            state.openings |= opened
            state.stray_openings += [
                each for each in state.mail.many(Phase.ROLLBACK) if each.leaf not in counted
            ]
            listed = state.settle_list(
                Phase.ROLLBACK, cut, message, members, self.step, final=final
            )
            if not final:
                return RollbackRules(state, message, self.step + 1, listed)
            state.final = listed
            state.publish_leaves.add(message.leaf)
            return ConfirmRules(state, message)

        said = state.packed(members, final=final)
        return PhaseDecision(said, removed, settle, faults, convicted=convicted, out=verdicts)

    def _received(
        self, cut: int, verdicts: dict[bytes, PartyVerdict]
    ) -> dict[bytes, tuple[Message, EdgeOpenings]]:
        """Read the first message of each party that acts on the close before ([O1]).

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
        """Require the keys of exactly those edges that lead to parties which are gone ([O1]).

        More would bare somebody who is still there (attack `opens-more`).
        """
        opening = OPENING.decode(message.body)
        owed = self.owed.get(self.state.places[message.author], {})
        if [edge.neighbour for edge in opening.edges] != sorted(owed):
            raise BreaksRule("04-O1", "other edges than those that it owes")
        return opening

    def _unfitting(self, openings: Sequence[tuple[Message, EdgeOpenings]]) -> frozenset[int]:
        """Find who opened another key than the edge's; all keys are checked together ([O2]).

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
        unfitting = {owners[number] for number in wrong}
        if state.published:
            unfitting |= self._false(openings, keys, owners, wrong)
        return frozenset(unfitting)

    def _false(
        self,
        openings: Sequence[tuple[Message, EdgeOpenings]],
        keys: Sequence[tuple[int, SecretBytes]],
        owners: Sequence[int],
        wrong: frozenset[int],
    ) -> set[int]:
        """Find who said something else about its own edge than the key gives ([P9] of 14).

        Of a disputed edge one end stays at most; a false one to somebody who is gone would shift
        the sum. Everybody who lied is remembered.
        """
        state = self.state
        right = [number for number in range(len(keys)) if number not in wrong]
        liars = liars_about_edges(state, [keys[number] for number in right])
        found: dict[int, set[int]] = {}
        for number, ends in zip(right, liars, strict=True):
            found.setdefault(owners[number], set()).update(ends)
        self._lies |= {openings[owner][0].leaf: frozenset(ends) for owner, ends in found.items()}
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
        """Convict whoever said something false about an edge whose key is open now ([K6] of 14)."""
        state = self.state
        faults: dict[bytes, Fault] = {}
        for message in sorted(heard, key=lambda message: message.index):
            for place in sorted(self._lies.get(message.leaf, ())):
                author = state.author(place)
                if author in faults or author in state.convicted:
                    continue
                faults[author] = false_equation(state, place, message.index)
                read.pop(author, None)
                struck = author in verdicts and verdicts[author].cause is RemovalCause.STRUCK
                if place in self.members and not struck:
                    entry = state.proved[place].entries[1]
                    verdicts[author] = PartyVerdict(RemovalCause.CONVICTED, "14-K6", entry)
        return tuple(faults.values())


def owed_edges(
    state: RoundState, members: Iterable[int], disputed: Iterable[int] = ()
) -> dict[int, dict[int, int]]:
    """For each member the live edges to parties that are gone, as far as they are not open.

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
    """The positions of keys from which another commitment than the edge's follows ([O2])."""
    edges = state.matched
    if not state.context.committed_masks:
        return frozenset(
            number
            for number, (edge, key) in enumerate(keys)
            if edge_key_hash(key, state.edge_context(*edges.ends(edge))) != edges.encoding(edge)
        )
    if not keys:
        return frozenset()
    masks = edge_masks(
        state.group, [key for _, key in keys], state.context.mask_law, state.context.dimension
    )
    rows = [row.reveal() for row in masks.rows]
    points = edges.points(state.group, [edge for edge, _ in keys])
    return wrong_openings(
        ClaimedOpenings(state.key, rows, masks.blindings.reveal(), points), state.tools.rng
    )


def final_or_rollback(
    state: RoundState, message: Message, members: tuple[int, ...], *, final: bool
) -> PhaseRules:
    """The rules behind the first list of parties whose values are in: the next phase follows it.

    Confirm if no edge leads out of the list ([P3]); where parties are trusted the result; else the
    first rollback.
    """
    if not final:
        return RollbackRules(state, message, 1, members)
    state.final = members
    state.publish_leaves.add(message.leaf)
    return CuriousResultRules(state, message) if state.curious else ConfirmRules(state, message)
