"""Sums without noise: the numbers are exact, and everything that shows them says what they are."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner

import gopa
from gopa import UsageError
from gopa.adversary.privacy.coalitions import terms_from
from gopa.aggregation.engine import Mode
from gopa.aggregation.result import report_lines
from gopa.auditing import Verdict, audit
from gopa.auditing.described import warning_of
from gopa.auditing.html.page import to_html
from gopa.cli import commands
from gopa.cli.plan import as_record
from gopa.planning import Terms, guarantee
from gopa.planning.explanation import draw_plan
from gopa.planning.result import Worth, delta_of_component, judge
from gopa.planning.target import EXACT_DELTA
from gopa.support.wording import (
    EXACT,
    EXACT_DIFFERENCE,
    EXACT_MODES,
    EXACT_SUMMARIES,
    hidden_among,
    sentence,
)
from zkp.noise import NoNoise

MODES = get_args(Mode)
WIDE = (-(10**6), 10**6)


def drawn(count: int, dimension: int = 1) -> list[list[int]]:
    """Integers of up to seven digits."""
    source = np.random.default_rng(18)
    rows: list[list[int]] = source.integers(*WIDE, (count, dimension), endpoint=True).tolist()
    return rows


def made(dimension: int = 1, **asked: Any) -> gopa.Plan:
    """A plan for eight parties of whom two may leave."""
    target = {"n": 8, "epsilon": None, "corrupt": 1, "dimension": dimension, **asked}
    return gopa.plan(**target)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dimension", [1, 3])
def test_the_sum_is_that_of_the_integers_to_the_last_bit(mode: Mode, dimension: int) -> None:
    values = drawn(8, dimension)
    plan = made(dimension, range=WIDE, integers=True, mode=mode)
    given = [row if dimension > 1 else row[0] for row in values]
    result = gopa.sum(given, plan, integers=True, mode=mode, seed=1)
    assert np.ravel(result.value).tolist() == np.sum(values, axis=0).tolist()
    assert not np.any(result.error)
    assert not np.any(result.stderr)


@pytest.mark.parametrize("mode", MODES)
def test_whoever_leaves_is_not_in_the_sum(mode: Mode) -> None:
    values = [row[0] for row in drawn(8)]
    plan = made(range=WIDE, integers=True, mode=mode)
    script = {2: "join"} if mode == "off" else {2: "publish", 5: "unmask"}
    result = gopa.sum(values, plan, integers=True, mode=mode, script=script, seed=1)
    left = sum(values) - values[2]
    assert result.included == (0, 1, 3, 4, 5, 6, 7)
    assert float(result) == left


def test_numbers_are_rounded_and_nothing_else() -> None:
    values = [number / 7 for number in range(8)]
    result = gopa.average(values, epsilon=None, corrupt=1, range=(0, 1), seed=1)
    steps = made().terms.steps
    assert 0 < result.stderr <= 1 / steps
    assert abs(float(result) - sum(values) / 8) <= 1 / steps
    longer = gopa.average([np.array([each, each]) for each in values], made(2), seed=1)
    assert np.abs(longer.mean - sum(values) / 8).max() <= 1 / made(2).terms.steps


def test_other_statistics_are_exact_too() -> None:
    counts = gopa.histogram([1, 1, 2, 3] * 2, range=(0, 4), bins=4, epsilon=None, corrupt=1, seed=1)
    assert counts.value.tolist() == [0, 4, 2, 2]
    weighted = gopa.average(
        [0.0, 1.0] * 4, weights=[1, 3] * 4, max_weight=4, epsilon=None, corrupt=1, seed=1
    )
    assert abs(float(weighted) - 0.75) < 1e-3
    assert weighted.exact


def test_a_result_says_what_it_is() -> None:
    result = gopa.sum([1, 0, 1, 1], made(n=4, integers=True), integers=True, seed=1)
    assert result.exact
    assert result.privacy is None
    assert result.epsilon == math.inf
    for shown in (str(result), repr(result), result._repr_html_()):
        assert EXACT in shown
    assert EXACT_DIFFERENCE in str(result)
    lines = dict(report_lines(result))
    assert (lines["privacy"], lines["mode"]) == ("none", f"{EXACT_MODES['full']}, simulation")
    assert json.loads(result.to_json())["exact"] is True
    noisy = gopa.sum([1, 0, 1, 1], integers=True, epsilon=8, delta=1e-3, corrupt=1, seed=1)
    assert noisy.epsilon == 8
    assert not noisy.exact
    assert EXACT not in str(noisy) + repr(noisy) + noisy._repr_html_()


def test_an_audit_is_valid_and_says_it_first(tmp_path: Path) -> None:
    result = gopa.sum([1, 0, 1, 1], made(n=4, integers=True), integers=True, seed=1)
    log = result.transcript.archive(tmp_path / "exact.gopa")
    report = audit(log, anchors=result.transcript.anchors(tmp_path / "anchors.txt"))
    assert report.verdict is Verdict.VALID
    assert report.summary.startswith(sentence(EXACT))
    assert EXACT_SUMMARIES["VALID"] in report.summary
    details = {each.check.number: each.detail for each in report.checks}
    assert "nothing is claimed" in details["7.3"]
    assert report.session is not None
    assert warning_of(report.session, ["100"]) == ""  # rounding may be coarse; it is no noise
    assert any(EXACT_DIFFERENCE in line for line in report.limits)
    said = json.loads(report.to_json())
    assert said["session"]["epsilon"] == "none"
    assert [each["privacy"] for each in said["rounds"]] == [None]
    page = to_html(json.loads(report.to_json()))
    first = page[page.index("<body") :]
    shown = first[first.index(">", first.index("<header")) :]
    assert shown.index(sentence(EXACT)) < shown.index("Audit report")
    assert f'<p class="bad">{sentence(EXACT)}' in page
    assert EXACT_MODES["full"] in page
    assert f"{EXACT}</" in page.split("privacy promised")[1][:200]
    assert "the noise was drawn from the stated law" not in page
    screen = CliRunner().invoke(commands, ["audit", str(log)]).stdout
    assert f"Exact     {EXACT}; {EXACT_DIFFERENCE}" in screen
    assert f"none: {EXACT}" in " ".join(screen.split())


def test_a_page_calls_rounding_no_noise(tmp_path: Path) -> None:
    result = gopa.average([0.1, 0.2, 0.3, 0.4], made(n=4, steps=10), seed=1)
    page = to_html(json.loads(audit(result.transcript.archive(tmp_path / "a.gopa")).to_json()))
    assert "Nobody added noise. Rounding to the grid" in page
    assert "The noise that protects" not in page


def test_what_is_not_proved_without_noise_is_inputs_alone(tmp_path: Path) -> None:
    plan = made(n=4, integers=True, mode="signed")
    result = gopa.sum([1, 0, 1, 1], plan, integers=True, mode="signed", seed=1)
    report = audit(result.transcript.archive(tmp_path / "signed.gopa"))
    assert "Inputs are NOT proved." in report.limits


def test_nobody_gets_there_by_leaving_something_out() -> None:
    values = [0.5] * 8
    gopa.average(values, epsilon=None, mode="off")
    for options in ({}, {"delta": 1e-6}, {"corrupt": 1}, {"epsilon": 8}):
        with pytest.raises(UsageError) as refused:
            gopa.average(values, mode="off", **options)
        assert refused.value.field in {"plan", "delta"}
    with pytest.raises(UsageError) as refused:
        gopa.plan(n=8, epsilon=float("inf"), delta=1e-6)
    assert refused.value.field == "epsilon"
    assert gopa.plan(n=8, epsilon=100, delta=1e-3, corrupt=1).terms.epsilon == 100


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "noise": {"noise": "irwin-hall"},
    "mask": {"mask": "gaussian"},
    "charged": {"charged": 1},
    "trust": {"trust": "honest-but-curious", "mode": "signed"},
    "attempts": {"open_admission": True, "attempts": 2, "recovery": None},
    "delta": {"delta": 0},
    "epsilon": {"epsilon": float("inf"), "delta": 1e-6},
}


@pytest.mark.parametrize(("field", "options"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_options_that_an_exact_sum_has_no_room_for(field: str, options: dict[str, Any]) -> None:
    made()
    with pytest.raises(UsageError) as refused:
        made(**options)
    assert refused.value.field == field


PLANS: dict[str, dict[str, Any]] = {
    "few": {},
    "without recovery": {"recovery": None, "n": 40},
    "many": {"n": 5000, "dimension": 100},
    "strangers": {"n": 40, "open_admission": True},
    "strangers without recovery": {"n": 40, "open_admission": True, "recovery": None},
    "many leave": {"n": 40, "recovery": None, "dropout": 0.45},
    "half corrupt": {"n": 30, "corrupt": 12, "dropout": 0.01},
    "another delta": {"n": 300, "delta": "1e-15"},
}


@pytest.mark.parametrize("asked", PLANS.values(), ids=PLANS)
def test_plans_keep_what_they_say(asked: dict[str, Any]) -> None:
    plan = made(**{"least_chance": 0, **asked})
    terms: Terms = plan.terms
    assert terms.exact
    assert terms.releases_one_sum
    assert not asked.get("open_admission") or terms.attempts == 1
    assert terms.composed == 1
    assert isinstance(terms.noise, NoNoise)
    assert judge(terms) is Worth.KEPT
    assert guarantee(terms).noise == 0
    assert plan.total_delta <= float(terms.delta)
    assert 2 * terms.survivors > terms.parties + terms.corrupt
    assert EXACT in plan.explain().replace("\n", " ").replace("  ", " ") or EXACT in repr(plan)
    assert not plan.warnings or plan.liveness.session < 0.9


def test_who_forgets_delta_is_told() -> None:
    """The default of an exact sum is none of a session with noise."""
    with pytest.raises(UsageError) as refused:
        gopa.plan(n=8, epsilon=8)
    assert refused.value.field == "delta"
    assert made().terms.delta == EXACT_DELTA


def test_nothing_is_made_of_an_epsilon_that_is_not_there(tmp_path: Path) -> None:
    plan = made()
    with pytest.raises(UsageError) as refused:
        _ = plan.terms.promised_epsilon
    assert refused.value.field == "epsilon"
    with pytest.raises(UsageError) as refused:
        draw_plan(plan, tmp_path / "plan.svg")
    assert refused.value.field == "plot"
    assert delta_of_component(plan.terms, plan.terms.honest, 0, 1) == 1
    record = as_record(plan)
    with pytest.raises(UsageError) as refused:
        terms_from(record)
    assert refused.value.field == "epsilon"
    assert "exact sum" in refused.value.message


def test_without_noise_coalitions_must_not_open_masks_either() -> None:
    """A tenth of the neighbours collude: they may not be as many as recovery takes."""
    terms = made(n=300, corrupt=0.1).terms
    assert terms.threshold is not None
    assert judge(terms) is Worth.KEPT
    weak = replace(terms, threshold_numerator=1, threshold_denominator=12)
    assert judge(weak) is Worth.BROKEN
    assert judge(replace(terms, threshold_numerator=0, threshold_denominator=1)) is Worth.KEPT


def test_of_two_each_knows_the_value_of_the_other(tmp_path: Path) -> None:
    """So few are no crowd: the plan warns, and whoever is asked or audits is told how many."""
    asked: dict[str, Any] = {"n": 10, "epsilon": None, "dropout": 0.0}
    for corrupt, honest in ((8, 2), (6, 4)):
        plan = gopa.plan(corrupt=corrupt, **asked)
        words = hidden_among(honest)
        assert plan.terms.honest == honest
        assert plan.warnings == ((words,) if honest == 2 else ())
        assert " ".join(plan.explain().split()).count(words) == (2 if honest == 2 else 1)
    noisy = gopa.plan(n=10, corrupt=8, dropout=0.0, epsilon=100, delta=0.9)
    assert noisy.terms.honest == 2
    assert hidden_among(2) not in noisy.warnings
    result = gopa.sum([1, 0, 1, 1], made(n=4, integers=True), integers=True, seed=1)
    log = result.transcript.archive(tmp_path / "exact.gopa")
    assert f"{sentence(hidden_among(2))}." in audit(log).limits


def test_what_was_vetoed_is_not_to_be_given_again() -> None:
    """Two parties vanish at the end where nobody can recover them: the sum may be known."""
    plan = made(recovery=None, integers=True, least_chance=0)
    with pytest.raises(gopa.RoundAborted) as aborted:
        gopa.sum([1] * 8, plan, integers=True, mode="signed", script={3: "unmask"}, seed=1)
    assert aborted.value.released == "masked"
    assert aborted.value.attempts == 1
    assert EXACT_DIFFERENCE in str(aborted.value)


def test_an_audit_names_who_is_in_one_of_two_sums_only(tmp_path: Path) -> None:
    """The attack itself: two rounds of the same values, and one party less in the second."""
    plan = made(range=WIDE, integers=True, rounds=2)
    values = [row[0] for row in drawn(8)]
    with gopa.LocalAggregator(plan, seed=1) as aggregator:
        results = [aggregator.average(given) for given in (values, [*values[:7], None])]
        log = results[1].transcript.archive(tmp_path / "two.gopa")
        anchors = results[1].transcript.anchors(tmp_path / "two.anchors")
    report = audit(log, anchors=anchors)
    assert report.verdict is Verdict.VALID
    first, second = (frozenset(each.included) for each in report.rounds)
    (gone,) = first - second
    named = [line for line in report.limits if gone.hex()[:16] in line]
    assert len(named) == 1
    assert round(results[0].sum - results[1].sum) == values[7]
