"""Losses: exact laws, samples, composition, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from gopa.accounting import Loss, Relation, optimal_delta, optimal_epsilon
from gopa.accounting.checks import RELATIONS
from gopa.accounting.distribution import LossDistribution, loss_of_gaussian
from gopa.accounting.gaussian import gaussian_delta
from tests.accounting.foreign import FILE
from tests.accounting.mechanisms import DELTAS, MECHANISMS
from wire.errors import UsageError

FOREIGN = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_are_worth_what_another_accountant_says(name: str) -> None:
    loss, wrong, theirs = MECHANISMS[name].loss(), MECHANISMS[name].wrong(), FOREIGN[name]
    ours = [loss.epsilon(delta) for delta in DELTAS]
    assert ours == pytest.approx(theirs["epsilons"], rel=2e-3)
    deltas = [loss.delta(0.7 * epsilon) for epsilon in theirs["epsilons"]]
    assert deltas == pytest.approx(theirs["deltas"], rel=5e-3)
    # Half of the noise, or twice the sensitivity, is another mechanism.
    for delta, epsilon in zip(DELTAS, theirs["epsilons"], strict=True):
        assert wrong.epsilon(delta) > 1.2 * epsilon


@pytest.mark.soak
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_file_says_what_the_other_accountant_says(name: str) -> None:
    from tests.accounting.foreign import found

    theirs = found(name)
    for key in ("epsilons", "deltas"):
        assert FOREIGN[name][key] == pytest.approx(theirs[key], rel=1e-6)
    assert (FOREIGN[name]["rdp"] is None) == (theirs["rdp"] is None)
    if theirs["rdp"] is not None:
        assert FOREIGN[name]["rdp"] == pytest.approx(theirs["rdp"], rel=1e-6)


def exact_delta(p: list[Fraction], q: list[Fraction], count: int, ratio: Fraction) -> Fraction:
    """The divergence of `count` independent outcomes, by listing all of them."""
    total = Fraction(0)
    for outcome in product(range(len(p)), repeat=count):
        first = math.prod((p[each] for each in outcome), start=Fraction(1))
        second = math.prod((q[each] for each in outcome), start=Fraction(1))
        total += max(Fraction(0), first - ratio * second)
    return total


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [1, 2, 5])
def test_small_tables_are_enumerated(seed: int, count: int) -> None:
    draws = np.random.default_rng(seed)
    p, q = ([int(each) for each in draws.integers(1, 100, 4)] for _ in range(2))
    p[3] += max(0, sum(q) - sum(p))
    q[3] += max(0, sum(p) - sum(q))
    loss = Loss.of_tables(p, q).repeated(count)
    assert len(loss.sides) == 2
    first, second = ([Fraction(each, sum(p)) for each in law] for law in (p, q))
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        ratio = Fraction(math.exp(epsilon))
        up, down = (
            exact_delta(first, second, count, ratio),
            exact_delta(second, first, count, ratio),
        )
        exact = float(max(up, down))
        assert exact * (1 - 1e-12) <= loss.delta(epsilon) <= exact * 1.01 + 1e-5


OPPOSITE = {
    "all possible": ([60, 25, 10, 5], [25, 25, 25, 25]),
    "some only with a row, some only without": ([60, 25, 15, 0], [0, 25, 15, 60]),
}
"""Tables with a row and without; another row has the first one the other way round."""


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("tables", OPPOSITE)
def test_samples_of_small_tables_are_enumerated(
    tables: str, relation: Relation, count: int
) -> None:
    """A mechanism with the first row, with none, and with the second."""
    given, rest = OPPOSITE[tables]
    ahead, without, behind = (
        [Fraction(each) for each in law] for law in (given, rest, given[::-1])
    )
    rate = Fraction(1, 5)

    def sampled(law: list[Fraction]) -> list[Fraction]:
        return [(rate * a + (1 - rate) * b) / 100 for a, b in zip(law, without, strict=True)]

    loss = Loss.of_tables(given, rest).subsampled(float(rate), relation).repeated(count)
    one = sampled(ahead)
    other = sampled(behind if relation == "replace-one" else without)
    for epsilon in (0.0, 0.1, 0.2, 0.5):
        ratio = Fraction(math.exp(epsilon))
        up = exact_delta(one, other, count, ratio)
        down = exact_delta(other, one, count, ratio)
        exact = float(max(up, down))
        assert exact * (1 - 1e-12) <= loss.delta(epsilon)
        if relation == "add-remove":
            assert loss.delta(epsilon) <= exact * 1.01 + 1e-5


def test_what_only_one_row_can_give_is_seen_as_often_as_it_is_sampled() -> None:
    """Replies that only the first row can give, and that only its absence can give."""
    loss = Loss.of_tables([50, 50, 0], [0, 50, 50])
    for relation in RELATIONS:
        assert loss.subsampled(0.1, relation).delta(5.0) == pytest.approx(0.05, rel=1e-6)
    # Nobody gives the last reply but without any row: its odds are 0.9 to 1.
    assert loss.subsampled(0.1).sides[1].delta(0.05) >= 0.5 * (1 - 0.9 * math.exp(0.05)) * (
        1 - 1e-9
    )


def test_fourier_transforms_are_above_and_near_direct_products() -> None:
    side = loss_of_gaussian(0.1, 0.001)
    direct = side.repeated(64)
    found = Loss((side,)).repeated(64)
    for epsilon in np.linspace(0.1, 7.0, 15):
        exact = gaussian_delta(float(epsilon), 0.8)
        assert exact <= found.delta(float(epsilon)) <= 1.05 * exact + 1e-22
        assert exact <= direct.delta(float(epsilon))


@pytest.mark.parametrize("count", [10, 1000, 100_000])
def test_repeated_normal_noise_is_normal_noise(count: int) -> None:
    loss = Loss.gaussian(2 * math.sqrt(count)).repeated(count)
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        exact = gaussian_delta(epsilon, 0.5)
        assert exact * (1 - 1e-12) <= loss.delta(epsilon) <= 1.02 * exact


@pytest.mark.parametrize(("epsilon", "count"), [(1.0, 7), (0.1, 300), (0.01, 20_000)])
def test_repeated_responses_are_composed_optimally(epsilon: float, count: int) -> None:
    loss = Loss.randomised_response(epsilon).repeated(count)
    for delta in (1e-3, 1e-6, 1e-10):
        optimal = optimal_epsilon(epsilon, count, delta)
        assert optimal * (1 - 1e-9) <= loss.epsilon(delta) <= optimal * 1.001
        assert optimal_delta(epsilon, count, optimal) <= delta


@pytest.mark.parametrize("rate", [0.02, 0.4, 1.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.2])
def test_replaced_rows_of_samples_are_integrated(rate: float, epsilon: float) -> None:
    """The odds of the two densities rise along the line, so the best test is a half-line."""
    found = Loss.gaussian(0.8).subsampled(rate, "replace-one").delta(epsilon)
    z = np.linspace(-12, 14, 400_001)
    ahead, behind = (
        (1 - rate) * np.exp(-z * z / 2) + rate * np.exp(-((z - mu) ** 2) / 2)
        for mu in (1.25, -1.25)
    )
    gap = np.maximum(ahead - math.exp(epsilon) * behind, 0).sum() / math.sqrt(2 * math.pi)
    exact = float(gap) * (z[1] - z[0])
    assert exact * (1 - 1e-7) <= found <= exact * 1.002 + 1e-12
    if rate == 1:
        assert found == pytest.approx(gaussian_delta(epsilon, 2.5), rel=1e-3)


def test_no_pair_of_rows_is_worse_than_opposite_ones() -> None:
    """Rows of length at most one in the plane, densities summed over a grid of places."""
    draws, rate, sigma = np.random.default_rng(5), 0.3, 0.7
    found = Loss.gaussian(sigma).subsampled(rate, "replace-one")
    line = np.linspace(-5, 5, 241)
    x, y = np.meshgrid(line, line)
    cell = (line[1] - line[0]) ** 2

    def density(a: float, b: float) -> Any:
        square = (x - a) ** 2 + (y - b) ** 2
        return np.exp(-square / (2 * sigma**2)) / (2 * math.pi * sigma**2) * cell

    worst = 0.0
    for trial in range(40):
        angles, lengths = draws.uniform(0, 2 * math.pi, 2), draws.uniform(0, 1, 2) ** 0.3
        if trial == 0:
            angles, lengths = np.array([0, math.pi]), np.ones(2)
        rows = [(r * math.cos(a), r * math.sin(a)) for r, a in zip(lengths, angles, strict=True)]
        one, other = ((1 - rate) * density(0, 0) + rate * density(*row) for row in rows)
        for epsilon in (0.0, 0.1, 0.5):
            moved = float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
            assert moved <= found.delta(epsilon) * (1 + 1e-4)
            worst = max(worst, moved / found.delta(epsilon))
    assert worst > 0.999


def test_vectors_with_laplace_noise_tell_no_more_than_one_number() -> None:
    """A change that is spread over coordinates, composed, against one of the same length."""
    whole = Loss.laplace(1.0, 2.0)
    for parts in ((1.0, 1.0), (1.5, 0.5), (0.5, 0.5, 1.0)):
        spread = Loss.laplace(1.0, parts[0])
        for part in parts[1:]:
            spread = spread.then(Loss.laplace(1.0, part))
        for epsilon in (0.0, 0.4, 1.0, 1.7):
            assert spread.delta(epsilon) <= whole.delta(epsilon) * (1 + 1e-9)


def test_samples_of_fixed_size_are_those_of_one_direction() -> None:
    fixed = Loss.gaussian(1.0, 2.0).sampled_without_replacement(0.01)
    chance = Loss.gaussian(1.0, 2.0).subsampled(0.01)
    assert fixed.relation == "replace-one"
    assert fixed.delta(0.5) == pytest.approx(chance.sides[0].delta(0.5))
    # The published setting: 2,000 users, one a step, gradients of length 0.4.
    steps = Loss.gaussian(0.3366, 0.8).sampled_without_replacement(1 / 2000).repeated(20_000)
    assert steps.epsilon(1e-6) == pytest.approx(10, rel=0.01)


def test_everybody_in_the_sample_is_no_sampling() -> None:
    loss = Loss.laplace(0.7)
    for epsilon in (0.0, 0.6, 1.2):
        assert loss.subsampled(1.0).delta(epsilon) == pytest.approx(loss.delta(epsilon), rel=1e-4)


def test_smaller_samples_tell_less() -> None:
    loss = Loss.gaussian(1.0)
    for relation in ("add-remove", "replace-one"):
        found = [loss.subsampled(rate, relation).delta(0.2) for rate in (0.01, 0.1, 0.5, 1.0)]
        assert found == sorted(found)
        assert found[0] < found[-1] / 50


def test_losses_of_different_grids_compose() -> None:
    fine, coarse = Loss.gaussian(40.0), Loss.randomised_response(1.5)
    found = fine.then(coarse)
    for epsilon in (1.4, 1.5, 1.55):
        share = math.exp(1.5) / (1 + math.exp(1.5))
        exact = share * gaussian_delta(epsilon - 1.5, 0.025) if epsilon >= 1.5 else 0.0
        assert exact * (1 - 1e-9) <= found.delta(epsilon)
    assert found.epsilon(1e-6) == pytest.approx(coarse.then(fine).epsilon(1e-6), rel=1e-9)
    assert found.epsilon(1e-6) < 1.5 + fine.epsilon(1e-6)
    long = Loss.gaussian(60.0).repeated(2000)
    assert long.then(long).delta(1.0) == pytest.approx(
        gaussian_delta(1.0, 4000**0.5 / 60), rel=0.01
    )


def test_what_tables_leave_out_is_charged() -> None:
    loss = Loss.randomised_response(1.0)
    assert loss.charged(0.01).delta(2.0) == pytest.approx(0.01)
    assert loss.charged(0.01).repeated(10).delta(20.0) == pytest.approx(1 - 0.99**10)
    assert loss.charged(0.01).epsilon(0.005) == math.inf
    assert loss.charged(0.01).delta(1e300) == pytest.approx(0.01)
    table = Loss.of_tables([1, 2, 1, 0], [0, 1, 2, 1])
    assert table.delta(30.0) == pytest.approx(0.25)
    assert Loss.of_tables([0, 3], [3, 0]).repeated(5).then(loss).delta(9.0) == 1.0


def test_a_table_against_itself_tells_nothing() -> None:
    same = Loss.of_tables([3, 4], [3, 4]).repeated(1000)
    assert same.delta(1e-6) < 1e-9


def test_exact_tables_and_floats_agree() -> None:
    exact = Loss.of_tables([Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)])
    whole = Loss.of_tables([2**100, 2**101], [2**101, 2**100])
    floats = Loss.of_tables(np.array([1 / 3, 2 / 3]), np.array([2 / 3, 1 / 3]))
    assert len(exact.sides) == 1
    for other in (whole, floats):
        assert other.delta(0.1) == pytest.approx(exact.delta(0.1))
    assert exact.epsilon(0.0) == pytest.approx(math.log(2))


@pytest.mark.parametrize("scale", [0.1, 0.7, 2.0, 9.0])
@pytest.mark.parametrize("moves", [(1,), (2,), (5,), (1, 1), (1, 2), (2, 3), (1, 1, 1)], ids=str)
def test_discrete_laplace_noise_is_enumerated(scale: float, moves: tuple[int, ...]) -> None:
    """Also where several numbers move: one that moves by all of it tells no less."""
    loss, reach = Loss.discrete_laplace(scale, sum(moves)), math.ceil(40 * scale)
    p: Any
    q: Any
    p = q = np.ones(1)
    for by in moves:
        ratio = math.exp(-1 / scale)
        places = np.arange(-reach, reach + by + 1)
        still, moved = (ratio ** np.abs(places - each) for each in (0, by))
        # All that lies beyond the reach has the odds of its ends.
        ends = np.where((places == places[0]) | (places == places[-1]), 1.0, 1 - ratio)
        p, q = (np.outer(a, b * ends / (1 + ratio)) for a, b in ((p, still), (q, moved)))
        keys = np.round(np.log(p / q) * scale).astype(int).ravel()
        _, at = np.unique(keys, return_inverse=True)
        p, q = (np.bincount(at, each.ravel()) for each in (p, q))
    for epsilon in np.linspace(0.0, sum(moves) / scale * 0.99, 7):
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
        assert exact <= loss.delta(epsilon)
        if len(moves) == 1:
            assert loss.delta(epsilon) <= exact * (1 + 1e-9) + 1e-15
    assert loss.epsilon(0.0) == pytest.approx(sum(moves) / scale)


def test_discrete_noise_tells_more_than_the_continuous_one_unless_the_grid_is_fine() -> None:
    """One step is two-valued randomised response; ever finer grids come down to Laplace noise."""
    coarse, response = Loss.discrete_laplace(2.0, 1), Loss.randomised_response(0.5)
    for epsilon in (0.0, 0.2, 0.49):
        assert coarse.delta(epsilon) == pytest.approx(response.delta(epsilon))
    epsilons = [
        Loss.discrete_laplace(2.0 * steps, steps).repeated(20).epsilon(1e-6)
        for steps in (1, 2, 10, 1500, 2**20 + 1)
    ]
    smooth = Loss.laplace(2.0).repeated(20).epsilon(1e-6)
    assert epsilons[0] > epsilons[1] > epsilons[2] > smooth
    assert epsilons[0] > 1.03 * smooth
    assert epsilons[3:] == pytest.approx([smooth] * 2, rel=1e-4)
    foreign = FOREIGN["discrete Laplace"]["epsilons"]
    assert [coarse.epsilon(delta) for delta in DELTAS] == pytest.approx(foreign, rel=1e-3)


def test_pure_mechanisms_have_an_epsilon_without_delta() -> None:
    assert Loss.laplace(0.5).epsilon(0.0) == pytest.approx(2.0)
    assert Loss.randomised_response(0.7, 5).epsilon(0.0) == pytest.approx(0.7)
    with pytest.raises(UsageError) as caught:
        Loss.gaussian(1.0).epsilon(0.0)
    assert caught.value.field == "delta"


NAN, INF = math.nan, math.inf
REFUSED: dict[str, Callable[[], object]] = {
    f"{field} {value}": (lambda make=make, value=value: make(value))  # type: ignore[misc]
    for field, make, values in [
        ("sigma", Loss.gaussian, (0, -1.0, NAN, INF, "1", True, None, 1e-9)),
        ("sensitivity", lambda v: Loss.gaussian(1.0, v), (0, -1.0, NAN, INF)),
        ("scale", Loss.laplace, (0, -1.0, NAN, INF)),
        ("scale", Loss.discrete_laplace, (0, -1.0, NAN, INF, 1e-3)),
        ("sensitivity", lambda v: Loss.discrete_laplace(1.0, v), (0, 0.5, NAN)),
        ("epsilon", Loss.randomised_response, (0, -1.0, NAN, INF)),
        ("k", lambda v: Loss.randomised_response(1.0, v), (1, 0, 2.0, True)),
        ("rate", lambda v: Loss.gaussian(1.0).subsampled(v), (0, -0.1, 1.1, NAN, INF)),
        ("rate", lambda v: Loss.gaussian(1.0).sampled_without_replacement(v), (0, 1.1, NAN)),
        ("relation", lambda v: Loss.gaussian(1.0).subsampled(0.5, v), ("swap", "", None)),
        ("count", lambda v: Loss.gaussian(1.0).repeated(v), (0, -1, 1.5, True)),
        ("epsilon", lambda v: Loss.gaussian(1.0).delta(v), (-1.0, NAN, INF)),
        ("delta", lambda v: Loss.gaussian(1.0).epsilon(v), (-1e-9, 1.0, NAN, 0.0)),
        ("delta", lambda v: Loss.gaussian(1.0).charged(v), (-1e-9, 1.0, NAN)),
        ("q", lambda v: Loss.of_tables([1, 2], v), ([1, 1], [3], [1, 2, 0])),
        ("p", lambda v: Loss.of_tables(v, [1, 2]), ([-1, 4], [0, 0], [NAN, 3.0])),
    ]
    for value in values
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused(name: str) -> None:
    Loss.of_tables([1, 2], [2, 1]).subsampled(0.5, "replace-one").repeated(2).charged(1e-9)
    with pytest.raises(UsageError) as caught:
        REFUSED[name]()
    assert caught.value.field == name.split(maxsplit=1)[0]


def test_two_kinds_of_neighbours_do_not_compose() -> None:
    one = Loss.gaussian(1.0).subsampled(0.1)
    other = Loss.gaussian(1.0).subsampled(0.1, "replace-one")
    assert one.then(Loss.laplace(1.0)).then(one).relation == "add-remove"
    with pytest.raises(UsageError):
        one.then(other)
    with pytest.raises(UsageError):
        other.subsampled(0.1)
    with pytest.raises(UsageError):
        one.sampled_without_replacement(0.1)


def test_a_loss_says_what_it_is_worth() -> None:
    assert repr(Loss.randomised_response(1.0)) == "<Loss: epsilon 1 at delta 1e-6>"
    assert "replace-one" in repr(Loss.gaussian(2.0).subsampled(0.5, "replace-one"))
    assert isinstance(Loss.gaussian(1.0).sides[0], LossDistribution)


def test_one_of_several_mechanisms_is_the_mean_of_their_deltas() -> None:
    parts = [Loss.gaussian(1.0), Loss.randomised_response(2.0, 3), Loss.laplace(2.0)]
    found = Loss.one_of([0.5, 0.3, 0.2], parts)
    for epsilon in (0.0, 0.5, 1.5, 3.0):
        mean = sum(w * each.delta(epsilon) for w, each in zip((0.5, 0.3, 0.2), parts, strict=True))
        assert mean * (1 - 1e-6) <= found.delta(epsilon) <= mean * (1 + 2e-3) + 1e-12
    for chances, losses in (
        ([0.5, 0.5], parts),
        ([0.5, 0.3, 0.1], parts),
        ([1.5, -0.5], parts[:2]),
    ):
        with pytest.raises(UsageError):
            Loss.one_of(chances, losses)
    added = Loss.gaussian(1.0).subsampled(0.1)
    with pytest.raises(UsageError):
        Loss.one_of([0.5, 0.5], [parts[0], added])
    two_sided = Loss.one_of([0.4, 0.6], [added, added])
    assert two_sided.delta(0.3) == pytest.approx(added.delta(0.3), rel=1e-3)


def test_arrays_of_floats_are_tables_like_any_other() -> None:
    p, q = [0.5, 0.3, 0.2, 0.0], [0.2, 0.3, 0.4, 0.1]
    listed, arrays = Loss.of_tables(p, q), Loss.of_tables(np.array(p), np.array(q))
    assert len(arrays.sides) == 2
    for epsilon in (0.0, 0.4, 0.9):
        assert arrays.delta(epsilon) == pytest.approx(listed.delta(epsilon))
    for bad in ([0.5, 0.3, -0.2, 0.4], [0.5, np.nan, 0.2, 0.1], [0.5, 0.3, 0.2, 0.1], [0, 0, 0, 0]):
        with pytest.raises(UsageError):
            Loss.of_tables(np.array(bad, dtype=float), np.array(q))
