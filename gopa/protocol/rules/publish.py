"""Judges the close of publish: whose value opens what it committed to ([P1] to [P3], [A5])."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from commitments.group import Group, PointVec, ScalarVec
from gopa.contract.framing import Message
from gopa.contract.organiser import AbortReason, RemovalCause
from gopa.contract.party import PUBLISH
from gopa.contract.phases import Phase
from gopa.contract.words import check_words
from gopa.protocol.rules.accusations import AccusationJudge, Conviction
from gopa.protocol.rules.findings import Fault, PartyVerdict
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
from gopa.protocol.rules.row_messages import PublishedRows

_AT_ONCE: Final = 2_048
"""So many openings are checked together: memory does not grow with the list."""


@dataclass(frozen=True, slots=True)
class Masked:
    """Holds a published value as scalars; words stay packed until they are summed.

    `rows` came with words whose author has to prove what they are.
    """

    data: bytes
    values: ScalarVec | None
    blinding: ScalarVec | None
    rows: PublishedRows | None = None


@dataclass(slots=True)
class PublishRules(PhaseRules):
    """Judges from the close of commit to that of publish; accusations are heard in it."""

    phase = Phase.PUBLISH
    may_be_final: ClassVar[bool] = True
    """Whether rollback or confirm follows ([P3]); else another phase stands between."""

    judge: AccusationJudge = field(init=False)
    _sorter: Sorter[Masked] = field(init=False)
    _opening: CheckedOnce[Masked] = field(init=False)

    def __post_init__(self) -> None:
        self.judge = AccusationJudge(self.state)
        self._sorter = self.sorter(self._read, "04-P2")
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
        final = state.curious or (self.may_be_final and not state.matched.crossing(members))
        removed = state.removed(verdicts, Phase.PUBLISH)
        faults = _faults(state, verdicts, convicted.values())
        culprits = state.culprits(verdicts)
        if state.too_few(members):
            failed = fails(AbortReason.TOO_FEW_LEFT, culprits, removed, faults, out=verdicts)
            return replace(failed, heard=cut)
        if self.may_be_final and not final and not state.manifest.max_rollbacks:
            failed = fails(AbortReason.TOO_MANY_ROLLBACKS, culprits, removed, faults, out=verdicts)
            return replace(failed, heard=cut)

        def settle(message: Message) -> None:
            state.values = [b""] * len(state.enrolled)
            for place in members:
                state.values[place] = read[place].data
                rows = read[place].rows
                if rows is not None:
                    state.carried[place] = rows
            state.value_commitments = None
            state.settle_list(Phase.PUBLISH, cut, message, members, final=final)

        said = state.packed(members, final=final)
        return PhaseDecision(said, removed, settle, faults, heard=cut, out=verdicts)

    def _convicted(self, cut: int) -> dict[bytes, Conviction]:
        """Who is convicted by accusations below the cut ([A5]); later ones change no list."""
        heard = [each for each in self.state.mail.many(Phase.ACCUSE) if each.index < cut]
        return dict(self.judge.convict(heard))

    def _read(self, message: Message) -> Masked:
        """Raises `MalformedMessage` for anything that is no masked value of this session."""
        publish, state = PUBLISH.decode(message.body), self.state
        dimension, group = state.context.dimension, state.group
        if state.context.committed_masks:
            values = group.decode_scalars(publish.value, dimension)
            return Masked(publish.value, values, group.decode_scalars(publish.blinding, 1))
        group.decode_scalars(publish.blinding, 0)
        check_words(publish.value, dimension, state.manifest.word_width)
        return Masked(publish.value, None, None)

    def _wrong(self, messages: Sequence[tuple[Message, Masked]]) -> frozenset[int]:
        """Find masked values that do not open what their authors committed to ([P1]).

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
        targets = masked_commitments(state, [place for place, _ in published])
        return wrong_openings(ClaimedOpenings(state.key, rows, blindings, targets), state.tools.rng)


def _joined(group: Group, vectors: Iterable[ScalarVec | None]) -> ScalarVec:
    data = b"".join(vector.to_bytes() for vector in vectors if vector is not None)
    return group.decode_scalars(data, len(data) // group.scalar_size)


def masked_commitments(state: RoundState, places: Sequence[int]) -> PointVec:
    """D_u + B_u + sum of sgn C_uv over live edges, for each of the parties."""
    return (
        state.group.points([])
        if state.value_commitments is None
        else state.value_commitments.gather(places)
    )


def _faults(
    state: RoundState, verdicts: dict[bytes, PartyVerdict], convictions: Iterable[Conviction]
) -> tuple[Fault, ...]:
    """Every conviction, and what else convicts somebody."""
    others = {
        author: verdict
        for author, verdict in verdicts.items()
        if verdict.cause is not RemovalCause.CONVICTED
    }
    convicted = [state.fault(each.author, each.rule, each.what, each.entry) for each in convictions]
    return (*state.blamed(others), *convicted)
