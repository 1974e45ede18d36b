"""Scenes keep the rules of the protocol, and claims are those of the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gopa.adversary.privacy.coalitions import (
    COALITIONS,
    FEWEST,
    GAUSSIAN,
    HOUSES,
    LATE,
    NEIGHBOURS,
    ORGANISER,
    RECOVERING,
    RETRY_UNIFORM,
    ROLLBACK,
    TWO_UNIFORM,
    UNIFORM,
    VECTOR_UNIFORM,
    VETO,
    views_of,
)
from gopa.adversary.privacy.measuring import claim_of, largest_change, world_of
from gopa.adversary.privacy.scenarios import ReleaseScenario, most_exposed
from gopa.contract.terms import Terms
from gopa.graph import complete, from_edges
from gopa.planning.noise.exposure import noise_sum, theorem_d
from gopa.planning.result import guarantee
from gopa.rounds.graph import peel
from tests.planning.samples import plan
from zkp.noise import GaussianTable


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize("coalition", [ORGANISER, ROLLBACK, LATE, VETO], ids=lambda each: each.name)
def test_nobody_is_left_whom_the_rules_would_remove(
    coalition: object, rng: np.random.Generator
) -> None:
    terms = RETRY_UNIFORM.terms
    for scenario in coalition.build(terms, rng):  # type: ignore[attr-defined]
        assert scenario.gone
        assert not scenario.gone & scenario.corrupt
        assert len(scenario.included) >= terms.survivors
        assert peel(scenario.graph, scenario.included, 0, terms.loss) == scenario.included


def test_the_organiser_keeps_out_honest_neighbours_of_the_victim(rng: np.random.Generator) -> None:
    terms = UNIFORM.terms
    (scenario,) = ORGANISER.build(terms, rng)
    around = set(scenario.graph.neighbours(scenario.victim).tolist())
    assert scenario.gone <= around - scenario.corrupt
    assert len(scenario.honest) == terms.survivors - terms.corrupt


def test_a_victim_with_one_honest_neighbour_has_one_mask(rng: np.random.Generator) -> None:
    (scenario,) = NEIGHBOURS.build(GAUSSIAN.terms, rng)
    release = scenario.release()
    assert len(release.graph.neighbours(release.victim)) == 1
    assert len(scenario.corrupt) > GAUSSIAN.terms.corrupt


def test_all_but_two_are_two(rng: np.random.Generator) -> None:
    (scenario,) = FEWEST.build(TWO_UNIFORM.terms, rng)
    assert len(scenario.honest) == 2
    assert scenario.release().graph.edge_count == 1


def test_a_veto_makes_two_releases_without_the_one_who_vetoed(rng: np.random.Generator) -> None:
    first, second = VETO.build(RETRY_UNIFORM.terms, rng)
    assert second.graph.parties == first.graph.parties - 1
    assert len(second.corrupt) == len(first.corrupt) - 1
    assert second.victim == first.victim - 1


def test_opened_edges_lead_out_of_the_result() -> None:
    scenario = ReleaseScenario(
        from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4)]), 1, frozenset({0}), frozenset({3})
    )
    assert scenario.opened == ((2, 3), (3, 4))
    assert scenario.release().graph.edge_count == 1
    assert scenario.honest == (1, 2, 4)
    late = replace(scenario, victim=3).release()
    assert late.closed == {0}
    assert late.graph.parties == 1


def test_the_most_exposed_party_is_the_one_that_is_cut_off(rng: np.random.Generator) -> None:
    del rng
    graph = from_edges(5, [(0, 1), (1, 2), (0, 2), (0, 3), (3, 4)])
    assert most_exposed(graph, {0, 4}, UNIFORM.terms) == 3
    assert most_exposed(graph, {0, 4}, GAUSSIAN.terms) == 3


def test_claims_with_uniform_masks_are_theorem_d(rng: np.random.Generator) -> None:
    terms = TWO_UNIFORM.terms
    claim = claim_of(terms, FEWEST.build(terms, rng), rng)
    exact = theorem_d(noise_sum(terms.noise, 2), terms.steps, float(terms.promised_epsilon))
    assert claim.delta == pytest.approx(exact, rel=1e-6)
    assert claim.epsilon == float(terms.promised_epsilon)


def test_terms_that_promise_too_much_are_taken_at_their_word(rng: np.random.Generator) -> None:
    terms = TWO_UNIFORM.terms
    liars = replace(terms, noise=GaussianTable.with_scale("1", bits=24, rows=9))
    assert guarantee(liars).total > float(terms.delta)
    found = claim_of(liars, FEWEST.build(liars, rng), rng)
    assert found.delta == pytest.approx(float(terms.delta))


def test_a_graph_in_pieces_has_the_account_of_the_piece(rng: np.random.Generator) -> None:
    terms = UNIFORM.terms
    corrupt = frozenset(range(terms.corrupt))
    pairs = [(u, v) for u in range(24) for v in range(u + 1, 24) if v != 23 or u in corrupt]
    whole = ReleaseScenario(complete(24), 23, corrupt)
    apart = ReleaseScenario(from_edges(24, pairs), 23, corrupt)
    assert len(apart.release().members) == 1
    worth = claim_of(terms, [whole], rng).delta
    assert worth <= float(terms.delta) < claim_of(terms, [apart], rng).delta


@pytest.mark.parametrize(
    "house", HOUSES, ids=lambda house: "-".join(map(str, dict(house.options).values()))
)
def test_every_house_plan_has_its_views(house: object, rng: np.random.Generator) -> None:
    for coalition in house.coalitions:  # type: ignore[attr-defined]
        view = coalition.view(house.terms, rng)  # type: ignore[attr-defined]
        assert view is not None
        assert 0 < view.claim.delta < 1


@pytest.mark.slow
def test_views_that_the_terms_have_no_room_for_are_left_out(rng: np.random.Generator) -> None:
    assert {view.name for view in views_of(TWO_UNIFORM.terms, rng)} == {
        "neighbours",
        "fewest honest",
    }
    everything = {each.name for each in COALITIONS}
    assert {view.name for view in views_of(RECOVERING.terms, rng)} == everything - {"veto"}


def test_changes_have_the_length_that_is_allowed() -> None:
    assert largest_change(TWO_UNIFORM.terms) == (TWO_UNIFORM.terms.steps,)
    box = VECTOR_UNIFORM.terms
    assert largest_change(box) == (box.steps,) * 4
    long = plan(n=8, epsilon=1, delta="0.05", dimension=6, norm=1, mask="uniform").terms
    change = largest_change(long)
    assert sum(step**2 for step in change) <= long.squared_sensitivity
    assert sum(step**2 for step in change) > 0.98 * long.squared_sensitivity
    assert len(change) <= 6


def test_worlds_run_on_what_the_session_runs_on(rng: np.random.Generator) -> None:
    terms: Terms = GAUSSIAN.terms
    world = world_of(terms, ROLLBACK.build(terms, rng))
    assert world.masks.deviation == terms.mask_deviation
    assert world.noise.variance == pytest.approx(float(terms.noise.variance))
