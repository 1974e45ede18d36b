"""`gopa plan` on the command line."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gopa.cli.plan import plan
from gopa.planning import plan as make_plan
from gopa.planning.explanation import draw_plan, model_errors
from wire.errors import BackendError, UsageError

TARGET = ["-n", "200", "--epsilon", "1", "--delta", "1e-5", "--corrupt", "0.1"]


def test_the_table_names_every_choice() -> None:
    done = CliRunner().invoke(plan, TARGET, catch_exceptions=False)
    assert done.exit_code == 0
    for word in ("neighbours k", "noise", "masks", "delta", "error of the mean"):
        assert word in done.output


def test_json_holds_exact_numbers() -> None:
    done = CliRunner().invoke(
        plan, [*TARGET, "--json", "--mask", "uniform"], catch_exceptions=False
    )
    record = json.loads(done.output)
    assert record["terms"]["parties"] == 200
    assert record["terms"]["corrupt"] == 20
    assert record["terms"]["epsilon"] == "1"
    assert record["terms"]["delta"] == "0.00001"
    assert len(bytes.fromhex(record["noise"]["hash"])) == 32
    assert record["delta"]["total"] <= 1e-5


def test_recovery_and_integers_on_the_command_line() -> None:
    extra = ["--recovery", "3/4", "--beacon", "drand", "--integers", "--high", "10", "--json"]
    done = CliRunner().invoke(plan, [*TARGET, *extra], catch_exceptions=False)
    record = json.loads(done.output)
    assert record["terms"]["threshold_numerator"] == 3
    assert record["terms"]["threshold_denominator"] == 4
    assert record["terms"]["beacon"] == "drand"
    assert record["terms"]["steps"] == 10
    assert 0 < record["delta"]["beta_recovery"] < record["delta"]["beta_per_attempt"]
    table = CliRunner().invoke(plan, [*TARGET, "--recovery", "3/4"], catch_exceptions=False)
    assert "3/4" in table.output
    with pytest.raises(UsageError):
        CliRunner().invoke(plan, [*TARGET, "--recovery", "0.1"], catch_exceptions=False)


def test_counts_and_parts() -> None:
    outputs = [
        CliRunner().invoke(plan, [*TARGET[:6], "--corrupt", amount, "--json"]).output
        for amount in ("20", "0.1")
    ]
    assert outputs[0] == outputs[1]
    assert CliRunner().invoke(plan, [*TARGET[:6], "--corrupt", "some"]).exit_code == 2


def test_what_cannot_be_planned_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        CliRunner().invoke(plan, [*TARGET[:6], "--corrupt", "199"], catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"plan.{ending}"
    done = CliRunner().invoke(plan, [*TARGET, "--plot", str(out)], catch_exceptions=False)
    assert done.exit_code == 0
    assert out.stat().st_size > 5_000


@pytest.mark.slow
def test_pictures_need_matplotlib_and_a_known_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_plan(n=200, epsilon=1, delta=1e-5)
    draw_plan(made, tmp_path / "plan.png")
    (tmp_path / "taken.svg").mkdir()
    for wrong in ("plan.pdf", "missing/plan.svg", "taken.svg"):
        with pytest.raises(UsageError):
            draw_plan(made, tmp_path / wrong)
    original: Callable[..., Any] = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BackendError):
        draw_plan(made, tmp_path / "plan.svg")


def test_the_lines_of_the_picture_pass_near_the_plan() -> None:
    made = make_plan(n=2000, epsilon=1, delta=1e-6, mask="uniform", dropout=0)
    local, ours, curator = model_errors(made, 2000, 1.0)
    assert curator < ours < local
    assert ours == pytest.approx(made.errors.planned, rel=0.05)


def test_the_command_prints_the_chance_and_refuses_a_small_one() -> None:
    options = ["-n", "100", "--epsilon", "1", "--delta", "1e-6"]
    good = CliRunner().invoke(plan, [*options, "--json"])
    found = json.loads(good.stdout)
    assert found["liveness"]["session"] > 0.99
    assert found["warnings"] == []
    assert found["terms"]["corrupt"] == 10
    assert found["terms"]["charged"] == 0
    bare = [*options, "--recovery", "none"]
    refused = CliRunner().invoke(plan, bare)
    assert isinstance(refused.exception, UsageError)
    assert refused.exception.field == "least_chance"
    taken = CliRunner().invoke(plan, [*bare, "--least-chance", "0", "--json"])
    assert taken.exit_code == 0
    assert "warning" in taken.stderr
    assert json.loads(taken.stdout)["warnings"]


def test_a_plan_has_lines_where_there_is_no_room_for_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {}
    for columns in (120, 40):
        monkeypatch.setenv("COLUMNS", str(columns))
        result = CliRunner().invoke(plan, ["-n", "100", "--epsilon", "1", "--delta", "1e-6"])
        assert result.exit_code == 0, result.output
        assert max(map(len, result.stdout.splitlines())) <= columns
        said[columns] = result.stdout
    assert said[120].splitlines()[0].split() == ["what", "value", "why"]
    assert "honest parties: " in said[40]
    assert len(said[40].splitlines()) < 3 * len(said[120].splitlines())
