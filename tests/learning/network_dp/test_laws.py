"""What accountants of walks say is at or above the truth: path by path, and against attacks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gopa import UsageError
from gopa.accounting import Loss, gaussian_sigma
from gopa.adversary import distinguish
from gopa.graph import Graph, complete, grid, path, ring
from gopa.learning.clocks import constant, root
from gopa.learning.network_dp import (
    GraphWalk,
    WalkLaw,
    any_path_epsilon,
    graph_law,
    laws,
    ring_epsilon,
    ring_histogram,
    sgd_law,
    sum_law,
    walk_histogram,
)
from gopa.learning.network_dp.laws import Shares, central_sigma, gaps, local_sigma, spacings
from tests.learning.network_dp.closed_forms import (
    advanced,
    descent_error,
    descent_steps,
    shuffled_rounds,
    visits,
    walk_descent,
    walk_order,
)
from tests.learning.network_dp.views import (
    VICTIM,
    Attack,
    contracted,
    cut,
    gaussian_delta,
    gaussian_deltas,
    of_all_paths,
    paths,
    summed,
)


def naive(users: int, cap: int, colluders: int) -> WalkLaw:
    """The mistake: a user's next own visit is forgotten, so p = colluders / users."""
    p = colluders / users
    count = np.arange(1, 4000)
    chances = p * (1 - p) ** (count - 1.0)
    shares = Shares(chances / chances.sum(), 1 / count)
    return WalkLaw.of(shares, shares, cap)


@pytest.mark.parametrize(("users", "colluders"), [(3, 1), (4, 2), (5, 3), (6, 1)])
@pytest.mark.parametrize("cap", [1, 2, 3])
def test_no_path_of_any_length_exceeds_the_law(users: int, colluders: int, cap: int) -> None:
    """Exact over all paths, with the last token published."""
    claims = {cut: sgd_law(users, cap, colluders), summed: sum_law(users, cap, colluders)}
    for steps, shift in itertools.product((1, 2, 4), claims):
        shifts = of_all_paths(shift, users, steps, cap, colluders)
        for epsilon, sigma in itertools.product((0.2, 1.0, 3.0), (0.6, 2.0)):
            exactly = gaussian_deltas(epsilon, np.sqrt(shifts) / sigma).mean()
            assert exactly <= claims[shift].delta(epsilon, sigma) * (1 + 1e-9)


def test_whatever_others_do_their_noise_covers_a_share() -> None:
    """Gradient steps on parabolas multiply by -1 to 1; exact over all paths, maps drawn."""
    rng, users, cap = np.random.default_rng(7), 3, 2
    law, every = sgd_law(users, cap), list(paths(users, 5))
    for slopes in [np.ones(3), *rng.choice([-1.0, 0.0, 0.5, 1.0], (9, 3))]:
        shifts = np.array([contracted(each, slopes, cap) for each in every])
        for epsilon, sigma in itertools.product((0.2, 1.0, 3.0), (0.6, 2.0)):
            exactly = gaussian_deltas(epsilon, np.sqrt(shifts) / sigma).mean()
            assert exactly <= law.delta(epsilon, sigma) * (1 + 1e-9)


@pytest.mark.parametrize("graph", [path(3), ring(4)], ids=["path", "ring"])
@pytest.mark.parametrize("steps", [1, 4])
def test_no_path_on_a_graph_exceeds_the_law(graph: Graph, steps: int) -> None:
    """Each path by its chance, for each pair of users, with the last token published."""
    walk = GraphWalk(graph).transitions
    claimed = graph_law(walk, 2)
    for order in itertools.permutations(range(graph.parties)):
        if list(order[2:]) != sorted(order[2:]):
            continue
        moved = walk[np.ix_(order, order)]
        every = list(paths(graph.parties, steps))
        shifts = np.array([summed(each, 2, 1) for each in every])
        chances = [
            math.prod(moved[pair] for pair in itertools.pairwise(each)) / graph.parties
            for each in every
        ]
        for epsilon, sigma in itertools.product((0.2, 1.0, 3.0), (0.6, 2.0)):
            exactly = gaussian_deltas(epsilon, np.sqrt(shifts) / sigma) @ chances
            assert 0 < exactly <= claimed.delta(epsilon, sigma)


