"""Simulated noise and masks have the laws of the library's own tables."""

from __future__ import annotations

import numpy as np
import pytest

from gopa.adversary.privacy.linking import place, uniform_fit
from gopa.adversary.privacy.views import Law, Masks
from gopa.planning.noise.exposure import noise_sum
from zkp.noise import GaussianTable, NoiseLaw, binomial

LAWS: dict[str, NoiseLaw] = {
    "table": GaussianTable.with_scale("3", bits=24, rows=29),
    "bits": binomial(20),
}
LIKELY = 1e-6


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def fitted(sample: list[int], law: Law, rng: np.random.Generator) -> float:
    found = uniform_fit([place(value, law, rng) for value in sample])
    assert found is not None
    return found


@pytest.mark.parametrize("name", LAWS)
def test_draws_follow_their_table_and_no_other(name: str, rng: np.random.Generator) -> None:
    law = Law.of(LAWS[name])
    sample = law.draw((4000,), rng).tolist()
    assert fitted(sample, law, rng) > LIKELY
    assert fitted(sample, law.total(2), rng) < LIKELY
    assert fitted([value + 1 for value in sample], law, rng) < LIKELY


@pytest.mark.parametrize("name", LAWS)
def test_sums_have_the_law_that_plans_are_made_with(name: str) -> None:
    found, planned = Law.of(LAWS[name]).total(5), noise_sum(LAWS[name], 5)
    places = np.arange(planned.first, planned.last + 1)
    np.testing.assert_allclose(found.at(places), planned.values, rtol=1e-12)
    assert Law.of(LAWS[name]).total(0).chances.tolist() == [1.0]


def test_a_shrunk_law_is_that_of_rounded_quarters(rng: np.random.Generator) -> None:
    law = Law.of(LAWS["table"])
    small = law.shrunk(4)
    assert small.chances.sum() == pytest.approx(1.0)
    sample = np.rint(law.draw((4000,), rng) / 4).astype(int).tolist()
    assert fitted(sample, small, rng) > LIKELY


@pytest.mark.parametrize("deviation", [1, 3, 40, 2000])
def test_rounded_normals_have_the_law_of_the_masks(
    deviation: int, rng: np.random.Generator
) -> None:
    masks = Masks(deviation)
    sample = masks.draw((4000,), rng).view(np.int64).tolist()
    assert fitted(sample, masks.law(), rng) > LIKELY
    wider = Masks(deviation + max(1, deviation // 4))
    assert fitted(sample, wider.law(), rng) < LIKELY


def test_uniform_masks_use_all_words_and_narrow_ones_a_few(rng: np.random.Generator) -> None:
    words = Masks(0).draw((4000,), rng)
    found = uniform_fit((words / 2.0**64).tolist())
    assert found is not None
    assert found > LIKELY
    narrow = Masks(0, 4).draw((4000,), rng).view(np.int64)
    assert set(narrow.tolist()) == set(range(-8, 8))


def test_values_that_a_law_cannot_give_fit_nothing(rng: np.random.Generator) -> None:
    law = Law.of(LAWS["bits"])
    assert law.at(np.array([law.first - 1, 10**9])).tolist() == [0.0, 0.0]
    sample = law.draw((100,), rng).tolist()
    assert fitted([*sample, 1000], law, rng) == 0.0
    assert uniform_fit([0.5] * 3) is None
