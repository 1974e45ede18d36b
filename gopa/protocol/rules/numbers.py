"""What parties prove of numbers, or of vectors as one commitment; and words without any proof.

In mode full a party commits to its input, and with noise to a seed, before the coins (04-J2); its
commit proves input and noise in range (04-K3), and with weights that no coordinate is above its
own (04-K6). The value that it publishes is a scalar that opens its commitments (04-P1). In mode
masked nothing is proved: values are words, and masks stand behind hashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from gopa.contract.framing import Message
from gopa.contract.party import COMMIT, JOIN, PUBLISH, Commit
from gopa.contract.words import check_words
from gopa.protocol.rules.mailbox import BreaksRule, CheckedAhead, Tools, checked_with
from gopa.protocol.rules.openings import good_points
from gopa.protocol.rules.roll_and_edges import (
    CommitContent,
    CommitRead,
    Dealt,
    Drawn,
    JoinContent,
    Masked,
)
from gopa.protocol.rules.round_state import Proving, RoundState, nonce_size
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import NoiseClaim
from wire.errors import MalformedMessage
from wire.packed import Rows

_POINT: Final = 32
_NO_MASK: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class FixedNumbers:
    """C_x and C_y (or A) of everybody on the roll, packed, until the close of commit.

    Seeds are missing without noise, and both where nothing is proved.
    """

    inputs: Sequence[bytes]
    seeds: Sequence[bytes]


class NumberProving(Proving):
    """What is proved of numbers."""

    unproved: ClassVar[tuple[str, str]] = (
        "04-K3",
        "no proof of an input in range, with its noise if there is any",
    )

    def read_join(self, message: Message, context: RoundContext) -> JoinContent:
        join = JOIN.decode(message.body)
        point = _POINT if context.proved else 0
        seed = 0 if context.manifest.terms.exact else point
        sizes = ((join.nonce_hash, nonce_size(context)), (join.input, point), (join.seed, seed))
        if any(len(data) != size for data, size in sizes):
            raise BreaksRule("04-J2", "fields have the sizes of mode, beacon and noise")
        points = [data for data in (join.key, join.input, join.seed) if data]
        context.group.decode_points(b"".join(points), len(points))
        return JoinContent(join.key, join.possession, join.nonce_hash, join.input, join.seed)

    def used_seed(self, message: Message, context: RoundContext) -> bytes | None:
        try:
            return self.read_join(message, context).seed or None
        except (MalformedMessage, BreaksRule):
            return None

    def enrol(self, state: RoundState, joins: Sequence[JoinContent]) -> None:
        proved, exact = state.context.proved, state.manifest.terms.exact
        inputs = Rows.of(_POINT, (join.input for join in joins)) if proved else ()
        seeds = Rows.of(_POINT, (join.seed for join in joins)) if proved and not exact else ()
        state.reach(FixedNumbers(inputs, seeds))

    def commits_checked(self, tools: Tools) -> CheckedAhead[Any]:
        return checked_with(tools, tools.toolkit.proofs.bad_noises)

    def read_commit(self, state: RoundState, message: Message, acts_on: bytes) -> CommitRead:
        commit, place = COMMIT.decode(message.body), state.places[message.author]
        self._require_sizes(state, commit, state.drawn.neighbours(place).size)
        # The identity as self-mask hides nothing once edges are open (attack `zero-self-mask`).
        context, exact = state.context, state.manifest.terms.exact
        points = [commit.self_mask] if context.committed_masks else []
        points += [commit.output] if context.proved and not exact else []
        if not all(good_points(state.group, [*points, *commit.coefficients])):
            raise BreaksRule("04-K2", "a point that is not valid")
        if state.curious and commit.self_mask != _NO_MASK:
            raise BreaksRule("04-K1", "there are no self-masks: 32 zeros")
        dealt = Dealt(b"".join(commit.coefficients), b"".join(commit.shares), message.index)
        # Without noise the value is masked under the commitment to the input itself (04-P1).
        shown = exact and context.committed_masks
        output = state.at(FixedNumbers).inputs[place] if shown else commit.output
        content = CommitContent(commit.self_mask, output, dealt)
        claim = self._claim(state, place, commit, acts_on) if context.proved else None
        return CommitRead(content, b"".join(commit.edges), claim)

    def _require_sizes(self, state: RoundState, commit: Commit, degree: int) -> None:
        """Require the sizes that graph and mode prescribe (04-K1, 04-K6)."""
        proved = state.context.proved
        state.require_counts(degree, commit)
        output = _POINT if proved and not state.manifest.terms.exact else 0
        if len(commit.output) != output or bool(commit.proof) != proved:
            raise BreaksRule("04-K1", "output with proved noise, proof in full mode, only there")
        if bool(commit.weighing) != (proved and state.manifest.weighted):
            raise BreaksRule("04-K6", "a proof of weighing with weights, and only then")

    def _claim(self, state: RoundState, place: int, commit: Commit, acts_on: bytes) -> NoiseClaim:
        fixed = state.at(FixedNumbers)
        return NoiseClaim(
            context=state.context,
            acts_on=acts_on,
            party=state.ids[place],
            joint=state.at(Drawn).joint,
            given=fixed.inputs[place],
            seed=b"" if state.manifest.terms.exact else fixed.seeds[place],
            output=commit.output,
            proof=commit.proof,
            weighing=commit.weighing,
        )

    def keep_commits(self, state: RoundState, commits: Mapping[int, CommitContent]) -> None:
        del commits
        state.leave(FixedNumbers)

    def read_value(self, state: RoundState, message: Message) -> Masked:
        publish = PUBLISH.decode(message.body)
        dimension, group = state.context.dimension, state.group
        if state.context.committed_masks:
            values = group.decode_scalars(publish.value, dimension)
            return Masked(publish.value, values, group.decode_scalars(publish.blinding, 1))
        group.decode_scalars(publish.blinding, 0)
        check_words(publish.value, dimension, state.manifest.word_width)
        return Masked(publish.value)
