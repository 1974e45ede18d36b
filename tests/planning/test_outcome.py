"""Privacy after the fact."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy import linalg

from gopa.graph import (
    Graph,
    Spectrum,
    certified_spectrum,
    complete,
    degree_bound,
    from_edges,
    k_out_graph,
    ring,
    spectral_flow_energy,
    spectrum,
    worst_flow_energy,
)
from gopa.planning import DeltaClaim, Plan, RoundFacts, privacy
from gopa.planning import outcome as module
from gopa.planning.noise.exposure import delta_of_rounds, noise_sum
from gopa.planning.outcome import _broken_limit, flow_energy
from gopa.planning.result import delta_of_component
from tests.planning.samples import plan
from tests.randomness import seeded
from wire.errors import UsageError

N = 40


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(n=N, epsilon=2, delta=1e-4, corrupt=4, dropout=0.05, mask="uniform")


def finished(planned: Plan, **changes: object) -> RoundFacts:
    graph = k_out_graph(bytes(32), N, planned.terms.k)
    everybody = tuple(range(N))
    outcome = RoundFacts(planned.terms, graph, everybody, unmasked=everybody)
    return dataclasses.replace(outcome, **changes)  # type: ignore[arg-type]


def some_edge(planned: Plan) -> tuple[int, int]:
    first, second = finished(planned).graph.edges()
    return int(first[0]), int(second[0])


def claims(outcome: RoundFacts) -> dict[str, DeltaClaim]:
    statement = privacy.of(outcome, rng=seeded(0))
    names = ("planned", "observer", "curious", "known")
    return dict(zip(names, statement.claims, strict=False))


def worth(planned: Plan, parties: int, releases: int = 1) -> Any:
    """Delta of the noise of so many parties, cut where and for what 03-V38 says."""
    terms, cut = planned.terms, 1e-9 * float(planned.terms.delta)
    noise = noise_sum(terms.noise, parties, cut / parties)
    lossy = dataclasses.replace(noise, lost=2 * cut)
    return near(delta_of_rounds(lossy, terms.steps, 2.0, releases=releases))


def near(delta: float) -> Any:
    """As near as a millionth: by itself `approx` takes 10^-12 for nothing, and a delta may be."""
    return pytest.approx(delta, rel=1e-6, abs=0)


def test_everybody_stayed(planned: Plan) -> None:
    statement = privacy.of(finished(planned), rng=seeded(0))
    found = claims(finished(planned))
    assert found["planned"].delta == planned.total_delta <= float(planned.terms.delta)
    assert found["planned"].beta == planned.beta * planned.terms.tries
    assert found["observer"].delta == worth(planned, N)
    assert found["observer"].delta < found["curious"].delta <= found["planned"].delta
    assert statement.survivors == N
    assert statement.table_hash == planned.terms.noise.table_hash()
    assert statement.rolled_back == 0
    assert any("single view" in line for line in statement.assumptions)


def test_named_corrupt_parties_are_taken_out(planned: Plan) -> None:
    found = claims(finished(planned, corrupt=(0, 1, 2, 3)))
    assert found["known"].delta == worth(planned, N - 4)


def test_components_are_accounted_for_alone(planned: Plan) -> None:
    half = [(u, v) for u in range(N) for v in range(u) if (u < N // 2) == (v < N // 2)]
    found = claims(finished(planned, graph=from_edges(N, half)))
    assert found["observer"].delta == worth(planned, N // 2)


def test_void_edges_hide_nobody(planned: Plan) -> None:
    """Two cliques joined by edges of one party: void, they leave two halves."""
    half = [(u, v) for u in range(N) for v in range(u) if (u < N // 2) == (v < N // 2)]
    bridges = [(0, v) for v in range(N // 2, N)]
    graph = from_edges(N, half + bridges)
    joined = claims(finished(planned, graph=graph))
    apart = claims(finished(planned, graph=graph, void=tuple(bridges)))
    assert (
        apart["observer"].delta
        == claims(finished(planned, graph=from_edges(N, half)))["observer"].delta
    )
    assert joined["observer"].delta < apart["observer"].delta
    assert joined["planned"] == apart["planned"]


@pytest.mark.parametrize(("pairs", "holds"), [(4, True), (5, False)])
def test_void_edges_show_how_many_are_corrupt_at_least(
    planned: Plan, pairs: int, holds: bool
) -> None:
    assert planned.terms.corrupt == 4
    matched = tuple((2 * each, 2 * each + 1) for each in range(pairs))
    star = tuple((0, other) for other in range(2, N))
    outcome = finished(planned, graph=complete(N))
    assert claims(dataclasses.replace(outcome, void=star))["planned"].delta < 1
    found = claims(dataclasses.replace(outcome, void=matched))["planned"]
    assert (found.delta < 1) == holds


def test_a_curious_centre_is_seen(planned: Plan) -> None:
    star = from_edges(N, [(0, u) for u in range(1, N)])
    found = claims(finished(planned, graph=star))
    assert found["curious"].delta == worth(planned, 1)
    assert found["observer"].delta < 1e-3 < found["curious"].delta


@pytest.mark.parametrize("mask", ["uniform", "gaussian"])
def test_curious_parties_of_a_large_round(mask: str) -> None:
    large = plan(n=300, epsilon=2, delta=1e-5, corrupt=30, charged=0, mask=mask)
    everybody = tuple(range(300))
    graph = k_out_graph(bytes(32), 300, large.terms.k)
    outcome = RoundFacts(large.terms, graph, everybody, unmasked=everybody)
    found = claims(outcome)
    assert found["observer"].delta <= found["curious"].delta <= 1e-5
    around = claims(dataclasses.replace(outcome, graph=ring(300)))["curious"]
    assert around.delta == (found["curious"].delta if mask == "uniform" else 1)


def test_a_path_of_many_parties_falls_apart() -> None:
    long = plan(n=300, epsilon=2, delta=1e-5, corrupt=30, charged=0, mask="uniform")
    everybody = tuple(range(300))
    line = from_edges(300, [(u, u + 1) for u in range(299)])
    found = claims(RoundFacts(long.terms, line, everybody, unmasked=everybody))
    assert found["observer"].delta <= 1e-5
    assert found["curious"].delta > 1e-3


def test_gaussian_masks_have_a_price() -> None:
    planned = plan(n=N, epsilon=2, delta=1e-4, corrupt=4, mask="gaussian", charged=0)
    found = claims(finished(planned))
    free = delta_of_rounds(noise_sum(planned.terms.noise, N), planned.terms.steps, 2.0)
    assert free < found["observer"].delta <= float(planned.terms.delta)
    thin = dataclasses.replace(planned.terms, mask_deviation=planned.terms.mask_deviation // 200)
    broken = claims(finished(planned, terms=thin))
    assert broken["observer"].delta > float(planned.terms.delta)


def test_graphs_too_large_to_search_take_their_spectrum(
    planned: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = claims(finished(planned))["curious"]
    around = finished(planned, graph=ring(N))
    assert claims(around)["curious"].delta == searched.delta
    monkeypatch.setattr(module, "MOST_SEARCHED", 0)
    assert claims(finished(planned))["curious"].delta == near(searched.delta)
    assert claims(around)["curious"].delta == 1


def test_flows_without_any_one_party_are_larger() -> None:
    large = plan(n=300, epsilon=2, delta=1e-5, corrupt=30, charged=0)
    graph = k_out_graph(bytes(32), 300, 10)
    found = module.without_any_one(graph, large.terms, seeded(0))
    spectrum = certified_spectrum(graph, seeded(0))
    steps = large.terms.steps
    assert found.energy == spectral_flow_energy(graph, spectrum, steps, removed=1)
    whole = spectral_flow_energy(graph, spectrum, steps)
    assert found.energy is not None
    assert whole is not None
    assert found.energy > whole
    assert found.parties == 299


def test_releases_with_gaussian_masks_take_the_worst_of_each() -> None:
    made = plan(n=N, epsilon=2, delta=1e-4, corrupt=4, objective="masks")
    outcome = finished(made, graph=complete(N), earlier=(finished(made, graph=ring(N)),))
    worse = flow_energy(ring(N), made.terms.steps, seeded(0))
    better = flow_energy(complete(N), made.terms.steps, seeded(0))
    assert worse > better
    expected = delta_of_component(made.terms, N, worse, 2)
    assert claims(outcome)["observer"].delta == near(expected)


def test_too_few_survivors_break_the_plan_even_if_nobody_lost_much(planned: Plan) -> None:
    most = planned.terms.parties - planned.terms.survivors
    terms = dataclasses.replace(planned.terms, loss=most)
    graph = k_out_graph(bytes(32), N, 4)
    for count, broken in ((planned.terms.survivors, False), (planned.terms.survivors - 1, True)):
        left = tuple(range(count))
        outcome = RoundFacts(terms, graph, left, unmasked=left)
        assert bool(_broken_limit(outcome)) == broken


def test_vectors_after_the_fact() -> None:
    planned = plan(n=N, epsilon=4, delta=1e-3, dimension=2, norm=1, range=(-1, 1), charged=0)
    assert 0 < claims(finished(planned))["observer"].delta <= 1e-3


def test_broken_limits_establish_nothing(planned: Plan) -> None:
    few = tuple(range(planned.terms.survivors - 1))
    for outcome in (
        finished(planned, included=few, unmasked=few),
        finished(planned, earlier=(finished(planned), finished(planned))),
        finished(planned, opened=(some_edge(planned),)),
        finished(
            planned,
            terms=dataclasses.replace(planned.terms, loss=0),
            included=tuple(range(1, N)),
            unmasked=(),
        ),
    ):
        assert claims(outcome)["planned"].delta == 1


def test_opened_masks_inside_the_result_protect_nobody(planned: Plan) -> None:
    party = 7
    neighbours = finished(planned).graph.neighbours(party).tolist()
    exposed = finished(planned, opened=tuple((party, other) for other in neighbours))
    assert claims(finished(planned))["observer"].delta < 1e-4
    assert claims(exposed)["observer"].delta == worth(planned, 1)
    assert claims(exposed)["planned"].delta == 1


def test_earlier_releases_count_with_their_own_graphs(planned: Plan) -> None:
    one = claims(finished(planned))
    again = claims(finished(planned, earlier=(finished(planned),)))
    assert one["observer"].delta < again["observer"].delta < float(planned.terms.delta)
    assert again["planned"].delta == planned.total_delta
    half = [(u, v) for u in range(N) for v in range(u) if (u < N // 2) == (v < N // 2)]
    poor = finished(planned, graph=from_edges(N, half))
    after_poor = claims(finished(planned, earlier=(poor,)))
    assert after_poor["observer"].delta == worth(planned, N // 2, 2)
    assert after_poor["curious"].delta >= after_poor["observer"].delta


def test_earlier_releases_have_the_same_terms(planned: Plan) -> None:
    first = finished(planned)
    privacy.of(finished(planned, earlier=(first,)), rng=seeded(0))
    other = dataclasses.replace(first, terms=dataclasses.replace(planned.terms, k=3))
    nested = dataclasses.replace(first, earlier=(first,))
    named = dataclasses.replace(first, corrupt=(1,))
    for wrong in (other, nested, named):
        with pytest.raises(UsageError):
            privacy.of(finished(planned, earlier=(wrong,)), rng=seeded(0))


@pytest.mark.slow
@pytest.mark.parametrize("mask", ["uniform", "gaussian"])
def test_any_number_of_parties_within_the_plan(mask: str) -> None:
    made = plan(n=200, epsilon=1, delta=1e-5, corrupt=0.5, dropout=0.1, mask=mask)

    def planned_claim(joined: int) -> DeltaClaim:
        everybody = tuple(range(min(joined, 200)))
        graph = k_out_graph(bytes(32), joined, made.terms.k)
        return claims(RoundFacts(made.terms, graph, everybody, unmasked=everybody))["planned"]

    for joined in (200, 190, made.terms.survivors):
        assert planned_claim(joined).delta == made.total_delta <= 1e-5
    assert planned_claim(made.terms.survivors - 1).delta == 1
    assert planned_claim(201).delta == 1


def test_terms_that_promise_too_much_are_not_believed(planned: Plan) -> None:
    assert claims(finished(planned))["planned"].delta <= float(planned.terms.delta)
    bold = dataclasses.replace(planned.terms, delta=Decimal("1e-9"))
    sparse = dataclasses.replace(planned.terms, k=2)
    for terms in (bold, sparse):
        assert claims(finished(planned, terms=terms))["planned"].delta > float(terms.delta)


def test_recovery_counts_on_coins_that_nobody_picks() -> None:
    made = plan(n=N, epsilon=2, delta=1e-4, corrupt=4, recovery="3/4", beacon="drand")
    outcome = finished(made, coins="drand")
    assert claims(outcome)["planned"].delta == made.total_delta
    assert claims(dataclasses.replace(outcome, coins="commit-reveal"))["planned"].delta == 1
    careful = plan(n=N, epsilon=2, delta=1e-4, corrupt=4, recovery="3/4")
    for coins in ("commit-reveal", "drand"):
        assert claims(finished(careful, coins=coins))["planned"].delta == careful.total_delta


def test_further_assumptions_are_repeated(planned: Plan) -> None:
    statement = privacy.of(finished(planned, assumptions=("a test",)), rng=seeded(0))
    assert statement.assumptions[-1] == "a test"


def test_lonely_vectors_are_not_protected() -> None:
    planned = plan(n=N, epsilon=50, delta=1e-3, dimension=2, charged=0, mask="uniform")
    assert planned.terms.steps > len(planned.terms.noise.masses)
    assert claims(finished(planned))["observer"].delta <= 1e-3
    assert claims(finished(planned, graph=from_edges(N, [])))["observer"].delta == 1


def test_closed_self_masks_are_mentioned(planned: Plan) -> None:
    statement = privacy.of(finished(planned, unmasked=()), rng=seeded(0))
    assert any("self-masks" in line for line in statement.assumptions)


@pytest.mark.parametrize(
    "changes",
    [
        {"included": (0, 0)},
        {"included": (N,)},
        {"included": (0, 1), "unmasked": (2,)},
        {"opened": ((0, 0),)},
        {"opened": ((N, 0),)},
        {"void": ((0, 0),)},
        {"void": ((N, 0),)},
        {"corrupt": (N,)},
        {"unmasked": (N,)},
    ],
    ids=str,
)
def test_contradictions_are_refused(planned: Plan, changes: dict[str, object]) -> None:
    privacy.of(finished(planned), rng=seeded(0))
    with pytest.raises(UsageError):
        privacy.of(finished(planned, **changes), rng=seeded(0))


def test_flow_prices_of_small_graphs_are_exact() -> None:
    for units in (1, 3, 7):
        assert flow_energy(ring(6), units, seeded(0)) == worst_flow_energy(ring(6), units)


def test_flow_prices_never_exceed_a_path() -> None:
    line = from_edges(30, [(u, u + 1) for u in range(29)])
    assert flow_energy(line, 3, seeded(0)) == 9 * 29
    graph: Graph = k_out_graph(bytes(32), 200, 8)
    found = flow_energy(graph, 5, seeded(0))
    assert found < 25 * 199
    assert np.sqrt(found) < 5 * 6


@pytest.fixture(scope="module")
def gaussian() -> Plan:
    return plan(n=90, epsilon=2, delta=1e-4, corrupt=9, dropout=0.05, mask="gaussian")


@pytest.mark.parametrize("number", range(6))
def test_claims_that_share_a_spectrum_are_those_of_each_alone(
    gaussian: Plan, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, with earlier releases and without, on graphs of one part and of two."""
    terms, rng = gaussian.terms, np.random.default_rng(number)
    graph = k_out_graph(bytes([number]) * 32, 90, terms.k)
    if number == 5:
        graph = graph.without([(0, int(other)) for other in graph.neighbours(0)])
    included = tuple(sorted(rng.choice(90, size=86, replace=False).tolist()))
    outcome = RoundFacts(terms, graph, included)
    if number % 2:
        again = k_out_graph(bytes([99 - number]) * 32, 90, terms.k)
        outcome = dataclasses.replace(outcome, earlier=(RoundFacts(terms, again, included),))
    together = privacy.of(outcome, rng=seeded(0)).claims
    unknown = [release.graph.induced(list(included)) for release in outcome.releases]
    copies = [from_edges(each.parties, np.stack(each.edges(), axis=1).tolist()) for each in unknown]
    monkeypatch.setattr(spectrum, "certify_gap_dense", spectrum.certify_gap_dense.__wrapped__)
    observer = [module.protections(each, terms, seeded(0)) for each in unknown]
    curious = [[module.without_any_one(each, terms, seeded(0))] for each in copies]
    for claim, groups in zip(together[1:], (observer, curious), strict=True):
        assert (claim.delta, claim.how) == module.worst(terms, groups)


