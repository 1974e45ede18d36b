"""Which plans sums get: lengths are proved in mode full, unless nobody keeps to a length."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context

import gopa
from examples import federated_processes
from examples.federated import figures
from gopa.learning import Privacy, federated
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


PAGE = (Path(__file__).resolve().parents[3] / "docs/learning/federated.md").read_text()


@pytest.mark.slow
def test_its_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(programs) == 5
    assert all(len([line for line in each.splitlines() if line.strip()]) <= 10 for each in programs)
    with config_context():  # a program sets it
        exec("\n".join(programs), {})  # noqa: S102 - our own page
    first, second, noise, *said = capsys.readouterr().out.splitlines()
    assert float(first) > 0.94
    assert 0.87 <= round(float(second), 2) <= 0.96
    assert 0.29 <= round(float(noise), 2) <= 0.92
    assert said[-3] == "()"
    assert "rate" in said[-2]
    assert [round(float(each), 3) for each in said[-1].split()] == [4, 8]


def test_every_name_in_its_table_is_there() -> None:
    table = PAGE.partition("## What there is")[2].partition("\n\nFunctions")[0]
    names = re.findall(r"`([A-Za-z_]+)`", table)
    assert len(names) == 14
    assert set(names) <= set(federated.__all__)


def test_the_figures_are_named() -> None:
    assert figures.names == ("cancer", "houses")
    assert f"python -m examples.federated {figures.names[0]}" in PAGE


@pytest.mark.soak
def test_every_round_of_a_federation_is_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    federated_processes.main(tmp_path)  # exits unless both audits say VALID, and all models agree
    said = capsys.readouterr().out
    assert said.count("VALID") == 2
    rounds = re.findall(r"Round \d: 6 parties included, 0 excluded", said)
    assert len(rounds) == 1 + federated_processes.ROUNDS
    means = np.fromstring(said.partition("means [")[2].partition("]")[0], sep=" ")
    patients = np.concatenate(
        [federated_processes.rows(each)[0] for each in range(federated_processes.CLINICS)]
    )
    assert np.abs(means - patients[:, :-1].mean(axis=0)).max() < 0.15
    assert float(said.partition("accuracy ")[2].split()[0]) > 0.6
