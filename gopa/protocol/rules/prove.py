"""Judges the close of prove: whose words are its input, its noise and its masks ([P6], [P8] of 14).

The close of publish has fixed the words, and its leaf the points at which everybody proves. From
here on the list is judged as that of publish is in other sessions: whoever is missing had better
not have published, and an edge about which both ends disagree is opened like one that leads out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

from gopa.contract.framing import Message
from gopa.contract.organiser import AbortReason
from gopa.contract.phases import Phase
from gopa.contract.rows import NOT_LIVE, PROVE, Prove
from gopa.protocol.rules.equations import disputed_edges
from gopa.protocol.rules.mailbox import BreaksRule, CheckedAhead, PartyVerdict, Sorter, checked_with
from gopa.protocol.rules.round_state import CloseInputs, PhaseDecision, PhaseRules, fails
from gopa.protocol.rules.row_messages import Proved
from gopa.rounds.proofs import MaskClaim
from gopa.rounds.rows.statements import decoded_points
from wire.errors import MalformedMessage
from zkp.rows.product_tests import check_tests

_BATCH: Final = 16
"""So many mask proofs are checked together: each goes over all words of its author."""


@dataclass(slots=True)
class ProveRules(PhaseRules):
    """Judges from the close of publish to that of prove; `members` is L_0."""

    phase = Phase.PROVE

    members: tuple[int, ...] = field(init=False)
    _sorter: Sorter[Proved] = field(init=False)
    _proofs: CheckedAhead[MaskClaim] = field(init=False)

    def __post_init__(self) -> None:
        state = self.state
        self.members = state.members
        state.publish_leaf, state.published = self.opened.leaf, len(self.members)
        bad_masks = state.tools.toolkit.proofs.bad_masks
        self._proofs = checked_with(state.tools.rng, state.tools.executor, bad_masks, batch=_BATCH)
        self._sorter = self.sorter(
            self._read, "14-P6", missing="14-P8", then=self._proofs.flush_full_batches
        )

    def awaited(self) -> Iterable[bytes]:
        return self.state.authors(self.members)

    def demand(self, cut: int, given: CloseInputs) -> PhaseDecision:
        del given
        state = self.state
        found = self._sorter.sort(self.awaited(), cut)
        verdicts = found.out
        self._require_proofs(found.read, verdicts)
        proved = {state.places[author]: said for author, (_, said) in found.read.items()}
        members = state.shortened(sorted(proved), verdicts)
        disputed = disputed_edges(state.matched, proved, members)
        final = not disputed and not state.matched.crossing(members)
        removed, faults = state.removed(verdicts, Phase.PROVE), state.blamed(verdicts)
        culprits = state.culprits(verdicts)
        if state.too_many_gone(members):
            return fails(AbortReason.TOO_FEW_LEFT, culprits, removed, faults, out=verdicts)
        if not final and not state.manifest.max_rollbacks:
            return fails(AbortReason.TOO_MANY_ROLLBACKS, culprits, removed, faults, out=verdicts)

        def settle(message: Message) -> None:
            state.proved, state.disputed = proved, disputed
            state.rows, state.carried = {}, {}
            state.settle_list(Phase.PROVE, cut, message, members, final=final)

        said = state.packed(members, final=final)
        return PhaseDecision(said, removed, settle, faults, out=verdicts)

    def _read(self, message: Message) -> Proved:
        """Require what the author says about each of its edges, and tests of small entries ([K4]).

        An edge about which nothing is said would leave a mask that nothing is proved about: its
        author could add whatever it likes to the sum.
        """
        said, state = PROVE.decode(message.body), self.state
        place = state.places[message.author]
        if place not in state.carried:  # nothing of it is there to be proved, and nobody asks
            raise BreaksRule("14-P8", "its author is not in the list of publish")
        neighbours = state.neighbours(place)
        if len(said.edges) != len(neighbours):
            raise BreaksRule("14-P6", f"{len(neighbours)} neighbours and {len(said.edges)} edges")
        edges = state.matched.find_each(place, neighbours)
        live = [edge is not None for edge in edges]
        void = [encoding for encoding, lives in zip(said.edges, live, strict=True) if not lives]
        if any(encoding != NOT_LIVE for encoding in void):
            raise BreaksRule("14-P6", "something is said about an edge that masks nothing")
        shown = b"".join(compress(said.edges, live))
        try:
            decoded_points(state.group, shown, sum(live))
            decoded_points(state.group, said.self_mask, 1)
        except MalformedMessage:
            raise BreaksRule("14-P6", "a commitment that is none") from None
        try:
            check_tests(said.tests)
        except MalformedMessage as error:  # a large carry would show in some of them ([T1])
            raise BreaksRule("14-P6", error.message) from None
        about = {
            edge: encoding
            for edge, encoding in zip(edges, said.edges, strict=True)
            if edge is not None
        }
        masked = tuple(compress(neighbours, live))
        self._proofs.add(message.leaf, self._claim(place, masked, about, said))
        return Proved(about, said.self_mask, (state.rows[place].entry, message.index))

    def _require_proofs(
        self, read: dict[bytes, tuple[Message, Proved]], verdicts: dict[bytes, PartyVerdict]
    ) -> None:
        """Remove parties whose words are not proved to be what they owe ([P6], [K4]).

        Stops a party that proves one input and publishes words that hide another one.
        """
        fault = "no proof that its words are its input, its noise and its masks"
        self._proofs.require(read, verdicts, "14-P6", fault)

    def _claim(
        self, place: int, neighbours: tuple[int, ...], about: Mapping[int, bytes], said: Prove
    ) -> MaskClaim:
        """The claim of a party; `about` has its live edges in the order of these neighbours."""
        state = self.state
        rows, carried = state.rows[place], state.carried[place]
        return MaskClaim(
            context=state.context,
            acts_on=self.opened.leaf,
            party=state.ids[place],
            joint=state.joint,
            listed=len(self.members),
            input=rows.input,
            noise=rows.noise,
            value=state.values[place],
            carries=carried.carries,
            pads=carried.pads,
            neighbours=neighbours,
            signs=state.matched.signs_at(list(about), place),
            edges=tuple(about.values()),
            self_mask=said.self_mask,
            tests=said.tests,
            proof=said.proof,
        )
