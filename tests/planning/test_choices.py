"""How many coins there are to choose from, against enumeration and exact integers."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import combinations, product
from statistics import mean

import pytest

from gopa.contract.beacon import joint_coins
from gopa.contract.terms import Terms, coin_choices, log2_of, subsets
from tests.contract.samples import terms


def some_terms(parties: int, corrupt: int, loss: int, attempts: int) -> Terms:
    return replace(
        terms(),
        parties=parties,
        corrupt=corrupt,
        survivors=parties - loss,
        loss=loss,
        k=parties - 1,
        attempts=attempts,
        beacon="commit-reveal",
    )


@pytest.mark.parametrize(("parties", "corrupt", "loss"), [(5, 1, 2), (7, 3, 2), (8, 3, 3)])
@pytest.mark.parametrize("attempts", [2, 3])
def test_every_choice_is_counted_and_none_twice(
    parties: int, corrupt: int, loss: int, attempts: int
) -> None:
    """All coins that come of leaving nonces out, in every attempt and branch, are different.

    Branches need other honest parties each; without organiser and board there is one.
    """

    def coins(who: range, leaves: int) -> set[bytes]:
        found = set()
        for attempt, leaf in product(range(attempts), range(leaves)):
            nonces = [bytes([attempt, party]).rjust(32, b"\0") for party in range(parties)]
            for count in range(loss + 1):
                for out in combinations(who, min(count, len(who))):
                    left = [each for u, each in enumerate(nonces) if u not in out]
                    found.add(joint_coins(bytes(32), attempt + 1, bytes([leaf]) * 32, left))
        return found

    agreed = some_terms(parties, corrupt, loss, attempts)
    counted, leaves = coin_choices(agreed), 2
    assert leaves * agreed.honest <= parties - corrupt < (leaves + 1) * agreed.honest
    assert counted.helped == len(coins(range(parties), leaves))
    assert counted.alone == len(coins(range(corrupt), 1))
    assert math.isclose(float(counted.helped_bits), math.log2(len(coins(range(parties), leaves))))


@pytest.mark.parametrize(("size", "most"), [(0, 3), (4, 9), (100, 17), (1000, 60), (4000, 37)])
def test_subsets_against_integers(size: int, most: int) -> None:
    exact = sum(math.comb(size, taken) for taken in range(most + 1))
    if exact < 10**60:
        assert subsets(size, most) == exact
    assert abs(float(log2_of(subsets(size, most))) - math.log2(exact)) < 1e-9


def test_nobody_chooses_values_of_drand() -> None:
    drand = replace(some_terms(9, 2, 2, 4), beacon="drand")
    assert coin_choices(drand).helped == coin_choices(drand).alone == 4
    forked = coin_choices(replace(drand, survivors=5))
    assert forked.helped == 8
    assert forked.alone == 4


def test_the_shift_bounds_the_best_of_so_many() -> None:
    """For Gaussian noise: the mean of the largest of N is below, and not far below."""
    counted = coin_choices(some_terms(7, 3, 2, 2))
    samples = int(counted.helped)
    rows = [_normals(seed, samples) for seed in range(400)]
    best = mean(map(max, rows))
    assert 0.7 * counted.shift < best < counted.shift


def _normals(seed: int, count: int) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.gauss(0, 1) for _ in range(count)]
