"""Plans meet their targets, say why, and refuse what cannot be met."""

from __future__ import annotations

import dataclasses
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, get_args

import pytest

import gopa
from gopa.accounting.gaussian import gaussian_mu
from gopa.contract.terms import MOST_DEVIATION
from gopa.graph import complete, worst_flow_energy
from gopa.planning import Plan, guarantee
from gopa.planning.neighbours.expansion import Population, disconnected, flow_bound
from gopa.planning.neighbours.liveness import OwedMessages, plan_dropouts
from gopa.planning.noise.exposure import delta_of_rounds, delta_of_vectors, noise_sum
from gopa.planning.noise.laws import LADDERS, gaussian_table
from gopa.planning.target import NoiseName, float_below
from tests.planning.samples import plan
from wire.errors import UsageError
from zkp.noise import GaussianTable, NoiseKind, WeightedBits, decode_noise_law

TARGETS: tuple[dict[str, object], ...] = (
    {"n": 1000, "epsilon": 1, "delta": 1e-6, "corrupt": 0.2},
    {"n": 1000, "epsilon": 1, "delta": 1e-6, "corrupt": 0.2, "mask": "uniform"},
    {"n": 50, "epsilon": 1, "delta": 1e-5, "corrupt": 10, "mask": "uniform", "rounds": 4},
    {"n": 500, "epsilon": 0.5, "delta": "1e-7", "noise": "binomial", "objective": "peers"},
    {"n": 500, "epsilon": 0.5, "delta": "1e-7", "noise": "irwin-hall", "objective": "masks"},
    {"n": 8, "epsilon": 2, "delta": 1e-4, "dropout": 0.0, "charged": 0, "attempts": 1},
)


def made(target: dict[str, object]) -> Plan:
    return plan(**target)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_plan_meets_its_target_from_its_terms_alone(target: dict[str, object]) -> None:
    made_plan = made(target)
    terms = made_plan.terms
    noise_delta = delta_of_rounds(
        noise_sum(terms.noise, terms.honest),
        terms.steps,
        float(terms.promised_epsilon),
        mask_mu=made_plan.mask_mu,
        releases=terms.releases,
    )
    assert noise_delta == pytest.approx(made_plan.noise_delta, rel=1e-6, abs=0)
    beta = made_plan.beta * terms.tries
    assert beta <= float(terms.delta) / 10 * (1 + 1e-9)
    assert noise_delta + beta <= float(terms.delta)
    assert made_plan.total_delta == pytest.approx(noise_delta + beta, rel=1e-6, abs=0)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_beta_and_flow_hold_for_every_number_that_joins(target: dict[str, object]) -> None:
    """One by one. Bounds for single numbers choose their steps greedily: one may be worse."""
    made_plan = made(target)
    terms = made_plan.terms
    assert guarantee(terms).total <= float(terms.delta)
    assert (terms.mask_deviation == 0) == (terms.mask == "uniform")
    for joined in range(terms.survivors, terms.parties + 1):
        assert guarantee(terms, joined).total <= made_plan.total_delta
        gone = joined - terms.survivors
        loss = min(terms.loss, gone)
        population = Population(joined, joined - terms.corrupt, terms.choices(joined), loss, gone)
        if terms.choices(joined) == joined - 1:
            found = worst_flow_energy(complete(terms.honest), terms.steps)
            assert terms.mask == "uniform" or found <= made_plan.flow_energy
        elif terms.mask == "uniform":
            assert disconnected(population) <= made_plan.beta
        else:
            bound = flow_bound(population, terms.steps, made_plan.beta)
            assert bound is not None
            assert bound.energy <= made_plan.flow_energy * 1.1


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_terms_are_exact(target: dict[str, object]) -> None:
    made_plan = made(target)
    terms = made_plan.terms
    for name in ("parties", "corrupt", "survivors", "loss", "k", "steps", "mask_deviation"):
        assert type(getattr(terms, name)) is int
    for name in ("low", "high", "epsilon", "delta", "beta"):
        assert type(getattr(terms, name)) is Decimal
    assert float(terms.beta) >= made_plan.beta
    assert decode_noise_law(terms.noise.to_bytes()) == terms.noise
    assert {reason.name for reason in made_plan.reasons} >= {"neighbours k", "noise", "masks"}


def test_errors_stand_between_the_curator_and_local_privacy() -> None:
    for target in TARGETS:
        errors = made(target).errors
        assert errors.curator < errors.planned < errors.local


