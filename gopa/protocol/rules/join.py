"""The closes of join and coins: who is on the roll, and which graph follows.

Join: 04-J1 to 04-J7 and 04-X5. Coins, from the revealed nonces to the joint coin and the graph:
04-V1 to 04-V5 and 04-L3. A roll of a million parties is a `LazySequence`: its items are made when
they are asked for, and not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gopa.contract.beacon import (
    drand_coins,
    joint_coins,
    reveal_hash,
    simulation_coins,
    verify_round,
)
from gopa.contract.framing import Message, party_id
from gopa.contract.organiser import AbortReason, Coins, Roll, RollEntry, pack_members
from gopa.contract.parameters import CommitReveal, DrandBeacon, OpenAdmission, Roster
from gopa.contract.party import REVEAL, Reveal
from gopa.contract.phases import Phase
from gopa.protocol.rules.mailbox import BreaksRule, CheckedOnce, PartyVerdict, Sorter, invalid
from gopa.protocol.rules.roll_and_edges import (
    Drawn,
    EnrolledRoll,
    JoinContent,
    LazySequence,
    PackedRoll,
)
from gopa.protocol.rules.round_state import (
    CloseInputs,
    Failure,
    PhaseDecision,
    PhaseRules,
    RoundState,
)
from gopa.rounds.proofs import PossessionClaim
from wire.errors import InvalidProof


@dataclass(slots=True)
class CoinsRules(PhaseRules):
    """The judge from the close of join to that of coins."""

    phase = Phase.COINS

    _sorter: Sorter[Reveal] = field(init=False)

    def __post_init__(self) -> None:
        self._sorter = self.sorter(self._read, "04-V1")

    def awaited(self) -> Iterable[bytes]:
        if not isinstance(self.state.manifest.beacon, CommitReveal):
            return ()
        return self.state.places.keys()

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        if isinstance(self.state.manifest.beacon, CommitReveal):
            return self._revealed(cut)
        everybody = tuple(range(len(self.state.enrolled)))
        coins = Coins(pack_members(everybody, len(everybody)), (), b"", b"")
        if isinstance(self.state.manifest.beacon, DrandBeacon):
            value = given.beacon
            if value is None:
                raise InvalidProof("the close of coins needs the beacon's value", "04-V4")
            coins = Coins(coins.members, (), value.signature, value.previous)
            joint = self._drand(self.state.manifest.beacon, coins)
        else:
            context = self.state.context
            joint = simulation_coins(
                context.session, context.round, self.state.at(EnrolledRoll).leaf
            )
        return self._decision(cut, everybody, coins, joint, {})

    def _read(self, message: Message) -> Reveal:
        state, reveal = self.state, REVEAL.decode(message.body)
        place = state.places[message.author]
        # Who could reveal another nonce would choose it after the others' (attack `wrong-nonce`).
        expected = reveal_hash(state.context.session, state.number, state.ids[place], reveal.nonce)
        if expected != state.enrolled.nonce_hash(place):
            raise BreaksRule("04-V1", "a nonce that does not fit its hash")
        return reveal

    def _revealed(self, cut: int) -> PhaseDecision:
        """Collect the nonces that fit their hashes, and make the joint coin (04-V1, 04-V3).

        Each nonce that is kept back doubles the coins among which its owner chooses: so few may be
        missing, and the plan pays for them (attack `withheld-nonce`).
        """
        state, parties = self.state, len(self.state.enrolled)
        found = self._sorter.sort(state.places, cut)
        members = tuple(place for author, place in state.places.items() if author in found.read)
        if parties - len(members) > state.manifest.terms.loss:
            return self.abort(AbortReason.TOO_MANY_WITHHELD, found.out)
        if state.too_few(members):
            return self.abort(AbortReason.TOO_FEW_LEFT, found.out)
        nonces = tuple(found.read[author][1].nonce for author in state.authors(members))
        joint = joint_coins(
            state.context.session, state.number, state.at(EnrolledRoll).leaf, nonces
        )
        coins = Coins(pack_members(members, parties), nonces, b"", b"")
        return self._decision(cut, members, coins, joint, found.out)

    def _drand(self, beacon: DrandBeacon, coins: Coins) -> bytes:
        """The joint coin of a beacon (04-V4); `InvalidProof` if the beacon did not sign it."""
        state = self.state
        number = state.enrolled.beacon_round
        value = _value(beacon, number, coins.signature, coins.previous)
        return drand_coins(state.context.session, state.number, state.at(EnrolledRoll).leaf, value)

    def _decision(
        self,
        cut: int,
        members: tuple[int, ...],
        coins: Coins,
        joint: bytes,
        out: dict[bytes, PartyVerdict],
    ) -> PhaseDecision:
        state = self.state

        def settle(message: Message) -> None:
            roll, leaf = state.enrolled.roll(), state.at(EnrolledRoll).leaf
            graph = state.tools.toolkit.graph(state.context, roll, leaf, members, coins, joint)
            state.reach(Drawn(joint, graph, len(roll.parties) - len(members)))
            state.settle_list(Phase.COINS, cut, message, members)

        return self.decision(coins, out, settle=settle)


@lru_cache(maxsize=64)
def _value(beacon: DrandBeacon, number: int, signature: bytes, previous: bytes) -> bytes:
    """The value of a round of the beacon; kept, because checking its signature takes long."""
    return verify_round(beacon.chain, number, signature, previous or None)


@dataclass(slots=True)
class JoinRules(PhaseRules):
    """The judge from `open` to the close of join."""

    phase = Phase.JOIN

    _sorter: Sorter[JoinContent] = field(init=False)
    _proved: CheckedOnce[JoinContent] = field(init=False)

    def __post_init__(self) -> None:
        proving, context = self.state.proving, self.state.context
        self._sorter = self.sorter(
            lambda message: proving.read_join(message, context), "04-J2", missing="04-J1"
        )
        self._proved = CheckedOnce("04-J3", "no proof of possession", self._unproved)

    def awaited(self) -> Iterable[bytes]:
        admission = self.state.manifest.admission
        if not isinstance(admission, Roster):
            return ()
        excluded = self.state.barred | {self.state.manifest.organiser}
        return (key for key in admission.keys if key not in excluded)

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        state = self.state
        sorted_ = self._sorter.sort(self._authors(cut), cut)
        verdicts, read = sorted_.out, sorted_.read
        # Else a liar could come again (attacks `return-after-conviction`, `refuse-unmask`).
        for author in sorted(read.keys() & state.barred):
            verdicts[author] = invalid("04-X5", read.pop(author)[0].index)
        self._proved.require(read, verdicts)
        _require_own_keys(read, verdicts)
        self._require_fresh(read, verdicts)
        self._require_room(read, verdicts)
        if state.too_few(read):
            return self.decision(Failure(AbortReason.TOO_FEW_JOINED), verdicts)
        number = given.beacon.round if given.beacon is not None else 0
        beacon_round = number if isinstance(state.manifest.beacon, DrandBeacon) else 0
        joins = [(author, read[author][1]) for author in sorted(read)]
        roll = Roll(
            tuple(RollEntry(author, join.key, join.nonce_hash) for author, join in joins),
            beacon_round,
        )

        def settle(message: Message) -> None:
            _enrol(state, roll, message, [join for _, join in joins], cut)

        return self.decision(roll, verdicts, settle=settle)

    def _authors(self, cut: int) -> set[bytes]:
        first = self.state.mail.first(Phase.JOIN)
        return {
            author
            for author in first.keys() | self.state.mail.early_authors(Phase.JOIN)
            if author not in first or first[author].index < cut
        }

    def _unproved(self, joins: Sequence[tuple[Message, JoinContent]]) -> frozenset[int]:
        """Find joins without a proof of possession (04-J3).

        Stops a party that takes part with somebody else's key (attack `copied-dh-key`), with one
        made from others' keys (`related-dh-key`), or with one of an earlier round
        (`replayed-possession`).
        """
        state, tools = self.state, self.state.tools

        def claim(found: tuple[Message, JoinContent]) -> PossessionClaim:
            message, join = found
            return PossessionClaim(
                state.context,
                state.opened.leaf,
                party_id(message.author),
                join.key,
                join.possession,
            )

        claims = LazySequence(claim, joins)
        return tools.toolkit.proofs.bad_possessions(claims, tools.rng, tools.executor)

    def _require_fresh(
        self, read: dict[bytes, tuple[Message, JoinContent]], verdicts: dict[bytes, PartyVerdict]
    ) -> None:
        """Remove joins with another input than before, or with used seeds of noise (04-J5).

        Stops a party that spoils a round it dislikes and comes back with another value (attack
        `changed-input-in-retry`), or with noise that it knows or that is another one's
        (`reused-noise-seed`, `copied-noise-seed`).
        """
        memory = self.state.memory
        for author in sorted(read):
            message, join = read[author]
            first = memory.seeds.first(join.seed) if join.seed else None
            if not memory.inputs.allows(author, join.input):
                fault = "another input than in an earlier attempt"
            elif first is not None and first[0] != message.index:
                # Whoever delays an honest message could copy its seed in front of it.
                fault = "a seed of noise that it used before" if first[1] == author else ""
            else:
                continue
            del read[author]
            verdicts[author] = invalid("04-J5", message.index, fault)

    def _require_room(
        self, read: dict[bytes, tuple[Message, JoinContent]], verdicts: dict[bytes, PartyVerdict]
    ) -> None:
        """Keep those who came first, where admission is open (04-J1).

        The plan holds for so many parties and no more: a crowd could otherwise make it worthless.
        """
        admission = self.state.manifest.admission
        if not isinstance(admission, OpenAdmission):
            return
        in_order = sorted(read, key=lambda author: read[author][0].index)
        for author in in_order[admission.most :]:
            verdicts[author] = invalid("04-J1", read.pop(author)[0].index)


def _require_own_keys(
    read: dict[bytes, tuple[Message, JoinContent]], verdicts: dict[bytes, PartyVerdict]
) -> None:
    """Remove all that share a Diffie-Hellman key (04-J4).

    Nobody proves possession of a key that it does not know, so holders of one key work
    together: all of them go, and nobody honest is lost (attack `key-of-two`).
    """
    holders = Counter(join.key for _, join in read.values())
    for author in sorted(read):
        message, join = read[author]
        if holders[join.key] > 1:
            del read[author]
            verdicts[author] = invalid("04-J4", message.index, "a key that another one has too")


def _enrol(
    state: RoundState, roll: Roll, message: Message, joins: list[JoinContent], cut: int
) -> None:
    state.reach(EnrolledRoll(PackedRoll(roll), message.leaf))
    state.proving.enrol(state, joins)
    for each, join in zip(roll.parties, joins, strict=True):
        state.memory.inputs.note(each.author, join.input)
    state.settle_list(Phase.JOIN, cut, message, tuple(range(len(joins))))
