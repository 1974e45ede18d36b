"""Cosignatures that precede a beacon's round, and those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gopa.contract.beacon import (
    LEAGUE_OF_ENTROPY,
    QUICKNET,
    earliest_round,
    latest_cosignature_time,
    require_before,
)
from wire.errors import InvalidProof, UsageError

ROUND = 1000
LATEST = QUICKNET.genesis + 999 * 3 - 6


def refused(times: Sequence[int], quorum: int, number: int = ROUND) -> tuple[str, tuple[int, ...]]:
    require_before(QUICKNET, ROUND, [LATEST, LATEST - 1], 2)
    with pytest.raises(InvalidProof) as caught:
        require_before(QUICKNET, number, times, quorum)
    return caught.value.check, caught.value.culprits


def test_the_last_moment_is_two_periods_before_the_round() -> None:
    assert latest_cosignature_time(QUICKNET, ROUND) == LATEST
    require_before(QUICKNET, ROUND, (LATEST,), 1)
    assert refused([LATEST + 1], 1) == ("09-D11", (0,))


def test_a_quorum_of_cosignatures_precedes_the_round() -> None:
    """A late one, or one without a time, takes nothing from early ones, and adds nothing."""
    times = [LATEST - 9, LATEST + 1, LATEST, LATEST + 1000, 0]
    for quorum in (1, 2):
        require_before(QUICKNET, ROUND, times, quorum)
    for quorum in (3, 5):
        assert refused(times, quorum) == ("09-D11", (1, 3, 4))
    assert refused(times, 6) == ("09-D12", ())


def test_a_beacon_round_chosen_afterwards_is_refused() -> None:
    """The close is cosigned now; a round whose value is public already was named."""
    now = LATEST
    public = QUICKNET.round_at(now)
    assert refused([now, now], 2, public) == ("09-D11", (0, 1))
    assert refused([now, now], 2, earliest_round(QUICKNET, now) - 1) == ("09-D11", (0, 1))
    require_before(QUICKNET, earliest_round(QUICKNET, now), [now, now], 2)


def test_a_log_without_enough_witnesses_proves_nothing_about_time() -> None:
    assert refused([], 1) == ("09-D12", ())
    assert refused([LATEST, LATEST], 3) == ("09-D12", ())


def test_a_cosignature_without_a_time_is_refused() -> None:
    assert refused([0, LATEST], 2) == ("09-D11", (0,))
    assert refused([LATEST, -1], 2) == ("09-D11", (1,))


def test_a_close_that_names_no_round_is_refused() -> None:
    assert refused([LATEST], 1, 0) == ("09-D11", ())


@pytest.mark.parametrize("quorum", [0, -1, True, None])
def test_a_beacon_without_a_quorum_is_refused(quorum: Any) -> None:
    require_before(QUICKNET, ROUND, [LATEST], 1)
    with pytest.raises(UsageError) as caught:
        require_before(QUICKNET, ROUND, [LATEST], quorum)
    assert caught.value.field == "quorum"


@pytest.mark.parametrize("time", [1.5, "1692803367", None, True])
def test_what_is_no_time_is_the_callers_fault(time: Any) -> None:
    require_before(QUICKNET, ROUND, [LATEST], 1)
    with pytest.raises(UsageError):
        require_before(QUICKNET, ROUND, [time], 1)
    with pytest.raises(UsageError):
        earliest_round(QUICKNET, time)


@pytest.mark.parametrize("chain", [QUICKNET, LEAGUE_OF_ENTROPY], ids=lambda c: c.beacon_id)
@given(time=st.integers(0, 2**40))
def test_the_earliest_round_is_the_first_that_passes(chain: Any, time: int) -> None:
    number = earliest_round(chain, time)
    assert latest_cosignature_time(chain, number) >= time
    assert number == 1 or latest_cosignature_time(chain, number - 1) < time