def test_without_corruption_and_loss_the_curator_is_nearly_met() -> None:
    made_plan = plan(
        n=10_000, epsilon=0.1, delta=1e-7, dropout=0.0, mask="uniform", charged=0, attempts=1
    )
    assert made_plan.errors.planned <= made_plan.errors.curator * 1.01
    assert made_plan.terms.k <= 4


@pytest.mark.slow
def test_integers_are_not_rounded() -> None:
    target = {"n": 2000, "epsilon": 1, "delta": 1e-6, "range": (0, 100)}
    rounded, whole = made({**target, "steps": 100}), made({**target, "integers": True})
    assert rounded.terms == whole.terms
    assert whole.terms.steps == 100
    assert whole.terms.noise.variance > 36
    out = 2000 * 0.95
    assert (whole.errors.planned**2 * out) == pytest.approx(float(whole.terms.noise.variance))
    assert (rounded.errors.planned**2 - whole.errors.planned**2) * out == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("ends", "steps"), [((0, 1), 8), ((1, 5), 8), ((0, 7), 14), ((-3, 9), 12), ((0, "1e3"), 1000)]
)
def test_integers_are_on_the_grid(ends: tuple[int, int], steps: int) -> None:
    found = plan(n=300, epsilon=2, delta=1e-5, range=ends, integers=True)
    assert found.terms.steps == steps


def test_masks_are_never_wider_than_can_be_drawn() -> None:
    """They cost more then, and what they cost is in the claim."""
    target = {"n": 300, "epsilon": 2, "delta": 1e-5, "integers": True, "noise": "irwin-hall"}
    wide = made({**target, "range": (0, 1000)})
    free = made({**target, "range": (0, 1000), "mask": "uniform"})
    assert MOST_DEVIATION / 2 < wide.terms.mask_deviation <= MOST_DEVIATION
    assert guarantee(wide.terms).total <= wide.terms.delta
    assert free.errors.planned < wide.errors.planned < 1.1 * free.errors.planned
    with pytest.raises(UsageError) as caught:
        made({**target, "range": (0, 10**6)})
    assert caught.value.field == "mask"


def test_grids_that_would_be_too_fine_are_refused() -> None:
    target: dict[str, object] = {"n": 300, "epsilon": 1, "delta": 1e-5, "dimension": 4}
    assert made({**target, "norm": 1, "range": (-1, 1)}).terms.steps < 2**30
    with pytest.raises(UsageError) as caught:
        made({**target, "norm": "1e-9", "range": (-1, 1)})
    assert caught.value.field == "epsilon"


@pytest.mark.slow
def test_a_plan_for_a_crowd_takes_the_first_noise_that_passes() -> None:
    crowd = made({"n": 60_000, "epsilon": 1, "delta": 1e-6, "mask": "uniform"})
    assert guarantee(crowd.terms).total <= crowd.terms.delta
    assert crowd.errors.planned < 1.1 * made({**TARGETS[1], "corrupt": 0, "n": 1000}).errors.planned


def test_scales_without_a_table_are_refused() -> None:
    assert gaussian_table(8_000).rows > 100
    for thousandths in (249, 80_000):
        with pytest.raises(UsageError):
            gaussian_table(thousandths)


def test_integer_vectors_keep_their_length() -> None:
    target = {"n": 300, "epsilon": 4, "delta": 1e-4, "dimension": 4, "range": (-10, 10)}
    whole = made({**target, "norm": 5, "integers": True}).terms
    rounded = made({**target, "norm": 5, "steps": 20}).terms
    assert whole.squared_sensitivity == 101  # 2 * 5 squared, rounded upwards
    assert rounded.squared_sensitivity == 197  # each vector may grow by the square root of 4


def test_vectors_are_planned_by_length() -> None:
    made_plan = plan(
        n=400,
        epsilon=2,
        delta=1e-5,
        dimension=20,
        norm=1,
        range=(-1, 1),
        mask="uniform",
        noise="irwin-hall",
    )
    terms = made_plan.terms
    rounded = terms.steps / 2 + math.sqrt(20)
    assert terms.squared_sensitivity >= math.floor(4 * rounded * rounded)
    delta = delta_of_vectors(
        noise_sum(terms.noise, terms.honest),
        terms.squared_sensitivity,
        terms.steps,
        2.0,
        dimension=20,
        releases=terms.releases,
    )
    assert delta + made_plan.beta * terms.tries <= 1e-5
    assert isinstance(terms.noise, WeightedBits)


