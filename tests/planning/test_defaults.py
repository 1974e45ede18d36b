"""What a plan chooses where nobody says: every default by what comes of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gopa
from gopa.planning import guarantee
from gopa.planning.outcome import LENGTH_UNPROVED
from gopa.planning.target import ATTEMPTS, GOOD_CHANCE, MOST_RETRIES, PlannedMode
from wire.errors import UsageError

TARGET: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def test_a_tenth_is_corrupt_and_at_least_one() -> None:
    assert gopa.plan(n=100, **TARGET).terms.corrupt == 10
    assert gopa.plan(n=5, **TARGET).terms.corrupt == 1
    assert gopa.plan(n=100, corrupt=0, **TARGET).terms.corrupt == 1
    said = {reason.name: reason.value for reason in gopa.plan(n=100, **TARGET).reasons}
    assert said["corrupt parties"] == "at most 10"


@pytest.mark.parametrize("n", [3, 6, 10, 40, 200])
@pytest.mark.parametrize("corrupt", [0.1, 0.4])
def test_single_numbers_in_full_mode_recover_and_pay_for_no_retry(n: int, corrupt: float) -> None:
    made = gopa.plan(n=n, corrupt=corrupt, **TARGET)
    terms = made.terms
    assert terms.threshold is not None
    assert (terms.mask, terms.charged, terms.attempts, terms.releases) == (
        "uniform",
        0,
        ATTEMPTS,
        1,
    )
    assert guarantee(terms).total <= terms.delta
    assert made.liveness.session >= GOOD_CHANCE


def test_it_costs_less_than_a_paid_retry_and_finishes_more_often() -> None:
    made = gopa.plan(n=100, **TARGET)
    old = gopa.plan(n=100, recovery=None, charged=1, mask="gaussian", least_chance=0, **TARGET)
    assert made.errors.planned < old.errors.planned / 1.3
    assert made.liveness.session > 0.99
    assert old.liveness.session < 0.5


@pytest.mark.parametrize(
    "other",
    [
        {"n": 100, "dimension": 100},
        {"dimension": 3, "norm": 1},
        {"mode": "signed"},
        {"mode": "signed", "dimension": 3},
        {"noise": "irwin-hall"},
        {"steps": 200},  # wider noise than a table has
    ],
)
def test_vectors_words_and_wide_noise_recover_too(other: dict[str, Any]) -> None:
    asked = {"n": 20, **TARGET, **other}
    made, bare = gopa.plan(**asked), gopa.plan(**asked, recovery=None, charged=0, least_chance=0)
    assert made.terms.threshold is not None
    assert (made.terms.mask, made.terms.charged, made.terms.releases) == ("uniform", 0, 1)
    assert guarantee(made.terms).total <= made.terms.delta
    assert made.liveness.session >= GOOD_CHANCE > bare.liveness.session
    assert made.errors.planned <= bare.errors.planned


@pytest.mark.parametrize(
    "other",
    [
        {"mode": "signed", "trust": "honest-but-curious"},
        {"mode": "off", "trust": "honest-but-curious", "dimension": 3},
        {"recovery": None},
        {"recovery": None, "dimension": 3},
    ],
)
def test_where_recovery_is_not_to_be_had_there_is_none_and_a_reason(
    other: dict[str, Any],
) -> None:
    made = gopa.plan(n=20, **TARGET, **other)
    assert made.terms.threshold is None
    (reason,) = [each for each in made.reasons if each.name == "recovery"]
    assert reason.value == "none"


@pytest.mark.parametrize("mode", ["signed", "off"])
def test_a_threshold_that_cannot_be_had_is_refused(mode: PlannedMode) -> None:
    assert gopa.plan(n=20, recovery="2/3", mode=mode, **TARGET).terms.threshold == Fraction(2, 3)
    with pytest.raises(UsageError) as refused:
        gopa.plan(n=20, recovery="2/3", mode=mode, trust="honest-but-curious", **TARGET)
    assert refused.value.field == "recovery"


@pytest.mark.parametrize("mode", ["full", "signed"])
def test_a_late_dropout_stops_no_session_of_vectors(mode: PlannedMode) -> None:
    values = [[number / 10, 1 - number / 10] for number in range(10)]
    asked: dict[str, Any] = {"epsilon": 8, "delta": "1e-3", "mode": mode}
    lost = {3: "unmask"}
    result = gopa.average(values, script=lost, **asked)
    assert result.included == tuple(range(10))
    assert result.attempts == 1
    assert not result.transcript.check().faults
    with pytest.raises(gopa.RoundAborted):
        gopa.average(values, script=lost, recovery=None, charged=0, attempts=1, **asked)


@pytest.mark.slow
def test_without_recovery_the_chance_decides_how_many_retries_are_paid_for() -> None:
    chosen = {n: gopa.plan(n=n, recovery=None, least_chance=0, **TARGET) for n in (6, 20, 60, 400)}
    assert [made.terms.charged for made in chosen.values()] == [1, 2, 1, 0]
    assert chosen[6].liveness.session >= GOOD_CHANCE
    for made in chosen.values():
        assert made.terms.charged <= MOST_RETRIES
        assert made.terms.attempts == max(ATTEMPTS, made.terms.charged + 1)
    sure = gopa.plan(n=400, recovery=None, dropout=0, **TARGET)
    assert sure.terms.charged == 0


@pytest.mark.parametrize(("dropout", "largest"), [(0.02, "4/5"), (0.1, "2/3"), (0.2, "1/2")])
def test_thresholds_leave_room_for_failing_neighbours(dropout: float, largest: str) -> None:
    terms = gopa.plan(n=200, dropout=dropout, corrupt=0.1, **TARGET).terms
    assert terms.threshold == Fraction(largest)


def test_masks_of_those_who_are_trusted_stay_as_noise() -> None:
    made = gopa.plan(n=20, mode="off", trust="honest-but-curious", **TARGET)
    assert made.terms.mask == "gaussian"
    with pytest.raises(UsageError) as refused:
        gopa.plan(n=20, trust="honest-but-curious", **TARGET)
    assert refused.value.field == "trust"


@pytest.mark.slow
def test_very_many_parties_take_their_coins_from_a_beacon() -> None:
    assert gopa.plan(n=1000, **TARGET).terms.beacon == "commit-reveal"
    assert gopa.plan(n=20_000, **TARGET).terms.beacon == "drand"
    assert gopa.plan(n=20_000, dropout=0.001, **TARGET).terms.beacon == "commit-reveal"


def test_with_open_admission_and_recovery_every_attempt_is_charged() -> None:
    made = gopa.plan(n=20, open_admission=True, **TARGET)
    assert made.terms.threshold is not None
    assert made.terms.attempts == made.terms.charged + 1 == 1
    with pytest.raises(UsageError) as refused:
        gopa.plan(n=20, open_admission=True, recovery="2/3", attempts=3, **TARGET)
    assert refused.value.field == "attempts"
    assert gopa.plan(n=20, open_admission=True, recovery=None, **TARGET).terms.attempts >= ATTEMPTS


def test_a_planned_length_is_said_to_be_unproved() -> None:
    names = {each.name for each in gopa.plan(n=20, dimension=3, norm=1, **TARGET).reasons}
    assert "length" in names
    assert "length" not in {each.name for each in gopa.plan(n=20, dimension=3, **TARGET).reasons}


def test_results_and_audits_say_what_is_assumed_and_not_proved(tmp_path: Path) -> None:
    values = [[0.1, 0.2], [0.3, 0.1], [0.0, 0.4], [0.2, 0.2]]
    asked: dict[str, Any] = {"epsilon": 8, "delta": "1e-3", "corrupt": 1, "dropout": 0}
    bounded = gopa.average(values, norm=0.5, path="bits", **asked)
    boxed = gopa.average(values, **asked)
    for result, planned in ((bounded, True), (boxed, False)):
        assert result.privacy is not None
        assert (LENGTH_UNPROVED in result.privacy.assumptions) == planned
        assert (LENGTH_UNPROVED in str(result)) == planned
        assert result.privacy.assumptions[0] in str(result)
        name = "bounded" if planned else "boxed"
        log = result.transcript.archive(tmp_path / f"{name}.gopa")
        keys = result.transcript.anchors(tmp_path / f"{name}.keys")
        report = gopa.audit(log, anchors=keys)
        assert any("length" in line for line in report.limits) == planned
