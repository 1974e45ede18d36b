"""The organiser's next message as the rules have it, and which rule another message breaks.

The same code makes the organiser's next message and judges the one that it posted (04-C3). The
organiser chooses the cut, and has read the log when it does: so a message that stands in the log
before its own counts for no list, but is held against nobody either (04-C6, 04-X7). Else a cut
could bar its author from the retry (attack `early-cuts-bar`), or end a round whose result the
organiser dislikes in somebody else's name (`early-cut`). Which round is next, and who sits it out:
04-X3 to 04-X5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from bulletin_board.note import SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from gopa.contract.beacon import latest_cosignature_time
from gopa.contract.framing import Message
from gopa.contract.manifest import Manifest
from gopa.contract.organiser import (
    ABORT,
    CLOSE,
    OPEN,
    RESULT,
    Abort,
    AbortReason,
    Close,
    Coins,
    Members,
    Open,
    OrganiserMessage,
    Released,
    RemovalCause,
    ResultMessage,
    Roll,
)
from gopa.contract.parameters import DrandBeacon
from gopa.contract.phases import OWED_ONCE_COMMITTED, Kind, Phase
from gopa.protocol.rules.findings import BeaconValue, Removed
from gopa.protocol.rules.roll_and_edges import CutOffUnmasks, Ended
from gopa.protocol.rules.round_state import (
    CloseInputs,
    Failure,
    PhaseDecision,
    PhaseRules,
    RoundState,
    Sums,
)
from wire.errors import InvalidProof, ProtocolError

RULE_OF: Final = {
    AbortReason.TOO_FEW_JOINED: "04-J6",
    AbortReason.TOO_MANY_WITHHELD: "04-L3",
    AbortReason.TOO_FEW_LEFT: "04-L3",
    AbortReason.TOO_MANY_ROLLBACKS: "04-O4",
    AbortReason.NOT_CONFIRMED: "04-F2",
    AbortReason.NOT_UNMASKED: "04-U4",
    AbortReason.ORGANISER: "04-X1",
}
"""The rule that demands an abort."""

_ENDING: Final = defaultdict(lambda: "04-O3", {Phase.PUBLISH: "04-P3", Phase.PROVE: "14-P8"})
"""The rule that says whether the close of a phase is final."""


@dataclass(frozen=True, slots=True)
class OrganiserStatement:
    """A message of the organiser: its kind, what it says, its bytes."""

    kind: Kind
    message: OrganiserMessage
    body: bytes


def opening(acts_on: bytes, logical: int, attempt: int) -> OrganiserStatement:
    """The message that opens a round (04-X3)."""
    message = Open(acts_on, logical, attempt)
    return OrganiserStatement(Kind.OPEN, message, OPEN.encode(message))


def stated(
    rules: PhaseRules, decision: PhaseDecision, cut: int, given: CloseInputs, acts_on: bytes
) -> OrganiserStatement:
    """The message that says what a decision demands."""
    state = rules.state
    if isinstance(decision.said, Sums):
        removed = tuple(state.removal_rows())
        releases = state.earlier_releases + 1
        result = ResultMessage(acts_on, cut, decision.said.sums, removed, state.attempt, releases)
        return OrganiserStatement(Kind.RESULT, result, RESULT.encode(result))
    if isinstance(decision.said, Failure):
        return aborted(state, cut, acts_on, decision.said)
    phase = rules.phase or Phase.ORGANISER
    close = Close(acts_on, cut, given.root, phase, given.checkpoint, decision.said)
    return OrganiserStatement(Kind.CLOSE, close, CLOSE.encode(close))


def aborted(state: RoundState, cut: int, acts_on: bytes, failure: Failure) -> OrganiserStatement:
    """The message that ends a round without a result (04-X1, 04-X2)."""
    released = Released.MASKED if state.released else Released.NONE
    abort = Abort(acts_on, cut, failure.reason, released, failure.culprits)
    return OrganiserStatement(Kind.ABORT, abort, ABORT.encode(abort))


def given_in(message: OrganiserMessage) -> CloseInputs:
    """What a close says beyond what the rules compute."""
    if not isinstance(message, Close):
        return CloseInputs()
    content, beacon = message.content, None
    if isinstance(content, Roll) and content.beacon_round:
        beacon = BeaconValue(content.beacon_round)
    if isinstance(content, Coins):
        beacon = BeaconValue(0, content.signature, content.previous)
    return CloseInputs(message.checkpoint, beacon, message.root)


def require_given(rules: PhaseRules, given: CloseInputs) -> None:
    """Require the checkpoint and the beacon's round that a close adds (04-C4, 04-J7, 04-V4).

    Witnesses have to have seen the close before: else two closes could be shown on two sides of a
    fork (attacks `unwitnessed-close`, `close-without-checkpoint`).

    Raises `InvalidProof` that cites the rule.
    """
    state = rules.state
    if rules.phase is Phase.JOIN:
        named = given.beacon.round if given.beacon is not None else 0
        if isinstance(state.manifest.beacon, DrandBeacon) and not 1 <= named < 2**64:
            raise InvalidProof("the close of join names a round of the beacon", "04-J7")
    policy = state.manifest.quorum
    if policy is None or rules.phase is Phase.JOIN:
        if given.checkpoint:
            raise InvalidProof("no checkpoint is asked for here", "04-C4")
        return
    try:
        signed = open_checkpoint(state.manifest.policy, given.checkpoint)
    except ProtocolError as error:
        raise InvalidProof(f"the checkpoint does not hold: {error}", "04-C4") from None
    before = state.lists[-1].index
    if signed.size <= before:
        raise InvalidProof("the checkpoint does not cover the close before", "04-C4")
    if rules.phase is Phase.COINS and isinstance(state.manifest.beacon, DrandBeacon):
        _require_early(state, state.manifest.beacon, policy, signed)


@lru_cache(maxsize=64)
def open_checkpoint(policy: bytes, data: bytes) -> SignedCheckpoint:
    """A checkpoint that holds under the session's policy; raises `ProtocolError`s."""
    return TrustPolicy.parse(policy).open(data)


