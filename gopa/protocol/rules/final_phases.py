"""The phases that end a round: confirm, unmask, recovery and the result.

Confirm says who saw the final close (04-F1, 04-F2). Unmask, or the result if every seed is there,
follows (04-U1, 04-U2); with recovery, shares stand in for missing self-masks (04-U3 to 04-U5), and
seeds are held against what their owners committed to (04-U1, 04-U5). The sum is that of the masked
values less the masks that became public (04-Z1, 04-Z2). In an honest but curious session the close
of publish is final, and the result follows at once (section 13).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from commitments.group import ScalarVec
from gopa.contract.framing import Message
from gopa.contract.organiser import AbortReason
from gopa.contract.party import CONFIRM, RECOVER, UNMASK, Confirm, Recover, Unmask
from gopa.contract.phases import Phase
from gopa.contract.words import unpack_words, word_type
from gopa.protocol.rules.findings import Fault
from gopa.protocol.rules.mailbox import BreaksRule, CheckedOnce, PartyVerdict, Sorter, invalid
from gopa.protocol.rules.openings import ClaimedOpenings, public, wrong_openings
from gopa.protocol.rules.roll_and_edges import Lies, PublishedValues, UnmaskedSeeds
from gopa.protocol.rules.round_state import (
    CloseInputs,
    Failure,
    PhaseDecision,
    PhaseRules,
    RoundState,
    Sums,
)
from gopa.rounds.masks import (
    SelfMask,
    Share,
    add_edge_words,
    add_self_words,
    check_share,
    decode_share,
    recover,
    recover_seed,
    seed_hash,
    self_mask,
    share_point,
)
from wire.errors import InvalidProof, MalformedMessage
from wire.secret import SecretBytes

Recovered: TypeAlias = SelfMask | SecretBytes
"""What shares of a self-mask give: the mask, or its seed."""


def summed(
    rules: PhaseRules,
    seeds: Mapping[int, SecretBytes],
    recovered: Mapping[int, Recovered],
    *faults: Fault,
) -> PhaseDecision:
    """The result, once every self-mask of the final list is known."""
    state = rules.state
    outward = opened_outward(state)
    masks = {at: each for at, each in recovered.items() if isinstance(each, SelfMask)}
    dealt = {at: each for at, each in recovered.items() if isinstance(each, SecretBytes)}
    known = {**seeds, **dealt}
    if state.context.committed_masks:
        sums = _scalars(state, outward, known, masks)
    else:
        sums = _words(state, outward, known)
    found = UnmaskedSeeds(seeds, tuple(sorted(recovered)))
    return rules.decision(Sums(sums), {}, *faults, settle=lambda _: state.reach(found))


def opened_outward(state: RoundState) -> list[tuple[int, int]]:
    """Opened live edges from inside the final list to outside: (edge, sign of the end inside)."""
    edges = state.matched
    return [
        (edge, edges.sign_at(edge, inside))
        for edge, inside, _ in edges.crossing(state.final)
        if edge in state.openings
    ]


def _scalars(
    state: RoundState,
    outward: Iterable[tuple[int, int]],
    seeds: Mapping[int, SecretBytes],
    recovered: Mapping[int, SelfMask],
) -> tuple[int, ...]:
    group, dimension = state.group, state.context.dimension
    values, total = state.at(PublishedValues).values, group.scalars([0] * dimension)
    for place in state.final:
        total = total + group.decode_scalars(values[place], dimension)
        mask = recovered.get(place)
        if mask is None:
            mask = self_mask(group, seeds[place], state.self_context(place), dimension)
        total = total - mask.values.reveal()
    opened = list(outward)
    masks = state.context.edge_masks([state.openings[edge] for edge, _ in opened])
    signed = masks.signed_sum([sign for _, sign in opened])[0]
    return _centred(public(total - signed.reveal()), group.order)


def _centred(values: ScalarVec, order: int) -> tuple[int, ...]:
    return tuple(value - order if value > order // 2 else value for value in values.ints())


def _words(
    state: RoundState, outward: Iterable[tuple[int, int]], seeds: Mapping[int, SecretBytes]
) -> tuple[int, ...]:
    width, dimension = state.manifest.word_width, state.context.dimension
    values = state.at(PublishedValues).values
    total: npt.NDArray[np.unsignedinteger] = np.zeros(dimension, dtype=word_type(width))
    for place in state.final:
        total += unpack_words(values[place], dimension, width)
        if place in seeds:
            seed, context = seeds[place], state.self_context(place)
            add_self_words(total, seed, context, -1, group=state.group)
    law = state.context.mask_law
    for edge, sign in outward:
        add_edge_words(total, state.openings[edge], -sign, law, group=state.group)
    return _signed(total, width)


def _signed(words: npt.NDArray[np.unsignedinteger], width: int) -> tuple[int, ...]:
    """The low bits of each word, read with their sign."""
    spare = 64 - width
    shifted = words.astype(np.uint64) << np.uint64(spare)
    return tuple((shifted.view(np.int64) >> np.int64(spare)).tolist())


@dataclass(slots=True)
class CuriousResultRules(PhaseRules):
    """The judge that releases the sum, masks towards absent parties included."""

    phase = None

    def awaited(self) -> Iterable[bytes]:
        return ()

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del cut, given
        return summed(self, {}, {})


@dataclass(frozen=True, slots=True)
class _Right:
    """A right share, and the index of the message that gave it."""

    share: Share
    entry: int


@dataclass(slots=True)
class RecoverRules(PhaseRules):
    """The judge from the close of unmask to the result."""

    phase = Phase.RECOVER

    dealers: Mapping[int, tuple[int, ...]] = field(init=False)
    """For each party that may give shares, whose."""
    _missing: tuple[int, ...] = field(init=False)
    _sorter: Sorter[Recover] = field(init=False)
    _fits: dict[tuple[bytes, int], Share | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        state = self.state
        unmasked = state.at(UnmaskedSeeds).seeds
        self._missing = tuple(u for u in state.final if u not in unmasked)
        missing = frozenset(self._missing)
        confirmed = next(each.members for each in state.lists if each.phase is Phase.CONFIRM)
        self.dealers = {
            place: dealers
            for place in confirmed
            if (dealers := tuple(u for u in state.neighbours(place) if u in missing))
        }
        self._sorter = self.sorter(self._read, "04-U3", strikes=False)

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(sorted(self.dealers))

    def shares_owed(self) -> Mapping[int, tuple[int, ...]]:
        return self.dealers

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        # Nobody waits for those who may give nothing; what they post all the same is judged.
        found = self._sorter.sort(state.authors(state.final), cut)
        given_out, wrong = self._given_out(found.read)
        masks = {dealer: self._mask(dealer, given_out[dealer]) for dealer in self._missing}
        others = self._of_another_seed(masks)
        convicted = [self._conviction(dealer, given_out[dealer]) for dealer in others]
        false = self._of_false_equations(masks, others)
        convicted += [
            state.false_mask(dealer, entries, *self._shown(given_out[dealer], dealer))
            for dealer, entries in sorted(false.items())
            if state.author(dealer) not in state.convicted
        ]
        recovered = {dealer: mask for dealer, mask in masks.items() if mask is not None}
        useless = {*others, *false}
        lost = [dealer for dealer in self._missing if dealer in useless or masks[dealer] is None]
        if lost:
            failed = self.decision(
                Failure(AbortReason.NOT_UNMASKED, tuple(lost)), found.out, *wrong, *convicted
            )
            return replace(failed, convicted=frozenset(fault.author for fault in convicted))
        faults = (*state.blamed(found.out), *wrong, *convicted)
        return summed(self, state.at(UnmaskedSeeds).seeds, recovered, *faults)

    def _given_out(
        self, read: Mapping[bytes, tuple[Message, Recover]]
    ) -> tuple[dict[int, dict[int, _Right]], list[Fault]]:
        """The right shares of each missing dealer by their points, and who gave wrong ones.

        A wrong one would keep the mask of an accomplice closed (attack `wrong-recovery`).
        """
        state = self.state
        shares: dict[int, dict[int, _Right]] = {dealer: {} for dealer in self._missing}
        wrong: list[Fault] = []
        for author in sorted(read):
            message, content = read[author]
            place = state.places[author]
            for each in content.shares:
                share = self._share(message, place, each.dealer, each.share)
                if share is None:
                    what = f"a share that does not fit the coefficients of party {each.dealer}"
                    wrong.append(state.fault(author, "04-U3", what, message.index))
                else:
                    shares[each.dealer][share_point(place)] = _Right(share, message.index)
        return shares, wrong

    def _read(self, message: Message) -> Recover:
        content = RECOVER.decode(message.body)
        owed = self.dealers.get(self.state.places[message.author], ())
        named = [share.dealer for share in content.shares]
        increasing = all(one < other for one, other in pairwise(named))
        if not increasing or not set(named) <= set(owed):
            raise BreaksRule("04-U3", "shares of missing neighbours, in increasing position")
        return content

    def _share(self, message: Message, place: int, dealer: int, data: bytes) -> Share | None:
        """The share if it fits."""
        known = message.leaf, dealer
        if known not in self._fits:
            self._fits[known] = self._checked(place, dealer, data)
        return self._fits[known]

    def _checked(self, place: int, dealer: int, data: bytes) -> Share | None:
        try:
            share = decode_share(self.state.group, data)
            check_share(self.state.dealt_commitments(dealer), share_point(place), share)
        except (MalformedMessage, InvalidProof):
            return None
        return share

    def _mask(self, dealer: int, given_out: Mapping[int, _Right]) -> Recovered | None:
        """Recover a self-mask or its seed (04-U4); None with too few shares.

        A seed is not compared with the self-mask yet.
        """
        if len(given_out) < self._needed(dealer):
            return None
        commitments = self.state.dealt_commitments(dealer)
        shares = {at: each.share for at, each in given_out.items()}
        if self.state.manifest.deals_seeds:
            return recover_seed(commitments, shares)
        return recover(commitments, shares)

    def _of_another_seed(self, masks: Mapping[int, Recovered | None]) -> tuple[int, ...]:
        """The dealers whose shares make a seed that does not make their self-mask (04-U5).

        Stops a party that deals another seed than its own and vanishes: it could end every round
        (attack `another-seed`).
        """
        seeds = [(u, mask) for u, mask in masks.items() if isinstance(mask, SecretBytes)]
        wrong = wrong_seeds(self.state, seeds)
        return tuple(seeds[number][0] for number in sorted(wrong))

    def _of_false_equations(
        self, masks: Mapping[int, Recovered | None], others: Sequence[int]
    ) -> Lies:
        """The dealers about whose seed something false was proved (14-P10)."""
        seeds = [
            (dealer, mask)
            for dealer, mask in masks.items()
            if isinstance(mask, SecretBytes) and dealer not in others
        ]
        return self.state.proving.liars_about_seeds(self.state, seeds)

    def _conviction(self, dealer: int, given_out: Mapping[int, _Right]) -> Fault:
        """Convict a dealer by its commit and the messages that gave its seed (04-U5)."""
        state = self.state
        entries = state.committed.dealt(dealer).entry, *self._shown(given_out, dealer)
        what = "it dealt shares of another seed than that of its self-mask"
        return state.fault(state.author(dealer), "04-U5", what, *entries)

    def _shown(self, given_out: Mapping[int, _Right], dealer: int) -> tuple[int, ...]:
        """The messages with the shares that gave a seed, those at the smallest points."""
        return tuple(given_out[at].entry for at in sorted(given_out)[: self._needed(dealer)])

    def _needed(self, dealer: int) -> int:
        """The number of shares that give back what this dealer shared (T_u)."""
        return self.state.manifest.terms.shares_needed(len(self.state.neighbours(dealer))) or 1


@dataclass(slots=True)
class UnmaskRules(PhaseRules):
    """The judge from the close of confirm to that of unmask, or to the result."""

    phase = Phase.UNMASK

    _sorter: Sorter[Unmask] = field(init=False)
    _right: CheckedOnce[Unmask] = field(init=False)

    def __post_init__(self) -> None:
        self._sorter = self.sorter(
            lambda message: UNMASK.decode(message.body), "04-U1", strikes=False
        )
        fault = "a seed that does not make its self-mask"
        self._right = CheckedOnce("04-U1", fault, self._wrong)

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(self.state.final)

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        found = self._sorter.sort(self.awaited(), cut)
        self._right.require(found.read, found.out)
        false = self._require_equations(found.read, found.out)
        seeds = {
            state.places[author]: SecretBytes(found.read[author][1].seed)
            for author in sorted(found.read)
        }
        convicted, members = frozenset(fault.author for fault in false), tuple(seeds)
        if not found.out:
            return summed(self, seeds, {})

        def settle(message: Message) -> None:
            state.reach(UnmaskedSeeds(seeds))
            if state.recovers:
                state.settle_list(Phase.UNMASK, cut, message, members)

        # Without all self-masks there is no sum to know (`refuse-unmask`, `made-up-result`).
        missing = Failure(AbortReason.NOT_UNMASKED, state.culprits(found.out))
        said = state.packed(members) if state.recovers else missing
        return self.decision(said, found.out, *false, settle=settle, convicted=convicted)

    def _require_equations(
        self, read: dict[bytes, tuple[Message, Unmask]], verdicts: dict[bytes, PartyVerdict]
    ) -> tuple[Fault, ...]:
        """Remove and convict those about whose seed something false was proved (14-P10)."""
        state = self.state
        seeds = [
            (state.places[author], SecretBytes(content.seed))
            for author, (_, content) in read.items()
        ]
        faults = []
        for place, entries in sorted(state.proving.liars_about_seeds(state, seeds).items()):
            message, _ = read.pop(state.author(place))
            verdicts[message.author] = invalid("14-P10", message.index)
            faults.append(state.false_mask(place, entries, message.index))
        return tuple(faults)

    def _wrong(self, messages: Sequence[tuple[Message, Unmask]]) -> frozenset[int]:
        """Find the seeds that do not make the self-mask of their party (04-U1).

        Another seed would shift the sum by the difference of two masks (attack `wrong-seed`).
        """
        seeds = [
            (self.state.places[message.author], SecretBytes(content.seed))
            for message, content in messages
        ]
        return wrong_seeds(self.state, seeds)


@dataclass(slots=True)
class ConfirmRules(PhaseRules):
    """The judge from the final close to that of confirm. Evidence changes nothing now (04-E3)."""

    phase = Phase.CONFIRM

    _sorter: Sorter[Confirm] = field(init=False)

    def __post_init__(self) -> None:
        self._sorter = self.sorter(self._read, "04-F1", strikes=False)

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(self.state.final)

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        everybody = state.final
        found = self._sorter.sort(self.awaited(), cut)
        confirmed = tuple(place for place in everybody if state.author(place) in found.read)
        # Seeds are opened only once enough hold the same list, around each party as well: else
        # some could open edges to whom others unmask (attack `split-organiser`).
        if state.too_few(confirmed) or state.losing(everybody, confirmed):
            return self.abort(AbortReason.NOT_CONFIRMED, found.out)

        def settle(message: Message) -> None:
            state.settle_list(Phase.CONFIRM, cut, message, confirmed)

        return self.decision(state.packed(confirmed), found.out, settle=settle)

    def _read(self, message: Message) -> Confirm:
        """Note when its author confirmed: it is bound at once, wherever the cut lies (04-F3).

        Else a party could confirm and still open edges (attack `betray`), with the cut as excuse.
        """
        content = CONFIRM.decode(message.body)
        self.state.confirmed_at[self.state.places[message.author]] = message.index
        return content


def wrong_seeds(state: RoundState, seeds: Sequence[tuple[int, SecretBytes]]) -> frozenset[int]:
    """Which of the seeds do not make the self-mask of the party at the position beside them."""
    if not state.context.committed_masks:
        return frozenset(
            number
            for number, (place, seed) in enumerate(seeds)
            if seed_hash(seed, state.self_context(place)) != state.committed.self_mask(place)
        )
    if not seeds:
        return frozenset()
    masks = [mask_of(state, place, seed) for place, seed in seeds]
    opened = b"".join(mask.blinding.reveal().to_bytes() for mask in masks)
    blindings = state.group.decode_scalars(opened, len(masks))
    encodings = b"".join(state.committed.self_mask(place) for place, _ in seeds)
    points = state.group.decode_points(encodings, len(seeds))
    rows = [mask.values.reveal() for mask in masks]
    return wrong_openings(ClaimedOpenings(state.key, rows, blindings, points), state.tools.rng)


def mask_of(state: RoundState, place: int, seed: SecretBytes) -> SelfMask:
    """Compute the self-mask b_u and its blinding t_u from an opened seed."""
    return self_mask(state.group, seed, state.self_context(place), state.context.dimension)
