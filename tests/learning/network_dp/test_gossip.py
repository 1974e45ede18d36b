"""What gossip tells whom, and what groups are worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gopa import UsageError
from gopa.accounting import gaussian_sigma
from gopa.graph import MixingMatrix, complete, grid, metropolis, path, ring
from gopa.learning import Privacy, ratings
from gopa.learning.network_dp import fit_gossip, fit_groups, gossip_shifts

ALL = Privacy(8.0, 1e-5)


def summed(mixing: MixingMatrix, rounds: int, observer: int) -> np.ndarray:
    """The formula for Muffliato: each message of a neighbour by itself, added up."""
    w = mixing.matrix.toarray()
    power, found = np.eye(len(w)), np.zeros(len(w))
    for _ in range(rounds):
        for other in np.flatnonzero((w[observer] > 0) & (np.arange(len(w)) != observer)):
            found += power[other] ** 2 / (power[other] ** 2).sum()
        power = power @ w
    return found


def test_messages_together_tell_more_than_their_sum() -> None:
    """Two rounds on a ring: (y0 + y1 + y2)/3 without y0 and y1 is y2 itself, and not a third."""
    mixing = metropolis(ring(20))
    assert summed(mixing, 2, 0)[2] == pytest.approx(1 / 3)
    assert gossip_shifts(mixing, 2, 0)[2] == pytest.approx(1)


def test_one_round_tells_of_neighbours_alone() -> None:
    found = gossip_shifts(metropolis(ring(8)), 1, 3)
    assert found == pytest.approx([0, 0, 1, 0, 1, 0, 0, 0])


def test_who_is_far_learns_later() -> None:
    mixing = metropolis(path(9))
    found = [gossip_shifts(mixing, rounds, 0)[6] for rounds in (1, 4, 9)]
    assert found[0] == found[1] == 0
    assert found[2] == pytest.approx(1)


def test_what_comes_from_far_is_known_however_small_it_has_become() -> None:
    """Weights fall to 3^-34 on the way, and nothing else is added to them."""
    found = gossip_shifts(metropolis(path(40)), 36, 0)
    assert found[1:35] == pytest.approx(np.ones(34))
    assert found[38] == 0


def test_messages_are_what_the_squared_shifts_are_about() -> None:
    """Noise of everybody, its covariance as an observer sees it; few rounds, so floats will do."""
    mixing, observer = metropolis(grid(3, 3)), 4
    w = mixing.matrix.toarray()
    others = np.flatnonzero((w[observer] > 0) & (np.arange(9) != observer))
    seen = np.concatenate([np.linalg.matrix_power(w, each)[others] for each in range(2)])
    seen[:, observer] = 0.0
    exact = np.einsum("su,st,tu->u", seen, np.linalg.pinv(seen @ seen.T), seen)
    assert gossip_shifts(mixing, 2, observer) == pytest.approx(exact, abs=1e-9)
    assert 0 < exact[0] < 1 - 1e-3


@pytest.mark.parametrize(("rounds", "observer"), [(0, 0), (-1, 0), (1, 8), (1, -1)])
def test_observers_and_rounds_that_are_refused(rounds: int, observer: int) -> None:
    with pytest.raises(UsageError):
        gossip_shifts(metropolis(ring(8)), rounds, observer)


def test_on_a_complete_graph_little_is_left() -> None:
    assert gossip_shifts(metropolis(complete(9)), 1, 0)[1:] == pytest.approx(np.ones(8))


def test_gossip_comes_to_the_noisy_mean() -> None:
    problem = ratings(12, seed=1)
    found = fit_gossip(problem, privacy=ALL, graph=ring(12), seed=1, high=5, rounds=300, runs=500)
    means = found.model.mean(axis=0)
    assert found.model == pytest.approx(np.tile(means, (12, 1)), abs=1e-6)
    assert means.std() == pytest.approx(gaussian_sigma(8.0, 1e-5, 5) / math.sqrt(12), rel=0.12)
    bare = fit_gossip(problem, privacy=None, graph=ring(12), seed=1, high=5, rounds=300)
    assert bare.model == pytest.approx(np.full(12, problem.table.features.mean()))
    assert not bare.spent.hides


def test_larger_groups_are_more_precise() -> None:
    """By the errors that the sessions themselves state."""
    problem, stated = ratings(12, seed=1), {}
    for size in (3, 12):
        found = fit_groups(problem, privacy=ALL, seed=2, high=5, size=size)
        groups = found.history["stderr"]
        stated[size] = math.sqrt((groups**2).sum()) / len(groups)
        assert len(groups) == len(found.transcript or ()) == 12 // size
        assert found.spent.within(ALL)
        assert found.model == pytest.approx(problem.table.features.mean(), abs=25 * stated[size])
    assert stated[12] == pytest.approx(stated[3] / 2, rel=0.25)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"size": 2}, "size"),
        ({"size": 13}, "size"),
        ({"graph": ring(12)}, "privacy"),
        ({"privacy": None}, "privacy"),
        ({"privacy": Privacy(1.0, 1e-5, view="neighbour")}, "privacy"),
        ({"low": 7.0}, "low"),
    ],
)
def test_groups_that_are_refused(change: dict[str, object], field: str) -> None:
    right: dict[str, object] = {
        "problem": ratings(12, seed=1),
        "privacy": ALL,
        "seed": 1,
        "high": 5.0,
        "size": 12,
    }
    with pytest.raises(UsageError) as caught:
        fit_groups(**{**right, **change})  # type: ignore[arg-type]
    assert caught.value.field == field