def test_vectors_with_gaussian_masks() -> None:
    made_plan = plan(n=300, epsilon=2, delta=1e-5, dimension=3, norm="0.5", range=(-1, 1))
    assert made_plan.terms.mask_deviation > 0
    assert made_plan.total_delta <= 1e-5


@pytest.mark.slow
def test_objectives_do_what_they_say() -> None:
    def target(objective: str) -> Plan:
        return made({"n": 2000, "epsilon": 1, "delta": 1e-6, "objective": objective})

    error, peers, masks = target("error"), target("peers"), target("masks")
    assert error.errors.planned <= peers.errors.planned <= masks.errors.planned
    assert peers.terms.k <= masks.terms.k
    assert masks.terms.mask_deviation < peers.terms.mask_deviation < error.terms.mask_deviation


@pytest.mark.slow
def test_more_corruption_and_dropout_cost_noise_and_neighbours() -> None:
    plans = [
        plan(n=1000, epsilon=1, delta=1e-6, corrupt=corrupt, dropout=dropout, mask="uniform")
        for corrupt, dropout in ((0, 0.0), (0.2, 0.0), (0.2, 0.1), (0.5, 0.1))
    ]
    assert [p.terms.k for p in plans] == sorted(p.terms.k for p in plans)
    assert [p.errors.planned for p in plans] == sorted(p.errors.planned for p in plans)
    assert plans[0].terms.corrupt == 1


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_terms_alone_guarantee_the_target(target: dict[str, object]) -> None:
    terms = made(target).terms
    found = guarantee(terms)
    assert found.total <= float(terms.delta)
    assert found == guarantee(terms, terms.parties)
    assert guarantee(terms, terms.survivors - 1).total == 1


@pytest.mark.parametrize("mask", ["uniform", "gaussian"])
def test_the_same_corrupt_parties_among_fewer_are_worse(mask: str) -> None:
    """A k that is enough when all join is not enough when fewer do; plans take the latter."""
    terms = plan(n=200, epsilon=1, delta=1e-5, corrupt=0.5, dropout=0.1, mask=mask).terms
    chance = float(terms.beta)

    def suffices(k: int, joined: int) -> bool:
        gone = joined - terms.survivors
        population = Population(joined, joined - 100, k, min(terms.loss, gone), gone)
        if mask == "uniform":
            return disconnected(population) <= chance
        return flow_bound(population, terms.steps, chance) is not None

    assert all(suffices(terms.k, joined) for joined in range(terms.survivors, 201))
    smaller = next(k for k in range(terms.k, 0, -1) if not suffices(k, 190))
    assert suffices(smaller, 200)
    assert guarantee(dataclasses.replace(terms, k=smaller)).total > 1e-5


def test_numbers_of_parties_outside_the_plan_have_no_guarantee() -> None:
    terms = plan(n=60, epsilon=1, delta=1e-5, corrupt=6).terms
    for joined in (terms.survivors, terms.parties):
        assert guarantee(terms, joined) == guarantee(terms)
    for joined in (terms.survivors - 1, terms.parties + 1, 0):
        assert guarantee(terms, joined).total == 1
    for wrong in (-1, 60.0, True):
        with pytest.raises(UsageError):
            guarantee(terms, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "worse",
    [
        {"corrupt": 150},
        {"corrupt": 60},
        {"survivors": 60},
        {"k": 3},
        {"loss": 23},
        {"beta": Decimal("1e-12")},
        {"beta": Decimal(0)},
        {"threshold_numerator": 1, "threshold_denominator": 5},
        {"epsilon": Decimal("0.9")},
        {"steps": 40, "squared_sensitivity": 1600},
        {"rounds": 2},
        {"charged": 2},
        {"attempts": 900},
        {"mask_deviation": 50},
    ],
    ids=str,
)
def test_worse_terms_are_seen_through(worse: dict[str, object]) -> None:
    terms = plan(n=200, epsilon=1, delta=1e-5, corrupt=0.1).terms
    assert guarantee(terms).total <= 1e-5
    assert guarantee(dataclasses.replace(terms, **worse)).total > 1e-5  # type: ignore[arg-type]