def test_what_covers_a_later_visit() -> None:
    """The gap before it as well, unless that began with the user: one of four marks does."""
    first, later = spacings(0.25, 3)
    assert first[:5] == pytest.approx(0.25 * 0.75 ** np.arange(5))
    both = np.convolve(first, first)[: len(later)]
    assert later[:-1] == pytest.approx((first / 4 + 3 * both / 4)[:-1], abs=1e-15)
    assert first.sum() == later.sum() == pytest.approx(1)


def test_what_leaves_the_grid_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid that is too short costs delta and hides nothing."""
    whole = sgd_law(4, 3).delta(1.0, 1.0)
    monkeypatch.setattr(laws, "_reach", lambda *_: 0.8)
    assert sgd_law(4, 3).delta(1.0, 1.0) >= whole


def test_long_paths_come_close_to_the_law() -> None:
    """So it is no more than it has to be: 3 users, one visit."""
    shifts = of_all_paths(cut, 3, 8, 1, 1)
    exactly = gaussian_deltas(0.5, np.sqrt(shifts)).mean()
    assert 0.9 * sgd_law(3, 1).delta(0.5, 1.0) < exactly


def test_a_chance_of_one_in_n_is_not_enough() -> None:
    """Two users: every share is seen under its own noise, and 1/n claims less than that."""
    truth = gaussian_delta(1.0, math.sqrt(20) / 5.0)
    assert sgd_law(2, 20).delta(1.0, 5.0) >= truth
    assert naive(2, 20, 1).delta(1.0, 5.0) < 0.8 * truth


@pytest.mark.soak
def test_an_attack_finds_a_chance_of_one_in_n() -> None:
    attack = Attack(2, 240, 100, 1, 10.0)
    found = distinguish(attack.runs(0), attack.runs(1), lambda odds: odds, 0.02, 60_000)
    assert naive(2, 100, 1).epsilon(0.02, 10.0) < found.epsilon
    assert found.epsilon <= sum_law(2, 100).epsilon(0.02, 10.0)


def test_three_users_and_one_in_n_path_by_path() -> None:
    """The more visits, the clearer: own visits add up before somebody looks."""
    shifts = of_all_paths(summed, 3, 9, 9, 1)
    exactly = gaussian_deltas(0.5, np.sqrt(shifts) / 2.0).mean()
    # As many visits as are expected, so that only the chance is wrong.
    assert naive(3, 3, 1).delta(0.5, 2.0) < exactly <= sum_law(3, 9).delta(0.5, 2.0)


SETTINGS = [(users, colluders) for users in (20, 100, 1000) for colluders in (1, 3)]


@pytest.mark.parametrize(("users", "colluders"), SETTINGS)
def test_random_paths_stay_below(users: int, colluders: int) -> None:
    """Paths are drawn, and what is seen on each is exact.

    The law cuts pieces where the victim has the token again and charges one gap for publishing,
    so it is well above.
    """
    cap, many = 3, 60_000 // users
    paths = Attack(users, 6 * users, cap, colluders, 1.0)
    shifts = paths.shifts(np.random.default_rng(1), many)
    law, sigma = sum_law(users, cap, colluders), 3 / math.sqrt(users)
    for epsilon in (0.5, 2.0):
        each = gaussian_deltas(epsilon, np.sqrt(shifts) / sigma)
        error = 4 * each.std() / math.sqrt(many)
        claimed = law.delta(epsilon, sigma)
        assert 0 < each.mean() < claimed + error
        assert claimed <= sgd_law(users, cap, colluders).delta(epsilon, sigma)


@pytest.mark.parametrize(("users", "colluders"), [(20, 1), (20, 3)])
def test_attacks_stay_below(users: int, colluders: int) -> None:
    _attack(users, colluders, 60 + 2 * users, 2, 3000)


@pytest.mark.soak
@pytest.mark.parametrize(("users", "colluders"), SETTINGS)
def test_attacks_with_many_draws(users: int, colluders: int) -> None:
    _attack(users, colluders, 6 * users, 3, 600_000 // (10 + users // 10))


def _attack(users: int, colluders: int, steps: int, cap: int, draws: int) -> None:
    sigma, delta = 3 / math.sqrt(users), 0.02
    attack = Attack(users, steps, cap, colluders, sigma)
    found = distinguish(
        attack.runs(0), attack.runs(1), lambda odds: odds, delta, draws, at_once=2000
    )
    sums, descents = sum_law(users, cap, colluders), sgd_law(users, cap, colluders)
    assert found.epsilon <= sums.epsilon(delta, sigma) <= descents.epsilon(delta, sigma)
    assert found.epsilon > 0.05


def test_an_attack_finds_a_law_of_a_third_of_the_noise() -> None:
    """The attacks above can fail."""
    attack = Attack(20, 100, 3, 1, 0.3)
    found = distinguish(attack.runs(0), attack.runs(1), lambda odds: odds, 0.05, 4000)
    assert found.epsilon > sum_law(20, 3).epsilon(0.05, 0.9)


def test_noise_of_the_published_setting() -> None:
    """2,000 users, 20,000 steps, cap 12, rows of slope 0.4: by orders, and by the law itself."""
    one, three = sgd_law(2000, 12), sgd_law(2000, 12, 3)
    by_orders = [each.sigma_by_orders(e, 1e-6, 0.8) for each in (one, three) for e in (10, 1)]
    assert by_orders == pytest.approx([0.4727, 3.2505, 0.51, 3.56], rel=5e-3)
    assert one.epsilon(1e-6, 0.4727, 0.8) < 10
    tight = [each.sigma(e, 1e-6, 0.8) for each in (one, three) for e in (10, 1)]
    assert tight == pytest.approx([0.4064, 2.726, 0.4466, 2.994], rel=2e-3)
    assert one.delta(1.0, tight[1], 0.8) <= 1e-6 < one.delta(1.0, tight[1] * 0.999, 0.8)


@pytest.mark.soak
def test_gain_over_local_noise() -> None:
    """By Renyi divergences as published; the law of the walk gives more."""
    local = local_sigma(1.0, 1e-6, 12)
    walks = [sgd_law(users, 12) for users in (5, 20, 100, 500, 2000, 4000)]
    gains = [local / each.sigma_by_orders(1.0, 1e-6) for each in walks]
    assert gains == pytest.approx([1.13, 1.55, 2.21, 2.97, 3.60, 3.89], rel=5e-3)
    assert all(
        local / each.sigma(1.0, 1e-6) >= gain for each, gain in zip(walks, gains, strict=True)
    )


def test_many_visits_and_few_users() -> None:
    """Where the grid is too coarse the divergences take over; no bound is above local noise."""
    law = sgd_law(10, 2000)
    sigma = law.sigma(1.0, 1e-6)
    assert sigma <= local_sigma(1.0, 1e-6, 2000) * (1 + 1e-6)
    assert law.rdp(sigma).epsilon(1e-6) <= 1 + 1e-6 or law.delta(1.0, sigma) <= 1e-6


def test_steps_that_fall_hide_less() -> None:
    """Straight losses: after i steps 1/sqrt(t) the first share is covered by H_i and not by i."""
    steps = 1 / np.sqrt(np.arange(1, 1001))
    truth = steps[0] ** 2 / np.cumsum(steps**2)
    shares = gaps(100, 1, root(3.0))
    assert shares.shares[:1000] == pytest.approx(truth)
    assert (truth[1:] > 1 / np.arange(2, 1001)).all()
    assert sgd_law(100, 3, 1, root(1.0)).sigma(1, 1e-5) > 1.1 * sgd_law(100, 3).sigma(1, 1e-5)
    assert (gaps(100, 1, constant(3.0)).shares == gaps(100).shares).all()


def test_the_closed_forms_are_above() -> None:
    """Where they are valid: rings (4.3), and steps on the complete graph (4.6)."""
    for epsilon, rounds in ((0.1, 1), (0.5, 10), (0.9, 100)):
        sigma = gaussian_sigma(epsilon, 1e-8)
        claimed, delta = advanced(epsilon, 1e-8, rounds, 1e-6)
        assert ring_epsilon(delta, sigma, 1.0, users=50, rounds=rounds) <= claimed
    for users, steps in ((20, 400), (100, 10_000)):
        sigma = math.sqrt(2 * math.log(1.25 / 1e-6)) / 0.5
        claimed, delta = walk_descent(0.5, 1e-6, users, steps, 1e-6)
        cap = math.ceil(visits(users, steps, 1e-6))
        assert sgd_law(users, cap).epsilon(delta - 1e-6, sigma) <= claimed


def test_the_closed_form_of_descent_says_less_than_local_privacy() -> None:
    """In the published setting: more than the epsilon of a single message, whatever that is."""
    epsilon, _ = walk_descent(0.5, 1e-6, 2000, 20_000, 1e-6)
    assert epsilon > 0.5 * math.sqrt(12)


def test_conditions_of_closed_forms() -> None:
    with pytest.raises(UsageError):
        walk_descent(1.0, 1e-6, 20, 400, 1e-6)
    assert shuffled_rounds(0.9, 4, 2000, delta=1e-6, rounds=2, extra=1e-6)[0] > 0
    with pytest.raises(UsageError):
        shuffled_rounds(0.5, 4, 2000, delta=1e-6, rounds=2, extra=1e-6)
    # The order of theorem 4.5 falls with the third root; what is computed falls faster.
    ratio = walk_order(1, 100, 1000, 1e-6) / walk_order(1, 800, 8000, 1e-6)
    assert ratio == pytest.approx(2.0)


def test_two_colluders_around_a_user_of_a_ring() -> None:
    about: dict[str, Any] = {"users": 10, "rounds": 3}
    assert ring_epsilon(1e-6, 9.0, 1.0, colluders=2, **about) == math.inf
    spread = ring_epsilon(1e-6, 9.0, 1.0, colluders=2, distributed=True, **about)
    assert spread == pytest.approx(ring_epsilon(1e-6, 3.0, 1.0, **about))


@pytest.mark.soak
def test_a_central_curator() -> None:
    """Samples of one user: tighter than the .373 and .787 that divergences had given."""
    found = [central_sigma(epsilon, 1e-6, 2000, 20_000, 0.8) for epsilon in (10.0, 1.0)]
    assert found == pytest.approx([0.336, 0.568], abs=1e-3)


def test_a_central_curator_of_a_few() -> None:
    found = central_sigma(1.0, 1e-5, 20, 30)
    needed = [
        Loss.gaussian(sigma).sampled_without_replacement(1 / 20).repeated(30).epsilon(1e-5)
        for sigma in (found, found * 0.99)
    ]
    assert needed[0] <= 1 < needed[1]
    assert found < local_sigma(1.0, 1e-5, 30) / 2


def test_on_a_complete_graph_both_laws_agree() -> None:
    """The Metropolis walk on it is uniform, and all pairs are alike."""
    walk = GraphWalk(complete(8)).transitions
    one, other = graph_law(walk, 4, [(0, (3,))], published=False), sgd_law(8, 4)
    assert one.epsilon(1e-4, 1.0) == pytest.approx(other.epsilon(1e-4, 1.0), rel=1e-3)
    coalition = graph_law(walk, 4, [(0, (3, 5))], published=False).epsilon(1e-4, 1.0)
    assert coalition == pytest.approx(sgd_law(8, 4, 2).epsilon(1e-4, 1.0), rel=1e-3)


def test_on_graphs_distance_hides() -> None:
    walk = GraphWalk(ring(12)).transitions
    near, far = (graph_law(walk, 3, [(0, (v,))], published=False) for v in (1, 6))
    assert far.epsilon(1e-5, 2.0) < near.epsilon(1e-5, 2.0)
    worst = graph_law(walk, 3, published=False)
    assert near.epsilon(1e-5, 2.0) <= worst.epsilon(1e-5, 2.0) * (1 + 1e-9)
    published = graph_law(walk, 3)
    assert published.cap == 4
    assert published.epsilon(1e-5, 2.0) > worst.epsilon(1e-5, 2.0)
    with pytest.raises(UsageError):
        graph_law(GraphWalk(grid(7, 7)).transitions, 3)
    with pytest.raises(UsageError):
        graph_law(walk, 3, [(0, (0,))])


def test_a_cap_on_edges_holds_on_every_path() -> None:
    """Of all paths of 4 users; to cap the way to others alone would not do."""
    cap, users = 4, 4
    bound = any_path_epsilon(1e-3, 1.0, 1.0, cap=cap, edge_cap=1)
    worst, bare = 0.0, 0.0
    for each in paths(users, 6):
        worst = max(worst, _with_edge_cap(each, cap, itself=True))
        bare = max(bare, _with_edge_cap(each, cap, itself=False))
    assert any_path_epsilon(1e-3, 1.0, 1.0, cap=cap, edge_cap=9) > bound
    assert gaussian_delta(bound, math.sqrt(worst)) <= 1e-3
    assert bare == cap
    assert gaussian_delta(bound, math.sqrt(bare)) > 1e-3


def _with_edge_cap(path: tuple[int, ...], cap: int, *, itself: bool) -> float:
    """The shift of a sum where an edge serves once; the way to oneself counts or not."""
    used: set[int] = set()
    left = list(path)
    for place, user in enumerate(path[:-1]):
        after = path[place + 1]
        if user == VICTIM and (itself or after != VICTIM):
            if after in used:
                left[place] = 3  # somebody else's noise
            used.add(after)
    return summed(tuple(left), cap, 1)


@pytest.mark.parametrize(
    "change", [{"users": 1}, {"users": 2.0}, {"colluders": 0}, {"colluders": 5}, {"colluders": 9}]
)
def test_what_no_walk_has(change: dict[str, int]) -> None:
    right: dict[str, Any] = {"users": 5, "cap": 2, "colluders": 1}
    sgd_law(**right)
    with pytest.raises(UsageError):
        sgd_law(**{**right, **change})


@pytest.mark.parametrize(
    ("epsilon", "sigma", "sensitivity"),
    [(1.0, -1.0, 1.0), (1.0, 1.0, -1.0), (-1.0, 1.0, 1.0), (1.0, math.nan, 1.0), (1.0, 0.0, 1.0)],
)
def test_no_delta_is_claimed_for_noise_that_is_none(
    epsilon: float, sigma: float, sensitivity: float
) -> None:
    law = sgd_law(20, 3)
    assert law.delta(1.0, 1.0, 1.0) > 1e-3
    with pytest.raises(UsageError):
        law.delta(epsilon, sigma, sensitivity)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sgd_law(20, 0),
        lambda: sum_law(20, -1),
        lambda: sgd_law(20, 2.5),  # type: ignore[arg-type]
        lambda: sgd_law(20, 3).sigma(0.0, 1e-5),
        lambda: sgd_law(20, 3).sigma(1.0, 0.0),
        lambda: ring_epsilon(1e-5, 1.0, 1.0, users=1, rounds=1),
        lambda: ring_epsilon(1e-5, 1.0, 1.0, users=5, rounds=0),
        lambda: ring_epsilon(1e-5, 1.0, 1.0, users=5, rounds=1, colluders=0),
        lambda: any_path_epsilon(1e-5, 1.0, 1.0, cap=9, edge_cap=1, colluders=-5),
        lambda: any_path_epsilon(1e-5, 1.0, 1.0, cap=9, edge_cap=0),
        lambda: graph_law(np.eye(6), 1, [(-1, (5,))]),
        lambda: graph_law(np.eye(6), 1, [(0, ())]),
        lambda: walk_histogram(-1.0, 4, 20, 1),
        lambda: walk_histogram(1.0, 4, 20, 0),
        lambda: ring_histogram(1.0, 1, 20, 1),
        lambda: ring_histogram(1.0, 4, 20, 0),
    ],
)
def test_what_accountants_refuse(call: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        call()


def test_shares_are_checked() -> None:
    good = Shares(np.array([0.5, 0.5]), np.array([1.0, 0.5]))
    for change in (
        {"chances": np.array([0.5, 0.4])},
        {"chances": np.array([1.5, -0.5])},
        {"shares": np.array([1.5, 0.5])},
        {"shares": np.array([1.0, 0.0])},
    ):
        with pytest.raises(UsageError):
            replace(good, **change)


def test_a_bound_of_proposition_4_1_holds() -> None:
    """Steps D / (G sqrt(t)) on |w| for noisy slopes; the bound is some ten times the error."""
    rng, runs, steps, sigma = np.random.default_rng(4), 400, 2000, 2.0
    lengths = descent_steps(2.0, 1.0, sigma, 1)(np.arange(1, steps + 1))
    place = np.full(runs, 1.0)
    for length in lengths:
        slope = np.sign(place) + sigma * rng.standard_normal(runs)
        place = np.clip(place - length * slope, -1, 1)
    assert np.abs(place).mean() <= descent_error(2.0, 1.0, sigma, 1, steps)
