"""Terms from somebody who wants to claim too much: refused, or worth what they are worth."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gopa.planning import Terms, guarantee
from gopa.planning.noise.exposure import delta_of_vectors, most_summed, noise_sum
from gopa.planning.result import NOTHING, delta_of_component
from gopa.planning.target import decimal_below
from tests.pace import examples
from tests.planning.samples import plan
from wire.errors import UsageError
from zkp.noise import GaussianTable, irwin_hall

FAIR = plan(n=60, epsilon=1, delta=1e-5, corrupt=6, recovery="3/4").terms
SMOOTH = plan(n=60, epsilon=1, delta=1e-5, corrupt=6, mask="uniform").terms
LONG = plan(n=60, epsilon=2, delta=1e-5, corrupt=6, dimension=3, mask="uniform").terms


def changed(terms: Terms, changes: dict[str, object]) -> Terms:
    return dataclasses.replace(terms, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"parties": 2}, "parties"),
        ({"parties": 60.0}, "parties"),
        ({"parties": 2**24 + 1}, "parties"),
        ({"corrupt": 0}, "corrupt"),
        ({"corrupt": -1}, "corrupt"),
        ({"corrupt": FAIR.survivors}, "survivors"),
        ({"corrupt": FAIR.survivors - 1}, "survivors"),
        ({"survivors": 61}, "survivors"),
        ({"survivors": True}, "survivors"),
        ({"loss": -1}, "loss"),
        ({"loss": 60}, "loss"),
        ({"k": 0}, "k"),
        ({"k": 60}, "k"),
        ({"k": 5.0}, "k"),
        ({"dimension": 0}, "dimension"),
        ({"steps": 0}, "steps"),
        ({"steps": 2**40 + 1}, "steps"),
        ({"steps": math.nan}, "steps"),
        ({"squared_sensitivity": FAIR.steps**2 - 1}, "squared_sensitivity"),
        ({"squared_sensitivity": FAIR.steps**2 + 1}, "squared_sensitivity"),
        ({"noise": None}, "noise"),
        ({"mask": "none"}, "mask"),
        ({"mask": ["gaussian"]}, "mask"),
        ({"mask": "uniform"}, "mask_deviation"),
        ({"mask_deviation": 0}, "mask_deviation"),
        ({"mask_deviation": 1e6}, "mask_deviation"),
        ({"mask_deviation": 2**16 + 1}, "mask_deviation"),
        ({"low": 0}, "low"),
        ({"low": Decimal(2)}, "high"),
        ({"high": Decimal("NaN")}, "high"),
        ({"high": Decimal("sNaN")}, "high"),
        ({"high": Decimal("Infinity")}, "high"),
        ({"high": Decimal("1e61")}, "high"),
        ({"low": Decimal("0e-99999")}, "low"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": Decimal(0)}, "epsilon"),
        ({"epsilon": Decimal(101)}, "epsilon"),
        ({"delta": Decimal("1e-21")}, "delta"),
        ({"delta": Decimal(1)}, "delta"),
        ({"delta": Decimal("1." + 40 * "1")}, "delta"),
        ({"beta": Decimal("-1e-9")}, "beta"),
        ({"beta": Decimal(1)}, "beta"),
        ({"rounds": 0}, "rounds"),
        ({"charged": -1}, "charged"),
        ({"charged": 3}, "attempts"),
        ({"attempts": 1001}, "attempts"),
        ({"beacon": "simulation"}, "beacon"),
        ({"threshold_numerator": 4}, "threshold_numerator"),
        ({"threshold_numerator": -1}, "threshold_numerator"),
        ({"threshold_denominator": 0}, "threshold_denominator"),
        ({"threshold_denominator": 2**16}, "threshold_denominator"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_numbers_that_do_not_fit_are_refused(changes: dict[str, object], field: str) -> None:
    assert guarantee(FAIR).total <= 1e-5
    with pytest.raises(UsageError) as caught:
        changed(FAIR, changes)
    assert caught.value.field == field


@settings(deadline=None, max_examples=examples(25))
@given(
    st.sampled_from([FAIR, SMOOTH]),
    st.sampled_from(["k", "corrupt", "survivors", "loss", "rounds", "charged", "attempts"]),
    st.integers(1, 40),
)
def test_worse_numbers_never_promise_more(terms: Terms, name: str, by: int) -> None:
    """Each of these numbers has a direction in which an attacker gains."""
    sign = -1 if name in {"k", "survivors"} else 1
    try:
        worse = changed(terms, {name: getattr(terms, name) + sign * by})
    except UsageError:
        return
    assert guarantee(worse).total >= guarantee(terms).total * (1 - 1e-9)


def test_thresholds_are_exact() -> None:
    assert FAIR.threshold == Fraction(3, 4)
    assert [FAIR.shares_needed(degree) for degree in (0, 1, 3, 4, 7, 8)] == [1, 1, 3, 4, 6, 7]
    assert SMOOTH.threshold is None
    assert SMOOTH.shares_needed(10) is None
    third = changed(FAIR, {"threshold_numerator": 1, "threshold_denominator": 3})
    assert third.shares_needed(3 * 10**12) == 10**12 + 1


def test_few_parties_choose_all_others() -> None:
    assert FAIR.choices(60) == FAIR.k
    assert FAIR.choices(FAIR.k) == FAIR.k - 1


def test_weaker_thresholds_and_open_coins_are_worth_less() -> None:
    fair = guarantee(FAIR)
    assert 0 < fair.recovery < 1e-5
    low = guarantee(changed(FAIR, {"threshold_numerator": 1, "threshold_denominator": 3}))
    assert low == NOTHING
    drand = plan(n=90, epsilon=1, delta=1e-5, corrupt=27, recovery="2/3", beacon="drand").terms
    assert guarantee(drand).total <= 1e-5
    assert guarantee(changed(drand, {"beacon": "commit-reveal"})).total > 1e-5
    assert fair.beta == fair.graph + fair.recovery
    assert fair.total == fair.noise + fair.beta * fair.tries


def test_masks_of_vectors_cost_their_whole_length() -> None:
    terms = plan(
        n=60, epsilon=2, delta=1e-5, corrupt=6, dimension=3, norm="0.5", objective="masks"
    ).terms
    found = guarantee(terms)
    noise = noise_sum(terms.noise, terms.honest)
    energy = found.energy * terms.squared_sensitivity

    def priced(mask_mu: float) -> float:
        return delta_of_vectors(
            noise,
            terms.squared_sensitivity,
            terms.steps,
            2.0,
            dimension=3,
            mask_mu=mask_mu,
            releases=terms.releases,
        )

    assert found.noise == pytest.approx(priced(math.sqrt(energy) / terms.mask_deviation), rel=1e-3)
    assert found.noise > 2 * priced(0.0)


def test_every_round_and_attempt_shows_a_graph() -> None:
    terms = plan(n=60, epsilon=2, delta=1e-5, corrupt=6, rounds=3, mask="uniform").terms
    shown = terms.parties - terms.survivors + 1
    assert shown > 1
    assert guarantee(terms).tries == terms.tries == 3 * terms.attempts * shown
    assert terms.releases == 3 * (terms.charged + 1)


def test_recovery_of_vectors_costs_what_it_costs_for_single_numbers() -> None:
    """The bound is about graphs alone."""
    many: dict[str, object] = {"threshold_numerator": 4, "threshold_denominator": 5}
    with_it, single = guarantee(changed(LONG, many)), guarantee(changed(SMOOTH, many))
    assert guarantee(LONG).recovery == 0
    graph = ("survivors", "loss", "k", "beacon", "rounds", "attempts")
    same = {name: getattr(SMOOTH, name) for name in graph}
    assert guarantee(changed(LONG, {**many, **same})).recovery == single.recovery > 0
    assert with_it.total >= guarantee(LONG).total + with_it.recovery / 2


@pytest.mark.parametrize("terms", [FAIR, SMOOTH, LONG], ids=["gaussian", "uniform", "vector"])
def test_huge_grids_and_thin_noise_end_quickly(terms: Terms) -> None:
    steps = 2**40
    thin = GaussianTable.with_scale(1, bits=40, rows=9)
    squared = terms.dimension * steps**2
    wild = changed(terms, {"steps": steps, "squared_sensitivity": squared, "noise": thin})
    assert guarantee(wild).total == 1
    assert guarantee(changed(wild, {"rounds": 10_000, "attempts": 1000})).total == 1


def test_sums_too_wide_to_account_for_are_refused() -> None:
    wide = GaussianTable.with_scale(70, bits=62, rows=801)
    assert len(noise_sum(wide, 100).values) > 1000
    with pytest.raises(UsageError):
        noise_sum(wide, 1_000_000)


@given(st.floats(1e-45, 0.99))
def test_short_decimals_are_below(value: float) -> None:
    found = decimal_below(value)
    assert Fraction(value) * Fraction(99, 100) <= Fraction(found) <= Fraction(value)
    assert len(found.as_tuple().digits) <= 3


LARGE = {"parties": 400_000, "survivors": 200_010, "corrupt": 1}


@pytest.mark.parametrize(
    "changes",
    [
        {"mask": "uniform", "mask_deviation": 0, "k": 190_000, "loss": 190_000},
        {"mask": "gaussian", "mask_deviation": 100, "k": 190_000, "loss": 10},
        {"mask": "gaussian", "mask_deviation": 100, "k": 20_000, "loss": 10},
    ],
)
def test_terms_that_take_too_long_guarantee_nothing(changes: dict[str, object]) -> None:
    reasonable = changed(SMOOTH, LARGE | {"k": 40, "loss": 0, "beta": Decimal("1e-9")})
    assert guarantee(reasonable).graph == 1e-9
    assert guarantee(changed(reasonable, changes)).total == 1


@pytest.mark.slow
def test_more_parties_than_noise_is_summed_up_for_are_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gopa.planning.noise.exposure.MOST_VARIANCE", 10_900**2)
    law = irwin_hall(4, 10)
    most = most_summed(law)
    joining = {"parties": 2 * most, "survivors": 200, "loss": 0}
    scale: dict[str, object] = {"noise": law, "steps": 8, "squared_sensitivity": 64}
    terms = changed(SMOOTH, joining | scale)
    few = delta_of_component(terms, terms.honest, 0, 1)
    assert 0 < few < 1
    with pytest.raises(UsageError):
        noise_sum(law, 2 * most)
    assert guarantee(changed(terms, {"survivors": most + 100})) == NOTHING
    assert delta_of_component(terms, 2 * most, 0, 1) == delta_of_component(terms, most, 0, 1) <= few
