"""`gopa attack privacy`: tables, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from gopa.adversary.privacy import MeasuredView, broken_views
from gopa.adversary.privacy.coalitions import FEWEST, GAUSSIAN, LATE, ROLLBACK, UNIFORM
from gopa.cli import attack_privacy, commands
from gopa.cli.plan import as_record
from tests.planning.samples import plan
from wire.errors import UsageError
from zkp.noise import GaussianTable

if TYPE_CHECKING:
    import numpy as np

QUICK = ("--draws", "4000", "--sessions", "0", "--seed", "5")


def few_views(rng: np.random.Generator) -> list[MeasuredView]:
    """What a default run measures, less of it."""
    kinds = ((UNIFORM, FEWEST), (UNIFORM, LATE), (GAUSSIAN, ROLLBACK))
    found = [coalition.view(house.terms, rng) for house, coalition in kinds]
    return [view for view in found if view is not None]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack_privacy, "default_views", few_views)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["attack", "privacy", *arguments])


@pytest.mark.slow
def test_everything_is_inside_and_everything_broken_is_not() -> None:
    found = run("--broken", "--draws", "5000", "--sessions", "1", "--seed", "5", "--json")
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    assert record["inside"] is True
    assert record["seed"] == 5
    assert all(row["inside"] for row in record["views"])
    assert record["broken"]
    assert not any(row["inside"] for row in record["broken"])
    assert record["sessions"]
    assert all(each["holds"] for each in record["sessions"])
    for row in record["views"]:
        assert row["at_least"]["epsilon"] <= row["claim"]["epsilon"]
        assert row["draws"] == 4_000


@pytest.mark.usefixtures("few")
def test_the_table_has_a_line_for_each_view() -> None:
    found = run(*QUICK)
    assert found.exit_code == 0, found.output
    assert found.output.count("inside the claim") == 3
    assert "OUTSIDE" not in found.output


@pytest.mark.usefixtures("few")
def test_equal_seeds_print_the_same() -> None:
    assert run(*QUICK).output == run(*QUICK).output


def plan_file(path: Path, *, lie: bool) -> Path:
    record = json.loads(
        json.dumps(as_record(plan(n=6, corrupt=2, dropout=0, epsilon=1, delta="0.05", charged=0)))
    )
    if lie:
        law = GaussianTable.with_scale("1", bits=24, rows=9)
        record["noise"] |= {"encoding": law.to_bytes().hex(), "hash": law.table_hash().hex()}
    path.write_text(json.dumps(record))
    return path


def test_a_plan_of_ones_own_is_measured(tmp_path: Path) -> None:
    found = run("--plan", str(plan_file(tmp_path / "plan.json", lie=False)), *QUICK)
    assert found.exit_code == 0, found.output
    assert "n=6, c=2" in found.output


def test_a_plan_that_claims_too_much_is_outside(tmp_path: Path) -> None:
    found = run("--plan", str(plan_file(tmp_path / "plan.json", lie=True)), *QUICK)
    assert found.exit_code == 1
    assert "OUTSIDE" in found.output


@pytest.mark.usefixtures("few")
def test_a_leak_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*QUICK).exit_code == 0
    monkeypatch.setattr(attack_privacy, "default_views", broken_views)
    assert run(*QUICK, "--json").exit_code == 1


@pytest.mark.usefixtures("few")
def test_a_broken_plan_that_is_not_found_out_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack_privacy, "broken_views", few_views)
    found = run(*QUICK, "--broken", "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["inside"] is False


@pytest.mark.parametrize(
    "arguments",
    [("--draws", "10"), ("--confidence", "1"), ("--confidence", "x"), ("--unknown",), ("more",)],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_a_missing_plan_is_named(tmp_path: Path) -> None:
    found = run("--plan", str(tmp_path / "none.json"), *QUICK)
    assert isinstance(found.exception, UsageError)
    assert found.exception.field == "plan"


def test_help_is_that_of_the_audit() -> None:
    assert "--confidence" in run("--help").output
    assert "--confidence" not in CliRunner().invoke(commands, ["attack", "--help"]).output