def test_one_spectrum_for_all_claims(gaussian: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    eigenvalues = linalg.eigvalsh

    def counting(matrix: np.ndarray, **options: object) -> np.ndarray:
        computed.append(len(matrix))
        return np.asarray(eigenvalues(matrix, **options))

    monkeypatch.setattr(linalg, "eigvalsh", counting)
    graph = k_out_graph(b"one" + bytes(29), 90, gaussian.terms.k)
    statement = privacy.of(RoundFacts(gaussian.terms, graph, tuple(range(90))), rng=seeded(0))
    assert all(claim.delta < 1e-3 for claim in statement.claims)
    assert computed == [90]


def test_components_that_masks_do_not_protect_have_no_privacy(planned: Plan) -> None:
    terms = planned.terms
    assert delta_of_component(terms, terms.honest, 0, 1) < 1
    assert delta_of_component(terms, 0, 0, 1) == 1
    assert terms.mask_deviation == 0
    assert delta_of_component(terms, terms.honest, 1, 1) == 1


def test_nobody_has_nothing_to_lose(planned: Plan) -> None:
    one = module.Protection(planned.terms.honest, 0, 0.0, "all")
    assert 0 < module.worst(planned.terms, [[one]])[0] < 1
    assert module.worst(planned.terms, [[], []])[0] == 0


def test_a_spectrum_that_bounds_no_flow_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = plan(n=N, epsilon=2, delta=1e-4, corrupt=4, dropout=0.05).terms
    assert terms.mask == "gaussian"
    graph = k_out_graph(bytes(32), N, terms.k)
    shown = module.without_any_one(graph, terms, seeded(0))
    assert shown.energy
    assert module.worst(terms, [[shown]])[0] < 1
    poor = Spectrum(1 + 1e-9, degree_bound(graph), 0.0, "made up")
    monkeypatch.setattr(module, "certified_spectrum", lambda *_: poor)
    hidden = module.without_any_one(graph, terms, seeded(0))
    assert hidden.energy is None
    assert module.worst(terms, [[shown, hidden]])[0] == 1
