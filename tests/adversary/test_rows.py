"""What is accepted of liars where vectors are proved row by row, up to the borders of what is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gopa.adversary.deeds import add_to_the_sum, aim_noise, lengthen, shift
from gopa.adversary.malicious import Malicious, NotApplicable
from gopa.adversary.outcome import AttackOutcome
from gopa.adversary.setup import IN_ROWS, ROWS
from gopa.adversary.trial import played
from gopa.support.wording import ROW_NOISE

LIAR, ACCOMPLICE = 1, 2
SQUARES = sum((each - 20) ** 2 for each in ROWS.inputs()[LIAR])
FIRST = ROWS.inputs()[LIAR][0] - 20
MORE = next(by for by in range(20) if SQUARES - FIRST**2 + (FIRST + by) ** 2 > 100)
"""By so much the first entry of the liar may not be larger."""


def outcome(*actors: Malicious) -> AttackOutcome:
    return played(ROWS, actors)


def joins(by: int) -> Sequence[Malicious]:
    return [Malicious(LIAR, at="join", do=lengthen(by))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("height", "count"), [(0, 0), (IN_ROWS.spike, 1), (19, 40)], ids=["none", "spike", "equal"]
)
def test_noise_of_ones_own_choice_within_the_bounds_is_accepted_and_reported(
    height: int, count: int
) -> None:
    """14-I5: nothing counts on it, and its sum is as if it had been drawn."""
    assert height**2 * count <= IN_ROWS.noise_square
    assert height**8 * count <= IN_ROWS.spike**8
    found = outcome(Malicious(LIAR, at="join", do=aim_noise(height, count)))
    assert found.accepted
    assert found.right
    assert LIAR in found.included
    assert not found.caught
    assert ROW_NOISE in found.report.limits


def test_noise_with_a_higher_spike_is_refused() -> None:
    found = outcome(Malicious(LIAR, at="join", do=aim_noise(IN_ROWS.spike + 1, 1)))
    assert {catch.rule for catch in found.caught} == {"14-P3"}
    assert LIAR not in found.included


@pytest.mark.slow
def test_a_vector_is_accepted_up_to_its_length_and_no_further() -> None:
    assert LIAR in outcome(*joins(MORE - 1)).included
    found = outcome(*joins(MORE))
    assert {catch.rule for catch in found.caught} == {"14-P3"}
    assert LIAR not in found.included


def test_what_two_say_alike_of_their_edge_cancels_while_both_stay() -> None:
    """14-K7: nobody notices, and nothing comes of it."""
    found = outcome(
        Malicious(LIAR, at="publish", do=add_to_the_sum(1000, ACCOMPLICE)),
        Malicious(ACCOMPLICE, at="publish", do=add_to_the_sum(-1000, LIAR)),
    )
    assert found.accepted
    assert found.right
    assert {LIAR, ACCOMPLICE} <= found.included
    assert not found.caught


def test_lies_about_one_commitment_mean_nothing_there() -> None:
    with pytest.raises(NotApplicable, match="about one commitment"):
        outcome(Malicious(LIAR, at="join", do=shift(1)))
