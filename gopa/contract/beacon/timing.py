"""Says which beacon round may decide a round after its join. `specs/09-beacon.md`, section 3.

A beacon's value is public once its round is due. The list of parties must be fixed
before that, and witnesses say when it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gopa.contract.beacon.drand import DrandChain
from wire.errors import InvalidProof, UsageError

DISTANCE: Final = 2
"""Periods between the last cosignature and the beacon's round: for clocks that differ."""

TIMES: Final = "09-D11"
QUORUM: Final = "09-D12"


def latest_cosignature_time(chain: DrandChain, drand_round: int) -> int:
    """The last second at which a cosignature still precedes the round (rule D11)."""
    return chain.time_of(drand_round) - DISTANCE * chain.period


def earliest_round(chain: DrandChain, time: int) -> int:
    """The first round that a close cosigned at `time` may name.

    The organiser adds the time that posting and collecting cosignatures takes, because
    the close names the round before witnesses have seen it.
    """
    if type(time) is not int:
        raise UsageError("a time is a whole number of seconds", "time")
    periods_after_genesis = -((chain.genesis - time) // chain.period)
    return max(1, periods_after_genesis + DISTANCE + 1)


def require_before(
    chain: DrandChain, drand_round: int, cosignature_times: Sequence[int], quorum: int
) -> None:
    """Return if witnesses fixed the list of parties before the round's value was known.

    `cosignature_times` are those of all cosignatures that a checkpoint covering the close
    of join carries. The caller has verified them: one for each witness, by the policy of
    the session. `quorum` is how many witnesses its quorum takes; where witnesses form
    groups the caller asks the policy about those that were early. Late cosignatures
    beside a quorum of early ones take nothing from these.

    Raises:
        InvalidProof: too few cosignatures (09-D12); or too few early ones (09-D11), with
            the positions of the others as `culprits`; or the round is 0 (09-D11).
        UsageError: the quorum is below 1: a beacon without witnesses is refused, because
            the list could be made up when the value is known.
    """
    if type(quorum) is not int or quorum < 1:
        raise UsageError("coins from a beacon need a quorum of witnesses", "quorum")
    if any(type(time) is not int for time in cosignature_times):
        raise UsageError("a time is a whole number of seconds", "cosignature_times")
    if drand_round == 0:
        raise InvalidProof("the close of join names no round of the beacon", TIMES)
    if len(cosignature_times) < quorum:
        raise InvalidProof(f"{len(cosignature_times)} of {quorum} cosignatures", QUORUM)
    latest = latest_cosignature_time(chain, drand_round)
    late = tuple(i for i, time in enumerate(cosignature_times) if not 0 < time <= latest)
    # Who closes a join when the value is known chooses a graph by choosing who is in it.
    if len(cosignature_times) - len(late) < quorum:
        message = f"a quorum must state times up to {latest}: name a later beacon round"
        raise InvalidProof(message, TIMES, late)
