"""Sums and histograms of tokens: unbiased, as noisy as stated, and as private as claimed."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from gopa import UsageError
from gopa.accounting import Loss
from gopa.adversary import distinguish
from gopa.graph import Graph, complete, grid, ring
from gopa.learning import Outcome, Privacy, Users, ratings, stacked
from gopa.learning.clocks import Clock, InTurn, Poisson
from gopa.learning.network_dp import (
    Walk,
    carry,
    fit_histogram,
    fit_sum,
    local_sigma,
    ring_histogram,
    sum_law,
    walk_histogram,
)
from gopa.learning.network_dp.counting import debiased, numbers, ring_deviations
from gopa.learning.network_dp.responses import (
    added_reports,
    among_uniform,
    shuffled,
    uniform_chance,
)
from tests.learning.network_dp.closed_forms import shuffled_rounds
from tests.learning.network_dp.views import ReportAttack

ONE = Privacy(1.0, 1e-5, view="neighbour")


@pytest.fixture(scope="module")
def accepted_sum() -> dict[str, object]:
    """A call that is not refused."""
    right: dict[str, object] = {"problem": ratings(12, seed=1), "privacy": ONE, "seed": 1}
    fit_sum(**right)
    return right


@pytest.fixture(scope="module")
def accepted_histogram() -> dict[str, object]:
    """Another one."""
    right: dict[str, object] = {
        "problem": ratings(40, seed=1),
        "privacy": ONE,
        "seed": 1,
        "values": 6,
        "graph": ring(40),
    }
    fit_histogram(**right)
    return right


def holding(values: list[list[float]]) -> Users:
    return stacked([(np.array(each)[:, None], np.zeros(len(each), int)) for each in values], "here")


@pytest.mark.parametrize("users", [2, 3, 5, 8])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_noise_on_a_ring_is_as_stated(users: int, rounds: int) -> None:
    """Theorem 4.3: ceil(Kn/(n-1)) times; what is published has it at the end, too."""
    found = ring_deviations(users, rounds, 3.0, published=False)
    assert (found**2).sum() == pytest.approx(9 * math.ceil(users * rounds / (users - 1)))
    published = ring_deviations(users, rounds, 3.0)
    assert (published**2).sum() <= (found**2).sum() + 9
    spread = ring_deviations(users, rounds, 3.0, distributed=True, published=False)
    assert (spread**2).sum() == pytest.approx(9 + 9 * (users * rounds - 1) / (users - 1))


def hidden_pieces(users: int, rounds: int, observer: int, deviations: np.ndarray) -> list[float]:
    """For each number of each other user: the variance of all noise that is seen with it."""
    steps = list(range(users * rounds))
    ends = [each for each in steps if each % users == observer]
    pieces = itertools.pairwise([-1, *ends, len(steps)])
    found = []
    for first, last in pieces:
        inside = range(first + 1, last)
        found += [sum(deviations[each] ** 2 for each in inside)] * len(inside)
    return found


@pytest.mark.parametrize(("users", "rounds"), [(3, 1), (4, 2), (5, 3), (6, 7)])
@pytest.mark.parametrize("distributed", [False, True])
def test_every_number_is_covered(users: int, rounds: int, distributed: bool) -> None:
    found = ring_deviations(users, rounds, 1.0, distributed=distributed)
    for observer in range(users):
        assert min(hidden_pieces(users, rounds, observer, found)) >= 1 - 1e-9


def test_as_printed_the_last_number_is_bare() -> None:
    """Algorithm 4.2, two rounds of four users: the third user subtracts what it passed on."""
    printed = ring_deviations(4, 2, 1.0, published=False)
    assert min(hidden_pieces(4, 2, 2, printed)) == 0
    visits = Walk(InTurn(4)).visits(0, steps=8)
    noise = np.random.default_rng(1).standard_normal((8, 1)) * printed[:, None]
    seen: list[float] = []
    values = np.array([[0.1], [0.2], [0.3], [0.7]])
    last = carry(
        visits,
        numbers(values, noise),
        np.zeros((1, 1)),
        seen=lambda _, token: seen.append(token[0, 0]),
    )
    assert last[0, 0] - seen[6] == pytest.approx(0.7)


def test_remark_4_2_leaves_too_little_noise() -> None:
    """Parts of sigma/sqrt(n): the n - 1 others of a round make up less than sigma."""
    parts = np.full(20, 1 / math.sqrt(5))
    parts[0] = parts[-1] = 1
    assert min(hidden_pieces(5, 4, 2, parts)) == pytest.approx(4 / 5)


def test_sums_are_unbiased_and_as_noisy_as_stated() -> None:
    """On a ring and on the complete graph; a tenth of the numbers is cut off."""
    problem = holding([[0.0, 1.0], [0.5, 0.5], [1.0, 3.0], [0.25, 0.75], [0.0, -9.0]])
    for graph, exact in ((ring(5), True), (complete(5), False)):
        found = fit_sum(problem, privacy=ONE, graph=graph, seed=1, rounds=4, runs=1000)
        mean = np.clip(problem.table.features, 0, 1).mean()
        error = found.model.std() / math.sqrt(1000)
        assert found.model.mean() == pytest.approx(mean, abs=4 * error)
        if exact:
            sigma = local_sigma(1.0, 1e-5, 4)
            assert found.spent.theorem.endswith(f"noise {sigma:.4g}")
            stated = math.sqrt((ring_deviations(5, 4, sigma) ** 2).sum()) / 20
            assert found.model.std() == pytest.approx(stated, rel=0.08)


@pytest.mark.parametrize(("clock", "cap"), [(InTurn(3), None), (Poisson(3), 1)])
def test_all_numbers_of_a_user_count_alike(clock: Clock, cap: int | None) -> None:
    """A user that adds once has two numbers; nobody adds the first of them more often."""
    problem = holding([[0.0, 1.0], [0.0, 1.0], [0.0, 0.4]])
    found = fit_sum(problem, privacy=None, clock=clock, seed=1, cap=cap, runs=1500).model
    assert found.mean() == pytest.approx(0.4, abs=4 * found.std() / math.sqrt(1500))
    labels = stacked([(np.zeros((4, 1)), np.array([0, 1, 0, 0]))] * 3, "here")
    private = Privacy(4.0, 1e-2)
    shares = fit_histogram(
        labels, privacy=private, clock=clock, seed=1, cap=cap, values=2, runs=1500
    ).model[:, 0]
    # Past the cap reports are uniform: data in them would show as 0.86.
    assert shares.mean() == pytest.approx(0.75, abs=4 * shares.std() / math.sqrt(1500))
    assert shares.std() < 1


def test_noise_of_a_walk_is_as_stated() -> None:
    """Nobody has anything to add: what is left is the noise of all steps, also of past ones."""
    problem = holding([[0.0]] * 5)
    found = fit_sum(problem, privacy=ONE, graph=complete(5), seed=1, rounds=4, cap=1, runs=1000)
    sigma = sum_law(5, 1).sigma(1.0, 1e-5)
    expected = 5 * (1 - (4 / 5) ** 20)
    assert found.spent.theorem.endswith(f"noise {sigma:.4g}")
    assert found.model.std() * expected == pytest.approx(sigma * math.sqrt(20), rel=0.08)


def test_without_privacy_a_ring_gives_the_mean() -> None:
    found = fit_sum(holding([[0.25], [0.5], [1.0]]), privacy=None, clock=InTurn(3), seed=1)
    assert found.model == pytest.approx(1.75 / 3)
    assert not found.spent.hides


@pytest.mark.parametrize(("local", "values"), [(0.5, 2), (1.0, 3), (2.5, 5)])
@pytest.mark.parametrize("others", [0, 1, 4])
def test_reports_are_hidden_as_all_outcomes_say(local: float, values: int, others: int) -> None:
    """All reports of all users, where everybody else holds the first value of the two."""
    claimed = shuffled(local, values, others)
    beta = uniform_chance(local, values)
    law = np.full((values, values), beta / values) + (1 - beta) * np.eye(values)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        tables = [_histograms(law, [value] + [0] * others) for value in (0, 1)]
        exactly = [
            sum(max(0.0, p[each] - math.exp(epsilon) * q[each]) for each in p)
            for p, q in (tables, tables[::-1])
        ]
        assert max(exactly) <= claimed.delta(epsilon) * (1 + 1e-6) + 1e-12
        if others == 0:
            assert max(exactly) == pytest.approx(claimed.delta(epsilon), rel=1e-3, abs=1e-9)


def _histograms(law: np.ndarray, truth: list[int]) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for reports in itertools.product(range(law.shape[1]), repeat=len(truth)):
        counts = tuple(np.bincount(reports, minlength=law.shape[1]).tolist())
        found[counts] += math.prod(
            law[each, report] for each, report in zip(truth, reports, strict=True)
        )
    return found


def test_reports_among_uniform_ones_are_hidden_exactly() -> None:
    """The first report of a ring, which the next user sees with the added ones."""
    law = uniform_chance(1.0, 3) / 3 + (1 - uniform_chance(1.0, 3)) * np.eye(3)
    even = np.full((1, 3), 1 / 3)
    laws = np.concatenate([law, even])
    tables = [_histograms(laws, [value, 3, 3]) for value in (0, 1)]
    for epsilon in (0.1, 0.5):
        p, q = tables
        exactly = sum(max(0.0, p[each] - math.exp(epsilon) * q[each]) for each in p)
        assert exactly == pytest.approx(among_uniform(1.0, 3, 2).delta(epsilon), rel=1e-3)


def test_with_one_other_user_later_reports_are_alone() -> None:
    alone = Loss.randomised_response(1.0, 2)
    exactly = alone.then(among_uniform(1.0, 2, added_reports(1.0, 2, 2)))
    claimed = ring_histogram(1.0, 2, 2, 2)
    for epsilon in (0.5, 1.0, 1.5):
        assert claimed.delta(epsilon) == pytest.approx(exactly.delta(epsilon), rel=1e-2)
    assert shuffled(1.0, 2, 2).delta(0.5) < 0.9 * alone.delta(0.5)


@pytest.mark.parametrize("values", [2, 20])
def test_the_law_of_reports_is_below_that_of_clones(values: int) -> None:
    """Feldman et al. 2021, theorem 3.1: others are clones of both values with chance e^-epsilon."""
    local, users = 2.0, 100
    clones = np.arange(users)
    total = binom.pmf(clones, users - 1, math.exp(-local))[:, None]
    mine = np.arange(users + 1)
    one, other = binom.pmf(mine - 1, clones[:, None], 0.5), binom.pmf(mine, clones[:, None], 0.5)
    keep = 1 / (1 + math.exp(-local))
    p, q = (
        (total * (share * one + (1 - share) * other)).ravel() + 1e-300 for share in (keep, 1 - keep)
    )
    published = Loss.of_tables(p, q * (p.sum() / q.sum())).epsilon(1e-6)
    assert shuffled(local, values, users - 1).epsilon(1e-6) < published < local


def test_histograms_hide_less_than_one_report_and_less_with_more_rounds() -> None:
    alone = Loss.randomised_response(1.0, 4).epsilon(1e-6)
    ring_of_many = ring_histogram(1.0, 4, 100, 1).epsilon(1e-6)
    assert ring_of_many < alone / 2
    assert ring_histogram(1.0, 4, 100, 3).epsilon(1e-6) > ring_of_many
    walked = walk_histogram(1.0, 4, 10, 2).epsilon(1e-3)
    assert walked < Loss.randomised_response(1.0, 4).repeated(2).epsilon(1e-3)
    assert walked < walk_histogram(1.0, 4, 10, 2, 5).epsilon(1e-3)
    assert walk_histogram(1.0, 4, 10, 1).epsilon(1e-3) < walked


@pytest.mark.soak
def test_histograms_stay_below_the_corrected_closed_form() -> None:
    local, users, delta = 0.4, 2000, 1e-7
    beta = uniform_chance(local, 4)
    claimed, total = shuffled_rounds(beta, 4, users, delta=delta, rounds=3, extra=delta)
    assert ring_histogram(local, 4, users, 3).epsilon(total) < claimed


@pytest.mark.parametrize("users", [20, 100, 1000])
def test_attacks_on_a_histogram_stay_below(users: int) -> None:
    """The user behind sees all others at once; all others hold the same value."""
    local, beta = 1.5, uniform_chance(1.5, 2)

    def run(value: int) -> Callable[[np.random.Generator, int], np.ndarray]:
        def runs(rng: np.random.Generator, many: int) -> np.ndarray:
            ones = rng.binomial(users - 2, beta / 2, many)
            return ones + rng.binomial(1, 1 - beta / 2 if value else beta / 2, many)

        return runs

    found = distinguish(run(1), run(0), lambda ones: ones, 0.01, 40_000)
    claimed = shuffled(local, 2, users - 2).epsilon(0.01)
    assert (0.5 if users == 20 else 0) * claimed <= found.epsilon <= claimed


@pytest.mark.soak
@pytest.mark.parametrize("users", [20, 100, 1000])
@pytest.mark.parametrize("colluders", [1, 3])
def test_attacks_on_reports_with_many_draws(users: int, colluders: int) -> None:
    _attack(users, colluders, 100_000 // (10 + users // 30))


def _attack(users: int, colluders: int, draws: int) -> None:
    # A longer way needs reports that hide less, or nothing could be found.
    local, cap, delta = 2.0 + math.log(users / 20), 3, 0.02
    attack = ReportAttack(users, 3 * users, cap, colluders, local)
    found = [
        distinguish(attack.runs(a), attack.runs(b), lambda odds: odds, delta, draws, at_once=500)
        for a, b in ((1, 0), (0, 1))
    ]
    claimed = walk_histogram(local, 2, users, cap, colluders).epsilon(delta)
    assert 0.05 < max(each.epsilon for each in found) <= claimed


def _expected_counts(
    beta: float, truth: list[int], values: int, path: list[int], cap: int
) -> np.ndarray:
    """Over all reports: exact, one product of chances after the other."""
    law = np.full((values + 1, values), 1 / values)
    law[:values] = beta / values + (1 - beta) * np.eye(values)
    held = [
        truth[user] if path[:place].count(user) < cap else values for place, user in enumerate(path)
    ]
    found = np.zeros(values)
    for reports in itertools.product(range(values), repeat=len(path)):
        chance = math.prod(law[each, report] for each, report in zip(held, reports, strict=True))
        found += chance * np.bincount(reports, minlength=values)
    return found


def test_histograms_are_debiased_exactly() -> None:
    """Four users, three values: all reports on the ring, and all paths of the complete graph."""
    truth, beta, values = [0, 0, 2, 1], 0.3, 3
    exact = np.bincount(truth, minlength=values)
    counts = _expected_counts(beta, truth, values, [0, 1, 2, 3], 1)
    added = 5
    found = debiased(counts + 2 * added / values, beta, reports=4, uniform=2 * added)
    assert found == pytest.approx(exact, abs=1e-12)
    walked = np.zeros(values)
    contributions = 0.0
    for path in itertools.product(range(4), repeat=3):
        walked += (
            debiased(
                _expected_counts(beta, truth, values, list(path), 1), beta, reports=3, uniform=0
            )
            / 64
        )
        contributions += len(set(path)) / 64
    part = contributions / 3
    shares = (walked - (1 - part) / values * 3) / part / 3
    assert shares == pytest.approx(exact / 4, abs=1e-12)


@pytest.mark.parametrize(
    "graph",
    [ring(12), pytest.param(complete(12), marks=pytest.mark.soak)],
    ids=["ring", "complete"],
)
def test_histograms_are_unbiased(graph: Graph) -> None:
    problem = ratings(12, seed=3)
    private = Privacy(4.0, 1e-3, view="neighbour")
    found = fit_histogram(problem, privacy=private, graph=graph, seed=1, values=6, runs=3000)
    exact = np.bincount(problem.table.labels, minlength=6) / 12
    error = found.model.std(axis=0) / math.sqrt(3000)
    assert (np.abs(found.model.mean(axis=0) - exact) < 4.5 * error).all()
    assert found.model.sum(axis=1) == pytest.approx(np.ones(3000))
    assert found.spent.within(private)
    assert added_reports(1.0, 6, 12) == math.ceil(12 * uniform_chance(1.0, 6))


@pytest.mark.slow
@pytest.mark.parametrize("graph", [ring(5), complete(5)], ids=["ring", "complete"])
def test_reports_are_as_random_as_claimed(graph: Graph) -> None:
    """All users hold the same value, so that reports alone make counts differ; a cap above all."""
    same = stacked([(np.zeros((1, 1)), np.array([2]))] * 5, "here")
    private = Privacy(3.0, 1e-2, view="neighbour")
    ringed = graph.edge_count == 5
    found = fit_histogram(
        same, privacy=private, graph=graph, seed=1, values=3, runs=1000, cap=None if ringed else 5
    )
    local = float(found.spent.theorem.rpartition(" ")[2])
    law = ring_histogram(local, 3, 5, 1) if ringed else walk_histogram(local, 3, 5, 5)
    assert law.delta(3.0) <= 1.01e-2
    beta, added = uniform_chance(local, 3), added_reports(local, 3, 5) if ringed else 0
    true = 1 - beta + beta / 3
    variance = 5 * true * (1 - true) + 2 * added * 2 / 9
    assert found.model[:, 2].std() * 5 * (1 - beta) == pytest.approx(math.sqrt(variance), rel=0.08)


def test_whoever_sees_more_needs_more_noise() -> None:
    """One other user, several together, everybody: sums and histograms, at random."""
    problem = ratings(12, seed=3)
    views = (
        Privacy(1.0, 1e-2, view="neighbour"),
        Privacy(1.0, 1e-2, view="coalition", colluders=5),
        Privacy(1.0, 1e-2),
    )
    sums = [fit_sum(problem, privacy=each, seed=1, high=5) for each in views]
    counts = [fit_histogram(problem, privacy=each, seed=1, values=6, cap=1) for each in views]
    noises = [float(each.spent.theorem.rpartition(" ")[2]) for each in sums]
    reports = [float(each.spent.theorem.rpartition(" ")[2]) for each in counts]
    assert noises[0] < noises[1] < noises[2] * (1 - 1e-3)
    assert reports[0] > reports[1] * 1.02 > reports[2] * 1.02
    assert noises[1] == pytest.approx(sum_law(12, 2, 5).sigma(1.0, 1e-2, 5), rel=1e-3)
    assert "local" in sums[2].spent.theorem
    assert "local" in counts[2].spent.theorem


def test_on_a_ring_all_messages_need_noise_in_all_steps() -> None:
    problem = ratings(12, seed=3)
    near, far = (
        fit_sum(problem, privacy=each, graph=ring(12), seed=1, runs=300, high=5).model.std()
        for each in (ONE, Privacy(1.0, 1e-5))
    )
    assert far > 2 * near


def test_colluders_on_a_ring() -> None:
    problem, private = ratings(12, seed=3), Privacy(1.0, 1e-5, view="coalition", colluders=2)
    with pytest.raises(UsageError) as caught:
        fit_sum(problem, privacy=private, graph=ring(12), seed=1)
    assert caught.value.field == "privacy"
    found = fit_sum(problem, privacy=private, graph=ring(12), seed=1, distributed=True)
    assert isinstance(found, Outcome)
    assert found.spent.colluders == 2
    assert found.spent.theorem.endswith(f"noise {local_sigma(1.0, 1e-5, 1) * math.sqrt(11):.4g}")


def test_colluders_on_a_ring_see_a_report_alone() -> None:
    problem = ratings(12, seed=3)
    alone, among = (
        fit_histogram(problem, privacy=each, graph=ring(12), seed=1, values=6).spent.theorem
        for each in (Privacy(1.0, 1e-2, view="coalition", colluders=2), replace(ONE, delta=1e-2))
    )
    local = [float(each.rpartition(" ")[2]) for each in (alone, among)]
    kept = [Loss.randomised_response(each, 6).delta(1.0) <= 1e-2 for each in local]
    assert kept == [True, False]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"low": 1.0}, "low"),
        ({"high": math.inf}, "low"),
        ({"low": -math.inf}, "low"),
        ({"high": math.nan}, "low"),
        ({"high": "5"}, "high"),
        ({"distributed": True}, "distributed"),
        ({"privacy": Privacy(1.0, 1e-5, view="coalition", colluders=12)}, "colluders"),
        ({"runs": 0}, "runs"),
        ({"rounds": 0}, "rounds"),
        ({"cap": 0}, "cap"),
        ({"graph": ring(12), "cap": 1}, "cap"),
        ({"graph": grid(3, 4)}, "clock"),
        ({"privacy": Privacy(1.0, view="neighbour")}, "delta"),
        ({"privacy": Privacy(1.0, 1e-5, relation="add-remove")}, "relation"),
    ],
)
def test_sums_that_are_refused(
    accepted_sum: dict[str, object], change: dict[str, object], field: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit_sum(**{**accepted_sum, **change})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"values": 5}, "problem"),
        ({"values": 1}, "values"),
        ({"privacy": Privacy(1.0, 1e-5, view="coalition", colluders=40)}, "colluders"),
        ({"privacy": None}, "privacy"),
        ({"privacy": Privacy(1e-6, 1e-9)}, "privacy"),
    ],
)
def test_histograms_that_are_refused(
    accepted_histogram: dict[str, object], change: dict[str, object], field: str
) -> None:
    with pytest.raises(UsageError) as caught:
        fit_histogram(**{**accepted_histogram, **change})
    assert caught.value.field == field


@pytest.mark.parametrize("cap", [1, 2])
def test_no_path_of_reports_exceeds_the_claim(cap: int) -> None:
    """Four users, two values, all paths and all reports; user 1 looks, others hold 0."""
    local, steps = 1.2, 4
    beta = uniform_chance(local, 2)
    law = np.array([[1 - beta / 2, beta / 2], [beta / 2, 1 - beta / 2], [0.5, 0.5]])
    claimed = walk_histogram(local, 2, 4, cap)
    for epsilon in (0.2, 0.7):
        found = [0.0, 0.0]
        for path in itertools.product(range(4), repeat=steps):
            p, q = (_seen(law, path, value, cap) for value in (0, 1))
            for place, (one, other) in enumerate(((p, q), (q, p))):
                gap = sum(max(0.0, one[each] - math.exp(epsilon) * other[each]) for each in one)
                found[place] += gap / 4**steps
        assert 0 < max(found) <= claimed.delta(epsilon)


def _seen(law: np.ndarray, path: tuple[int, ...], value: int, cap: int) -> dict[object, float]:
    """The chances of all that user 1 sees: how many ones came in between its visits."""
    pieces = [
        list(each) for mine, each in itertools.groupby(path, lambda user: user == 1) if not mine
    ]
    visits, laws = 0, []
    for piece in pieces:
        rows = []
        for user in piece:
            counted = user == 0 and visits < cap
            visits += user == 0
            rows.append(value if counted else 2 if user == 0 else 0)
        laws.append(_histograms(law, rows))
    found: dict[object, float] = {(): 1.0}
    for each in laws:
        found = {
            (before, after): chance * more
            for before, chance in found.items()
            for after, more in each.items()
        }
    return found