def _require_early(
    state: RoundState, beacon: DrandBeacon, policy: TrustPolicy, signed: SignedCheckpoint
) -> None:
    """Require that a quorum saw the close of join before the beacon's value was known (04-V4).

    Else an organiser could wait for the value, and then choose the roll whose graph suits it
    (attack `late-witnesses`).
    """
    number = state.enrolled.beacon_round
    latest = latest_cosignature_time(beacon.chain, number)
    early = [each.witness for each in policy.cosignatures(signed) if 0 < each.time <= latest]
    if not policy.is_quorum(early):
        message = f"a quorum cosigns up to {latest}: name a later round of the beacon"
        raise InvalidProof(message, "04-V4")


def differing(demanded: OrganiserMessage, posted: OrganiserMessage) -> tuple[str, str]:
    """Which rule a message breaks that is not the demanded one, and how."""
    if posted.acts_on != demanded.acts_on:
        return "04-E4", "it does not act on its author's last message"
    if isinstance(demanded, Open):
        return "04-X3", "another round than the next one"
    if isinstance(demanded, Abort):
        return _differing_abort(demanded, posted)
    if isinstance(demanded, ResultMessage):
        return _differing_result(demanded, posted)
    if isinstance(posted, Close):
        return _differing_close(demanded, posted)
    rule = "04-X1" if isinstance(posted, Abort) else "04-C1"
    return rule, "a close is due"


def _differing_abort(demanded: Abort, posted: OrganiserMessage) -> tuple[str, str]:
    if not isinstance(posted, Abort):
        return RULE_OF[demanded.reason], "an abort is due"
    if posted.released != demanded.released:
        return "04-X2", "it says something else about what was released"
    return "04-X1", "another reason, or other culprits"


def _differing_result(demanded: ResultMessage, posted: OrganiserMessage) -> tuple[str, str]:
    if isinstance(posted, Abort):
        return "04-X1", "a result is due"
    if not isinstance(posted, ResultMessage):
        return "04-U2", "a result is due"
    if posted.sums != demanded.sums:
        return "04-Z1", "other sums"
    if posted.removed != demanded.removed:
        return "04-Z3", "others are named as removed, or other causes"
    if posted.attempt != demanded.attempt:
        return "04-X3", "another attempt"
    return "04-X4", "another number of releases"


def _differing_close(demanded: OrganiserMessage, posted: Close) -> tuple[str, str]:
    if not isinstance(demanded, Close) or posted.phase != demanded.phase:
        return "04-C1", "the close of another phase"
    mine, theirs = demanded.content, posted.content
    if isinstance(mine, Roll) and isinstance(theirs, Roll):
        same = mine.parties == theirs.parties
        return ("04-J7", "a beacon is named") if same else ("04-J6", "another roll")
    if isinstance(mine, Coins) and isinstance(theirs, Coins):
        same = mine.members == theirs.members and mine.nonces == theirs.nonces
        return ("04-V4", "a beacon is quoted") if same else ("04-C3", "other nonces")
    if isinstance(mine, Members) and isinstance(theirs, Members):
        if mine.members != theirs.members:
            return "04-C3", "another list than the log below the cut gives"
        return _ENDING[demanded.phase], "it is not the final close, or it is"
    return "04-C1", "another kind of list"


@dataclass(frozen=True, slots=True)
class CutOff:
    """What a cut left out, by the same phase with the message's own index as its cut.

    `late` are the authors whose message would have counted, with its index; `goes_on` says
    whether the rules would have demanded a close or a result. `culprits` are those that an
    abort names and that are to blame all the same.
    """

    late: Mapping[bytes, int]
    goes_on: bool
    culprits: tuple[int, ...]


