"""Simulated views: masks cancel in totals, hide single values, and closed values say nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gopa.adversary.privacy.linking import place, uniform_fit
from gopa.adversary.privacy.views import Law, Masks, Release, World, views
from gopa.graph import from_edges
from zkp.noise import binomial

NOISE = Law.of(binomial(6))
PATH = from_edges(4, [(0, 1), (1, 2)])
DRAWS = 3000
LIKELY = 1e-6


def drawn(world: World, *, moved: bool, seed: int = 3) -> list[np.ndarray]:
    parts = list(views(world, DRAWS, np.random.default_rng(seed), moved=moved))
    return [np.concatenate(each, axis=-1).view(np.int64) for each in zip(*parts, strict=True)]


def world(masks: Masks, *releases: Release) -> World:
    return World(releases or (Release(PATH, 1),), NOISE, masks, (5, 2))


@pytest.mark.parametrize("masks", [Masks(0), Masks(30)], ids=["uniform", "gaussian"])
@pytest.mark.parametrize("moved", [False, True])
def test_totals_of_a_component_are_inputs_and_noise(masks: Masks, *, moved: bool) -> None:
    (found,) = drawn(world(masks), moved=moved)
    assert found.shape == (4, 2, DRAWS)
    rng = np.random.default_rng(1)
    for coordinate, step in enumerate((5, 2)):
        sums = found[[0, 1, 2], coordinate].sum(axis=0) - step * moved
        places = [place(int(value), NOISE.total(3), rng) for value in sums]
        fit = uniform_fit(places)
        assert fit is not None
        assert fit > LIKELY


def test_a_party_without_masks_shows_its_value() -> None:
    (found,) = drawn(world(Masks(0)), moved=False)
    assert abs(found[3]).max() <= -NOISE.first
    assert abs(found[1]).min() > 1000


def test_silent_parties_have_no_noise_and_closed_ones_are_uniform() -> None:
    release = Release(PATH, 1, silent=frozenset({3}), closed=frozenset({0}))
    (found,) = drawn(world(Masks(30), release), moved=False)
    assert not found[3].any()
    fit = uniform_fit(((found[0, 0].astype(float) / 2.0**64) + 0.5).tolist())
    assert fit is not None
    assert fit > LIKELY


def test_releases_are_independent_and_of_the_same_inputs() -> None:
    once = Release(from_edges(1, []), 0)
    both = replace(world(Masks(0), once, once), change=(5,))
    first, second = (each[0, 0] for each in drawn(both, moved=True))
    for values in (first, second):
        assert values.mean() == pytest.approx(5, abs=0.2)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0, abs=0.1)


def test_the_members_are_those_whom_masks_connect() -> None:
    assert Release(PATH, 1).members.tolist() == [0, 1, 2]
    assert Release(PATH, 3).members.tolist() == [3]
