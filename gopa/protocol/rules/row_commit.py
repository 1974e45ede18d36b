"""Judges the close of commit where vectors are proved row by row ([P3], [K3] of 14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gopa.contract.framing import Message
from gopa.contract.rows import ROW_COMMIT, RowCommit
from gopa.protocol.rules.commit import CommitContent, CommitRules
from gopa.protocol.rules.mailbox import BreaksRule, CheckedAhead, checked_with
from gopa.protocol.rules.roll_and_edges import Dealt, good_points
from gopa.protocol.rules.row_messages import CommittedRows
from gopa.rounds.proofs import LengthClaim
from wire.errors import MalformedMessage
from zkp.rows.product_tests import check_tests


@dataclass(slots=True)
class RowCommitRules(CommitRules):
    """Judges a round from the close of coins to that of commit; masks are behind hashes."""

    unproved: ClassVar[tuple[str, str]] = (
        "14-P3",
        "no proof that its input, and its noise, are as short as they have to be",
    )

    def _checked_ahead(self) -> CheckedAhead[Any]:
        tools = self.state.tools
        return checked_with(tools.rng, tools.executor, tools.toolkit.proofs.bad_lengths)

    def _read(self, message: Message) -> CommitContent:
        commit, state = ROW_COMMIT.decode(message.body), self.state
        place = state.places[message.author]
        self._require_counts(commit, state.drawn.neighbours(place).size)  # [K1] of 04
        if not all(good_points(state.group, commit.coefficients)):
            raise BreaksRule("04-K2", "a point that is not valid")
        try:
            check_tests(commit.tests)
        except MalformedMessage as error:  # a large entry would show in some of them ([T1])
            raise BreaksRule("14-P3", error.message) from None
        self._proofs.add(message.leaf, self._claimed(message.author, commit))
        self._edges.post(place, b"".join(commit.edges))
        dealt = Dealt(b"".join(commit.coefficients), b"".join(commit.shares), message.index)
        return CommitContent(commit.self_mask, b"", dealt)

    def _claimed(self, author: bytes, commit: RowCommit) -> LengthClaim:
        state = self.state
        place = state.places[author]
        joined = state.joined[place]
        return LengthClaim(
            context=state.context,
            acts_on=self.opened.leaf,
            party=state.ids[place],
            joint=state.joint,
            input=joined.input,
            noise=joined.noise,
            pads=joined.pads,
            tests=commit.tests,
            proof=commit.proof,
        )

    def _keep(self, commits: dict[int, CommitContent]) -> None:
        """Keep the rows of listed parties: their words are held against them ([P6])."""
        state = self.state
        state.rows = {
            place: CommittedRows(
                state.joined[place].input, state.joined[place].noise, commit.dealt.entry
            )
            for place, commit in commits.items()
        }
        state.joined = ()