def cut_off(
    rules: PhaseRules, decision: PhaseDecision, cut: int, end: int, given: CloseInputs
) -> CutOff:
    """What stands in the log from `cut` on, below `end`, the message's own first index."""
    state = rules.state
    between = _between(rules, cut, end)
    whole = rules.demand(end, given) if between else decision
    late = {
        author: message.index
        for author, message in between.items()
        if _was_waited_for(rules, decision, author) and _counts(whole, author)
    }
    places = frozenset(at for author in late if (at := state.position(author)) is not None)
    at_recover = rules.phase is Phase.RECOVER
    # There a share of another's mask excuses nobody: else two that keep their seeds could post
    # in the gap between an honest cut and its abort, and the report would accuse the organiser.
    spared = state.at(CutOffUnmasks).members if at_recover else places
    left = set(_named(decision)) & set(_named(whole)) - spared
    closed = at_recover and set(_named(whole)) <= spared
    goes_on = closed or not isinstance(whole.said, Failure)
    return CutOff(late, goes_on, () if goes_on else tuple(sorted(left)))


def excused(removed: tuple[Removed, ...], late: Mapping[bytes, int]) -> tuple[Removed, ...]:
    """The removals, with the entry that was cut off and the rule that it was cut off by."""
    return tuple(
        replace(row, rule="04-C6", entry=late[row.author])
        if row.author in late and row.cause is RemovalCause.ABSENT
        else row
        for row in removed
    )


def _between(rules: PhaseRules, cut: int, end: int) -> dict[bytes, Message]:
    """The message of each author that the cut left out; in rollback the first about this close."""
    found: dict[bytes, Message] = {}
    for message in () if rules.phase is None else rules.state.mail.all(rules.phase):
        other = rules.phase is Phase.ROLLBACK and message.body[:32] != rules.opened.leaf
        if cut <= message.index < end and not other:
            found.setdefault(message.author, message)
    return found


def _was_waited_for(rules: PhaseRules, decision: PhaseDecision, author: bytes) -> bool:
    """Whether the author is out for want of a message. Whoever does not join is not missed."""
    if rules.phase is Phase.JOIN:
        return author not in decision.out
    return author in decision.out and decision.out[author].cause is RemovalCause.ABSENT


def _counts(whole: PhaseDecision, author: bytes) -> bool:
    """Whether nothing is wrong with what the author said; neighbours that it lost are not."""
    return author not in whole.out or whole.out[author].cause is RemovalCause.LOST


def _named(decision: PhaseDecision) -> tuple[int, ...]:
    return decision.said.culprits if isinstance(decision.said, Failure) else ()


_PROOFS: Final = frozenset({"04-J3", "04-K3", "14-P3"})
"""Rules that an invalid proof breaks."""

_CUT_OFF: Final = "04-C6"
"""Whoever was only late by the cut has posted in time, as far as the log shows."""

_FAILED: Final = frozenset(
    {RemovalCause.ABSENT, RemovalCause.INVALID, RemovalCause.STRUCK, RemovalCause.CONVICTED}
)
"""Not those who only lost too many neighbours."""


@dataclass(frozen=True, slots=True)
class Due:
    """A round: its number, which logical round it serves, which attempt it is."""

    number: int
    logical: int
    attempt: int


FIRST: Final = Due(1, 0, 0)


def following(manifest: Manifest, last: RoundState | None) -> Due | None:
    """The round after the last one; None when all logical rounds are done.

    No attempt is left after `attempts` rounds, or `charged` + 1 releases (04-X4): each attempt
    draws coins, among which colluders could choose (attack `draws-until-it-likes`).
    """
    if last is None:
        return FIRST
    terms = manifest.terms
    ended = last.reached(Ended)
    again = ended is not None and isinstance(ended.message, Abort)
    used = last.attempt + 1 >= terms.attempts or last.releases > terms.charged
    if again and not used:
        return Due(last.number + 1, last.logical, last.attempt + 1)
    if last.logical + 1 >= terms.rounds:
        return None
    return Due(last.number + 1, last.logical + 1, 0)


@dataclass(slots=True)
class Bars:
    """Who is barred: from the attempts left of this logical round, and for good."""

    retry: set[bytes] = field(default_factory=set)
    forever: set[bytes] = field(default_factory=set)

    def learn(self, state: RoundState, convicted: Iterable[bytes]) -> None:
        """Bar whoever failed in a round that is over, and those `convicted` too late for its lists.

        Whoever made it fail sits out the retry, or a few could fail every attempt (attacks
        `endless-refusals`, `refuse-confirm`, `refuse-unmask`).
        """
        for row in state.removals:
            if row.cause in {RemovalCause.STRUCK, RemovalCause.CONVICTED} or row.rule in _PROOFS:
                self.forever.add(row.author)
            failed = row.cause in _FAILED and row.rule != _CUT_OFF
            if failed and row.phase in OWED_ONCE_COMMITTED:
                self.retry.add(row.author)
        self.retry |= state.laggards
        self.forever.update(state.convicted, convicted)

    def for_round(self, due: Due, equivocators: Mapping[bytes, int]) -> frozenset[bytes]:
        """Who sits out the round that opens now."""
        if not due.attempt:
            self.retry.clear()
        return frozenset(self.retry | self.forever | equivocators.keys())
