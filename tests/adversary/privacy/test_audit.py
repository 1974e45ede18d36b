"""Sound plans stay inside their claims, broken ones do not, and small excesses are noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gopa.adversary.privacy import (
    BREAKAGES,
    Breakage,
    Law,
    Masks,
    MeasuredView,
    Release,
    ViewClaim,
    World,
    default_views,
    measure,
    measure_all,
    noticed,
    views_of,
)
from gopa.adversary.privacy.coalitions import FEWEST, GAUSSIAN, TWO_UNIFORM
from gopa.adversary.privacy.measuring import draws_for
from gopa.graph import complete
from gopa.planning.noise.exposure import noise_sum, theorem_d
from tests.planning.samples import plan
from wire.errors import UsageError
from zkp.noise import GaussianTable


def check_sound(draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = list(measure_all(default_views(rng), rng, draws=draws))
    assert [row.view.name for row in rows if not row.inside] == []
    assert max(row.measured.epsilon for row in rows) > 0.4


def check_broken(breakage: Breakage, draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    (row,) = measure_all([breakage.view(rng)], rng, draws=draws, confidence=1 - 1e-6)
    assert row.measured.epsilon > 1.15 * row.view.claim.epsilon
    assert row.measured.delta > 1.5 * row.view.claim.delta


@pytest.mark.slow
def test_sound_plans_stay_inside_their_claims() -> None:
    check_sound(10_000, 21)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda each: each.name)
def test_broken_plans_are_found_out(breakage: Breakage) -> None:
    check_broken(breakage, 20_000, 22)


def planted(factor: float) -> tuple[World, ViewClaim]:
    """Four parties whose input moves `factor` times as far as the claim allows for."""
    law = GaussianTable.with_scale("20", bits=40, rows=201)
    steps = 20
    claim = ViewClaim(1.0, theorem_d(noise_sum(law, 4), steps, 1.0))
    release = Release(complete(4), 0)
    return World((release,), Law.of(law), Masks(0), (round(steps * factor),)), claim


def test_what_is_said_to_be_noticed_is() -> None:
    """A little more than that excess is outside, a little less mostly inside; none is inside."""
    draws, risk = 60_000, 1e-4
    _, claim = planted(1)
    factor = noticed(claim, round(0.8 * draws), risk)
    assert 1.02 < factor < 1.5
    rng = np.random.default_rng(23)
    verdicts = {}
    for times in (1.0, 1 + 0.5 * (factor - 1), 1 + 2 * (factor - 1)):
        world, _ = planted(times)
        verdicts[times] = [measure(world, claim, draws, risk, rng).inside for _ in range(4)]
    none, less, more = verdicts.values()
    assert all(none)
    assert any(less)
    assert not any(more)


def test_more_views_notice_less() -> None:
    claim = ViewClaim(1.0, 0.05)
    factors = [noticed(claim, draws, 1e-4) for draws in (3_000, 30_000, 300_000)]
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] < 1.05
    assert noticed(ViewClaim(1.0, 1e-6), 300_000, 1e-4) > 1.5
    assert noticed(ViewClaim(1.0, 1.0), 300_000, 1e-4) == float("inf")


def test_equal_seeds_measure_the_same() -> None:
    def once() -> list[float]:
        rng = np.random.default_rng(24)
        view = FEWEST.view(TWO_UNIFORM.terms, rng)
        assert view is not None
        return [row.measured.epsilon for row in measure_all([view], rng, draws=5_000)]

    assert once() == once()


def test_large_views_are_drawn_less_often_and_too_large_ones_not_at_all() -> None:
    view = FEWEST.view(GAUSSIAN.terms, np.random.default_rng(25))
    assert view is not None
    small = view.world
    large = replace(small, change=small.change * 1000)
    assert draws_for(large) < draws_for(small)
    too_large = replace(small, change=small.change * 200_000)
    with pytest.raises(UsageError) as caught:
        draws_for(too_large)
    assert caught.value.field == "plan"


@pytest.mark.parametrize(("draws", "confidence"), [(10, 0.9), (1000, 0.0), (1000, 1.0)])
def test_nonsense_is_refused(draws: int, confidence: float) -> None:
    rng = np.random.default_rng(26)
    view = FEWEST.view(TWO_UNIFORM.terms, rng)
    assert view is not None
    assert len(list(measure_all([view], rng, draws=1000, confidence=0.9))) == 1
    with pytest.raises(UsageError):
        list(measure_all([view], rng, draws=draws, confidence=confidence))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_sound_plans_stay_inside_with_many_views(seed: int) -> None:
    check_sound(1_000_000, 100 + seed)


@pytest.mark.soak
@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda each: each.name)
def test_broken_plans_are_found_out_with_many_views(breakage: Breakage) -> None:
    check_broken(breakage, 500_000, 27)


@pytest.mark.soak
@pytest.mark.parametrize("mask", ["uniform", "gaussian"])
def test_a_thousand_parties_stay_inside(mask: str) -> None:
    rng = np.random.default_rng(28)
    made = plan(n=1000, corrupt=300, epsilon=1, delta="0.05", mask=mask, attempts=2)
    views: list[MeasuredView] = views_of(made.terms, rng)
    assert {view.name for view in views} >= {"neighbours", "organiser", "rollback", "veto"}
    rows = list(measure_all(views, rng, draws=6_000))
    assert [row.view.name for row in rows if not row.inside] == []
    quiet = [
        replace(view, world=replace(view.world, noise=view.world.noise.shrunk(4)))
        for view in views
        if view.name == "organiser"
    ]
    assert [row.inside for row in measure_all(quiet, rng, draws=6_000)] == [False]
