"""Makes the organiser's next message from the rules, and says which rule another one breaks.

The same code makes the organiser's next message and judges the one it posted ([C3]).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bulletin_board.note import SignedCheckpoint
from bulletin_board.policy import TrustPolicy
from gopa.contract.beacon import latest_cosignature_time
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
    ResultMessage,
    Roll,
)
from gopa.contract.parameters import DrandBeacon
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules.findings import BeaconValue
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
    """Holds a message of the organiser: its kind, what it says, its bytes."""

    kind: Kind
    message: OrganiserMessage
    body: bytes


def opening(acts_on: bytes, logical: int, attempt: int) -> OrganiserStatement:
    """The message that opens a round ([X3])."""
    message = Open(acts_on, logical, attempt)
    return OrganiserStatement(Kind.OPEN, message, OPEN.encode(message))


def stated(  # noqa: PLR0913, PLR0917 - all that a message consists of
    state: RoundState,
    rules: PhaseRules,
    decision: PhaseDecision,
    cut: int,
    given: CloseInputs,
    acts_on: bytes,
) -> OrganiserStatement:
    """The message that says what a decision demands."""
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
    """The message that ends a round without a result ([X1], [X2])."""
    released = Released.NONE if state.final is None else Released.MASKED
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


def require_given(state: RoundState, rules: PhaseRules, given: CloseInputs) -> None:
    """Require the checkpoint and the beacon's round that a close adds ([C4], [J7], [V4]).

    Witnesses have to have seen the close before: else two closes could be shown on two sides of a
    fork (attacks `unwitnessed-close`, `close-without-checkpoint`).

    Raises `InvalidProof` that cites the rule.
    """
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
        signed = _opened(policy_text(state), given.checkpoint)
    except ProtocolError as error:
        raise InvalidProof(f"the checkpoint does not hold: {error}", "04-C4") from None
    before = state.lists[-1].index
    if signed.size <= before:
        raise InvalidProof("the checkpoint does not cover the close before", "04-C4")
    if rules.phase is Phase.COINS and isinstance(state.manifest.beacon, DrandBeacon):
        _require_early(state, state.manifest.beacon, policy, signed)


def policy_text(state: RoundState) -> bytes:
    """The trust policy of the session, as text."""
    return state.manifest.policy


def open_checkpoint(policy: bytes, data: bytes) -> SignedCheckpoint:
    """A checkpoint that holds under the session's policy; raises `ProtocolError`s."""
    return _opened(policy, data)


@lru_cache(maxsize=64)
def _opened(policy: bytes, data: bytes) -> SignedCheckpoint:
    return TrustPolicy.parse(policy).open(data)


def _require_early(
    state: RoundState, beacon: DrandBeacon, policy: TrustPolicy, signed: SignedCheckpoint
) -> None:
    """Require that a quorum saw the close of join before the beacon's value was known ([V4]).

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