@pytest.mark.thirds
@pytest.mark.parametrize("mask", ["uniform", "gaussian"])
@pytest.mark.parametrize("recovery", ["2/3", "0.75", Fraction(9, 10)], ids=str)
def test_recovery_is_planned_for(mask: str, recovery: str | Fraction) -> None:
    target = {"n": 300, "epsilon": 1, "delta": 1e-5, "corrupt": 0.2, "mask": mask}
    without, with_it = made(target), made({**target, "recovery": recovery})
    beacon = made({**target, "recovery": recovery, "beacon": "drand"})
    assert with_it.terms.threshold == Fraction(recovery)
    assert 0 < with_it.beta_recovery <= 1e-5 / 60
    assert with_it.beta * 3 <= 1e-6
    assert with_it.total_delta == guarantee(with_it.terms).total <= 1e-5
    assert without.terms.k <= beacon.terms.k <= with_it.terms.k
    assert without.cost.bytes_posted < with_it.cost.bytes_posted
    assert "recovery" in {reason.name for reason in with_it.reasons}
    assert without.beta_recovery == 0


def test_wide_noise_is_planned_for_narrow_inputs() -> None:
    """A bit from each party and a large epsilon: the narrowest table is enough."""
    terms = plan(n=1000, epsilon=10, delta=1e-5, steps=1, mask="uniform").terms
    assert isinstance(terms.noise, GaussianTable)
    assert terms.noise.square >= Fraction(1, 16)


def test_targets_are_met_as_written() -> None:
    for text in ("0.1", "0.3", "1e-7", "2", "0.7"):
        assert Fraction(float_below(Decimal(text))) <= Fraction(text)
        assert float_below(Decimal(text)) == pytest.approx(float(text), rel=1e-15, abs=0)


def test_losses_are_a_matter_of_liveness() -> None:
    course = OwedMessages(coins=False, recovery=False)
    assert plan_dropouts(100, 10, 0.0, course).loss == 0
    losses = plan_dropouts(1000, 20, 0.1, course)
    assert 8 <= losses.loss <= 20
    assert 800 <= losses.survivors < 900
    assert plan_dropouts(1000, 20, 0.1, course, 880).survivors == 880
    nonces = plan_dropouts(1000, 20, 0.1, OwedMessages(coins=True, recovery=False))
    assert nonces.loss > losses.loss + 10


def test_plans_start_near_the_gaussian_guess() -> None:
    made_plan = plan(
        n=1000, epsilon=1, delta=1e-6, dropout=0, charged=0, attempts=1, mask="uniform"
    )
    terms = made_plan.terms
    assert isinstance(terms.noise, GaussianTable)
    needed = terms.steps / (gaussian_mu(1.0, 1e-6) * math.sqrt(terms.honest))
    assert float(terms.noise.square) ** 0.5 == pytest.approx(needed, rel=0.01)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"n": 2}, "n"),
        ({"n": 100.0}, "n"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 0}, "delta"),
        ({"corrupt": 1.0}, "corrupt"),
        ({"corrupt": 100}, "corrupt"),
        ({"corrupt": 0.99}, "corrupt"),
        ({"corrupt": -1}, "corrupt"),
        ({"epsilon": 10**5000}, "epsilon"),
        ({"epsilon": "0." + "1" * 60}, "epsilon"),
        ({"delta": "1e-21"}, "delta"),
        ({"dropout": "0.1"}, "dropout"),
        ({"dropout": False}, "dropout"),
        ({"dropout": None}, "dropout"),
        ({"range": 1}, "range"),
        ({"range": (0, 1, 2)}, "range"),
        ({"range": (0, "1e400")}, "range"),
        ({"range": (0, "1e-400")}, "range"),
        ({"dimension": 2, "norm": 0}, "norm"),
        ({"dropout": 1.0}, "dropout"),
        ({"dropout": 0.5}, "corrupt"),
        ({"dropout": 0.35, "corrupt": 0.45}, "corrupt"),
        ({"range": (1, 1)}, "range"),
        ({"dimension": 0}, "dimension"),
        ({"norm": 1}, "norm"),
        ({"rounds": 0}, "rounds"),
        ({"mask": "none"}, "mask"),
        ({"noise": "laplace"}, "noise"),
        ({"objective": "speed"}, "objective"),
        ({"attempts": 1}, "attempts"),
        ({"steps": 10_000}, "mask"),
        ({"steps": 10_000, "mask": "uniform"}, "noise"),
        ({"steps": 500, "noise": "gaussian"}, "noise"),
        ({"steps": True}, "steps"),
        ({"integers": 1}, "integers"),
        ({"integers": True, "range": (0, "1.5")}, "range"),
        ({"integers": True, "range": (0, 10**12)}, "range"),
        ({"integers": True, "range": (0, 10), "steps": 15}, "steps"),
        ({"recovery": 0.5}, "recovery"),
        ({"recovery": "half"}, "recovery"),
        ({"recovery": "1/0"}, "recovery"),
        ({"recovery": "3/2"}, "recovery"),
        ({"recovery": "0.33333333"}, "recovery"),
        ({"recovery": "1/3"}, "recovery"),
        ({"beacon": "dice"}, "beacon"),
        ({"n": 2_000_001}, "n"),
        ({"noise": "binomial", "steps": 10_000, "mask": "uniform"}, "noise"),
        ({"noise": "irwin-hall", "steps": 10**7, "mask": "uniform"}, "noise"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else None,
)
def test_what_cannot_be_planned_names_the_field(change: dict[str, object], field: str) -> None:
    target: dict[str, object] = {"n": 100, "epsilon": 1, "delta": 1e-5, "corrupt": 0.5}
    made({**target, "corrupt": 0.2})
    with pytest.raises(UsageError) as caught:
        made({**target, **change})
    assert caught.value.field == field


