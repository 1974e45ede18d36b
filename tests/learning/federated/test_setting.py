"""Which plans sums get: lengths are proved in mode full, unless nobody keeps to a length."""

from __future__ import annotations

from decimal import Decimal

import pytest

import gopa
from gopa.learning import Privacy
from gopa.learning.federated.setting import Mode, Setting
from gopa.learning.federated.sums import SumSession
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.privacy import Charge
from tests.learning.federated.problems import NEAR


def planned(epsilon: float | None, mode: Mode = "full", *, vouched: bool = False) -> gopa.Plan:
    privacy = None if epsilon is None else Privacy(epsilon, 1e-5)
    return Setting(privacy, 1, 9, mode, NEAR).plan(10, 32, 1.01, 2, vouched=vouched)


def test_lengths_are_proved_unless_the_algorithm_answers_for_them() -> None:
    assert planned(None).path == "rows"
    assert planned(None, vouched=True).path == "bits"
    assert planned(None, "signed").path == planned(None, "off").path == "bits"


def test_a_plan_is_made_once() -> None:
    assert planned(None) is planned(None)
    assert planned(None) is not planned(None, vouched=True)


@pytest.mark.slow
def test_where_rows_have_no_plan_bits_are_proved() -> None:
    """As for steps of which none is zero: that is a mistake for rows, and none here."""
    odd = {**NEAR, "steps": 101}
    with pytest.raises(gopa.UsageError):
        gopa.plan(n=10, epsilon=4, delta=1e-5, dimension=32, range=(-1, 1), path="rows", steps=101)
    privacy = Privacy(4.0, 1e-5)
    assert Setting(privacy, 1, 9, "full", odd).plan(10, 32, 1.01, 2).path == "bits"


@pytest.mark.slow
def test_an_epsilon_beyond_rows_is_kept_by_a_smaller_one() -> None:
    found = planned(40.0)
    assert (found.path, found.wished) == ("rows", Decimal(40))
    assert found.terms.epsilon is not None
    assert 20 < found.terms.epsilon < 40


@pytest.mark.slow
def test_a_smaller_epsilon_is_all_that_is_charged() -> None:
    own = PrivacyLedger(Privacy(40.0, 1e-5))
    setting = Setting(Privacy(40.0, 1e-5), 1, 9, "full", NEAR, ledger=own)
    with SumSession("sums", setting, users=10, width=32, half=1.01, rounds=2) as session:
        kept = float(session.terms.epsilon or 0)
        assert 20 < kept < 40
        assert session.spent().epsilon == own.spent().epsilon == kept
        assert own.entries[0].charge == Charge.guarantee(kept, 1e-5)


@pytest.mark.slow
def test_a_plan_that_proves_lengths_costs_no_error() -> None:
    found, unproved = planned(2.0), planned(2.0, "signed")
    assert (found.path, unproved.path) == ("rows", "bits")
    assert found.errors.planned < unproved.errors.planned
    assert found.terms.bounds_length
