"""`gopa simulate` from the shell: results, logs that audit, and errors a newcomer understands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import gopa
from gopa.cli import commands
from gopa.cli.simulate_output import random_inputs, silence
from gopa.planning import plan
from wire.errors import UsageError

TARGET = ("--epsilon", "100", "--delta", "0.01")
SMALL = ("-n", "10", *TARGET, "--seed", "1")
SIGNED = (*SMALL, "--mode", "signed")


def simulate(*arguments: object) -> Result:
    return CliRunner().invoke(commands, ["simulate", *map(str, arguments)])


def facts(*arguments: object) -> dict[str, Any]:
    result = simulate(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["simulation"] is True
    return dict(found)


def refused(*arguments: object) -> UsageError:
    result = simulate(*arguments)
    assert isinstance(result.exception, UsageError), result.output
    return result.exception


def test_a_newcomer_sees_the_result_the_truth_and_that_it_is_a_simulation() -> None:
    result = simulate(*SMALL)
    assert result.exit_code == 0, result.output
    names = [line.split("  ")[0] for line in result.stdout.splitlines()]
    for name in ("simulation", "mean", "true mean", "parties", "privacy", "time", "posted"):
        assert name in names, result.stdout
    assert result.stdout.startswith("simulation")
    alone = simulate(*SMALL, "--mode", "off").stdout
    assert alone.startswith("simulation")
    assert "posted" not in {line.split()[0] for line in alone.splitlines() if line}


@pytest.mark.slow
def test_the_archive_is_what_the_audit_says_it_is(tmp_path: Path) -> None:
    archive, anchors = tmp_path / "a.gopa", tmp_path / "a.anchors"
    found = facts(*SMALL, "--archive", archive)
    report = gopa.audit(archive, anchors=anchors)
    assert (found["archive"], found["anchors"]) == (str(archive), str(anchors))
    assert report.verdict.value == "VALID"
    (round_found,) = found["rounds"]
    assert round_found["included"] == found["parties"] == 10
    error = abs(round_found["mean"][0] - round_found["true_mean"][0])
    assert round_found["largest_error"] == pytest.approx(error)
    assert error < 6 * round_found["standard_error"][0]
    assert round_found["privacy"]["claims"]
    assert 1_000 < found["bytes_posted_per_party"] < 20_000
    board = tmp_path / "board"
    text = " ".join(simulate(*SIGNED, "--out", board).stdout.split())
    assert f"gopa audit {board} --anchors {tmp_path / 'board.anchors'}" in text


def test_a_board_is_kept_and_is_the_same_log_as_the_archive(tmp_path: Path) -> None:
    board, archive = tmp_path / "board", tmp_path / "a.gopa"
    facts(*SIGNED, "--out", board, "--archive", archive)
    reports = [gopa.audit(each, anchors=tmp_path / "a.anchors") for each in (board, archive)]
    assert [each.verdict.value for each in reports] == ["SIGNED-ONLY", "SIGNED-ONLY"]
    refused(*SIGNED, "--out", board)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.soak), 3])
def test_a_seed_decides_everything_whatever_the_threads(tmp_path: Path, jobs: int) -> None:
    first, second, other = (tmp_path / f"{name}.gopa" for name in ("first", "second", "other"))
    options = ("-n", "10", *TARGET, "--seed", "1", "--dropouts", "0.1", "--dropout", "0.2")
    mine = facts(*options, "--archive", first)
    same = facts(*options, "--archive", second, "--jobs", jobs)
    assert first.read_bytes() == second.read_bytes()
    assert mine["rounds"] == same["rounds"]
    facts(*options, "--archive", other, "--seed", "2")
    assert first.read_bytes() != other.read_bytes()


@pytest.mark.slow
def test_rounds_share_a_session_and_the_inputs(tmp_path: Path) -> None:
    archive = tmp_path / "a.gopa"
    found = facts(*SIGNED, "--rounds", "3", "--archive", archive)
    truths = [each["true_mean"] for each in found["rounds"]]
    assert len(truths) == 3
    assert truths[0] == truths[1] == truths[2]
    assert len({tuple(each["mean"]) for each in found["rounds"]}) > 1
    text = simulate(*SIGNED, "--rounds", "3").stdout
    assert [text.count(f"round {number}") for number in (1, 2, 3, 4)] == [1, 1, 1, 0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "1 2\n3, 4 5\n6 7 8 9 10\n"),
        ("a.json", json.dumps([[number] for number in range(1, 11)])),
    ],
)
def test_values_come_from_files(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = facts(*TARGET, "--mode", "off", "--values", path, "--high", "10")
    assert found["parties"] == 10
    assert found["rounds"][0]["true_mean"] == [5.5]
    facts(*TARGET, "-n", "10", "--mode", "off", "--values", path, "--high", "10")
    assert refused(*TARGET, "-n", "9", "--values", path, "--high", "10").field == "--parties"
    assert refused(*TARGET, "--dimension", "3", "--values", path).field == "--values"


def test_vectors_come_from_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    rows = np.arange(20).reshape(10, 2) / 20
    np.save(path, rows)
    found = facts(*TARGET, "--mode", "off", "--values", path, "--dimension", "2")
    assert found["rounds"][0]["true_mean"] == pytest.approx(rows.mean(axis=0).tolist())
    assert refused(*TARGET, "--values", path).field == "--values"


@pytest.mark.parametrize("text", ["1 nan", "1 inf", "[[1, 2], [3]]", '{"a": 1}', "[]"])
def test_files_that_hold_something_else_are_refused(tmp_path: Path, text: str) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / ("a.txt" if text[0] == "1" else "a.json")
    good.write_text("0 1 0 1 0 1 0 1 0 1")
    bad.write_text(text)
    assert facts(*TARGET, "--mode", "off", "--values", good)["parties"] == 10
    assert refused(*TARGET, "--mode", "off", "--values", bad).field == "--values"


def test_values_out_of_range_are_refused_or_clipped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("2 1 0 1 0 1 0 1 0 1")
    options = (*TARGET, "--mode", "off", "--values", path)
    assert facts(*options, "--high", "2")["rounds"][0]["clipped"] == 0
    assert simulate(*options).exit_code != 0
    assert facts(*options, "--clip")["rounds"][0]["clipped"] == 1


@pytest.mark.slow
def test_dropouts_are_left_out_and_said_so() -> None:
    many = ("-n", "30", *TARGET, "--seed", "1", "--mode", "signed", "--dropout", "0.3")
    options = ("--least-chance", "0", "--recovery", "none", *many)
    assert simulate(*options, "--least-chance", "0.5").exit_code != 0, "a result is unlikely"
    (whole,) = facts(*options)["rounds"]
    assert whole["excluded"] == []
    (found,) = facts(*options, "--dropouts", "0.1")["rounds"]
    assert found["included"] + len(found["excluded"]) == 30
    assert found["excluded"]
    assert {"party", "phase", "cause"} == found["excluded"][0].keys()
    text = simulate(*options, "--dropouts", "0.1").stdout
    assert f"{found['included']} of 30" in text


def test_a_session_without_a_result_ends_with_1_and_says_why() -> None:
    assert simulate(*SIGNED).exit_code == 0
    result = simulate(*SIGNED, "--dropouts", "1")
    assert result.exit_code == 1
    assert "simulation" in result.stderr
    assert "--dropout" in result.stderr
    assert result.stdout == ""


def test_wrong_usage_is_refused_before_anything_runs(tmp_path: Path) -> None:
    archive = tmp_path / "a.gopa"
    assert facts(*SIGNED, "--archive", archive)["archive"] == str(archive)
    refused(*SIGNED, "--archive", archive)
    refused(*SIGNED, "--archive", tmp_path / "nowhere" / "a.gopa")
    assert refused(*SMALL, "--mode", "off", "--out", tmp_path / "b").field == "--mode"
    assert refused(*TARGET).field == "--parties"
    assert refused(*SMALL, "--trust", "honest-but-curious").field == "trust"
    for wrong in (("--dropouts", "1.5"), ("--jobs", "0"), ("--mode", "quick"), ("--seed", "-1")):
        assert simulate(*SIGNED, *wrong).exit_code == 2


def test_signed_mode_takes_the_masks_that_go_with_its_trust() -> None:
    curious = ("--trust", "honest-but-curious")
    assert facts(*SIGNED)["trust"] == "malicious"
    assert facts(*SIGNED, *curious)["trust"] == "honest-but-curious"
    assert refused(*SIGNED, "--mask", "gaussian").field == "mask"
    assert refused(*SIGNED, *curious, "--mask", "uniform").field == "mask"


def test_help_shows_an_example_and_all_options_of_a_plan() -> None:
    text = simulate("--help").stdout
    assert "gopa simulate --parties 100" in text
    options = {word for word in text.split() if word.startswith("--")}
    assert {"--epsilon", "--rounds", "--recovery", "--ray", "--dropouts", "--archive"} <= options
    assert "--beacon" not in options


def test_random_inputs_keep_to_the_plan() -> None:
    terms = plan(n=10, epsilon=100, delta=0.01, range=(-3, 3), integers=True).terms
    whole = random_inputs(terms, None, 1, integers=True)
    assert set(np.unique(whole)) <= set(range(-3, 4))
    assert len(np.unique(whole)) > 2
    terms = plan(
        n=10, epsilon=100, delta=0.01, range=(-1, 1), dimension=4, norm=1, noise="irwin-hall"
    ).terms
    short = random_inputs(terms, "1", 1, integers=False)
    assert float(np.linalg.norm(short, axis=1).max()) < 1
    assert (short == random_inputs(terms, "1", 1, integers=False)).all()


def test_other_parties_fall_silent_in_every_round() -> None:
    terms = plan(n=50, epsilon=100, delta=0.01).terms
    script, fresh = (silence(0.2, terms, seed, in_phases=True) for seed in (1, None))
    assert script is not None
    assert fresh is not None
    assert [len(script(number)) for number in (1, 2)] == [10, 10]
    assert script(1) == script(1)
    assert script(1) != script(2)
    assert fresh(1) == fresh(1)
    assert silence(0.0, terms, 1, in_phases=True) is None


def test_late_silence_is_for_plans_with_recovery() -> None:
    plain, recovering = (
        plan(n=50, epsilon=100, delta=0.01, mask="uniform", recovery=recovery).terms
        for recovery in (None, "2/3")
    )
    late = [silence(1.0, terms, 1, in_phases=True) for terms in (plain, recovering)]
    phases = [set(script(1).values()) for script in late if script is not None]
    assert phases[1] - phases[0] == {"unmask"}
    assert phases[0] == {"join", "coins", "commit", "publish"}
    early = silence(1.0, recovering, 1, in_phases=False)
    assert early is not None
    assert set(early(1).values()) == {"join"}