def test_recovery_is_planned_for_vectors_and_for_all_laws() -> None:
    target: dict[str, object] = {"n": 100, "epsilon": 1, "delta": 1e-5, "corrupt": 0.1}
    for more in ({"dimension": 3}, {"noise": "irwin-hall"}, {"noise": "binomial"}):
        plain = made({**target, **more})
        found = made({**target, **more, "recovery": "3/4"})
        assert (plain.terms.threshold, found.terms.threshold) == (None, Fraction(3, 4))
        assert (plain.beta_recovery, found.total_delta <= 1e-5) == (0, True)
        assert 0 < found.beta_recovery <= 1e-5 / 60


@pytest.mark.soak
def test_a_million_parties_are_planned() -> None:
    made_plan = plan(n=1_000_000, epsilon=0.1, delta=1e-9, corrupt=0.3)
    assert made_plan.total_delta <= 1e-9


@pytest.mark.parametrize("mode", ["signed", "full"])
def test_too_many_steps_are_refused_with_the_most_that_work(mode: str) -> None:
    asked: dict[str, Any] = {"n": 10, "epsilon": None, "dimension": 99_172, "mode": mode}
    ball: dict[str, Any] = {"norm": 1, "range": (-1, 1)} if mode == "full" else {}
    steps = 2**24 if mode == "signed" else 2**30
    gopa.plan(**asked, **ball, steps=2**16)
    with pytest.raises(UsageError) as caught:
        gopa.plan(**asked, **ball, steps=8 * steps)
    assert caught.value.field == "steps"
    most = int(re.findall(r"at most (\d+)", caught.value.message)[0])
    made = gopa.plan(**asked, **ball, steps=most)
    assert made.terms.squared_sensitivity < 2**64
    with pytest.raises(UsageError):
        gopa.plan(**asked, **ball, steps=most + 2)


def test_steps_that_no_noise_is_wide_enough_for_are_refused_with_some_that_are() -> None:
    asked: dict[str, Any] = {"n": 40, "epsilon": 1, "delta": 1e-6, "dimension": 50, "norm": 1}
    with pytest.raises(UsageError) as caught:
        gopa.plan(**asked, range=(-1, 1), steps=2**24)
    assert caught.value.field == "noise"
    steps = int(caught.value.message.rpartition("=")[2])
    assert gopa.plan(**asked, range=(-1, 1), steps=steps).terms.steps == steps


def test_every_law_that_hides_something_has_a_ladder() -> None:
    assert set(LADDERS) == set(get_args(NoiseName))
    assert {ladder.kind for ladder in LADDERS.values()} == set(NoiseKind) - {NoiseKind.NONE}
    for ladder in LADDERS.values():
        for variance in (0.5, 4.0, 60.0):
            first = ladder.first(variance)
            laws = [ladder.law(step) for step in (first, first + 1)]
            assert {law.kind for law in laws} == {ladder.kind}
            assert laws[0].variance <= laws[1].variance <= ladder.widest**2 * 1.001
            assert 0.9 * variance < laws[1].variance
