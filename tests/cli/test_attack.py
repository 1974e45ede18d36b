"""`gopa attack`: lists, rows, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from gopa.adversary import attacks
from gopa.adversary.served import Unserved, unserved
from gopa.cli.attack import attack
from gopa.rounds.real_proofs import RealProofs
from wire.errors import UsageError

if TYPE_CHECKING:
    from gopa.adversary.attack import Attack, AttackResult

NAME, FAMILY = "spoiled-proof", "coins"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(attack, list(arguments))


def test_the_list_has_every_attack_with_what_it_tries() -> None:
    shown = run("--list").output
    assert len(attacks()) >= 40
    for each in attacks().values():
        assert each.name in shown
        assert each.story.tries.split()[0] in shown
    found = [json.loads(line) for line in run("--list", "--json").output.splitlines()]
    assert [each["name"] for each in found] == list(attacks())
    assert all(each["tries"] and each["caught"] and each["costs"] for each in found)


def test_a_single_attack_tells_its_story() -> None:
    done = run(NAME)
    assert done.exit_code == 0
    story = attacks()[NAME].story
    assert story.tries in " ".join(done.output.split())
    assert "check 6.2 [04-K3]" in done.output
    assert "party 1 convicted" in done.output


def test_rows_are_the_same_with_more_processes() -> None:
    one, two = (run(FAMILY, "--json", "--jobs", jobs) for jobs in ("1", "2"))
    assert one.exit_code == two.exit_code == 0
    assert one.output == two.output
    rows = [json.loads(line) for line in one.output.splitlines()]
    assert [row["attack"] for row in rows] == [
        each.name for each in attacks().values() if each.family == FAMILY
    ]
    assert all(row["held"] and not row["succeeded"] for row in rows)


def test_an_attack_that_gets_through_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(NAME).exit_code == 0
    monkeypatch.setattr(RealProofs, "bad_noises", lambda *_, **__: frozenset())
    done = run(NAME)
    assert done.exit_code == 1
    assert "the attack succeeded" in done.output
    assert "04-K3 should have caught it" in done.output
    assert "NOT caught" in done.output


def test_wrong_usage_says_what_to_do(tmp_path: Path) -> None:
    assert run(NAME).exit_code == 0
    for arguments, hint in (
        ((), "--list"),
        (("spoilt-proof",), NAME),
        (("all", "--load", str(tmp_path / "nowhere.py")), "nowhere.py"),
    ):
        done = run(*arguments)
        assert isinstance(done.exception, UsageError)
        assert hint in str(done.exception)


def test_served_attacks_are_listed_by_themselves() -> None:
    every = [json.loads(line)["name"] for line in run("--list", "--json").output.splitlines()]
    shown = run("--list", "--served", "--json").output.splitlines()
    found = [json.loads(line)["name"] for line in shown]
    assert found == [name for name in every if unserved(attacks()[name]) is None]
    assert {"fork", "zero-noise"} <= set(found)
    assert not {"lying-result", "truncate-log"} & set(found)


@pytest.mark.slow
def test_served_attacks_run_over_http_and_others_are_told_apart() -> None:
    done = run("coins", "--served", "--json")
    assert done.exit_code == 0
    row, *others = [json.loads(line) for line in done.output.splitlines()]
    assert (row["attack"], row["held"], row["result"]) == ("wrong-nonce", True, "right")
    assert [(each["attack"], each["unserved"]) for each in others] == [
        ("exchanged-nonce", "organiser"),
        ("late-witnesses", "organiser"),
    ]


@pytest.mark.slow
def test_the_summary_says_how_many_cannot_be_served(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def recorded(each: Attack) -> AttackResult:
        ran.append(each.name)
        return each.run()

    monkeypatch.setattr("gopa.adversary.library.run_served", recorded)
    done = run("coins", "--served")
    assert done.exit_code == 0
    assert ran == ["wrong-nonce"]
    assert done.output.splitlines()[-1].startswith("2 not tried over HTTP, each because ")
    assert "not tried" not in run("coins").output
    assert ran == ["wrong-nonce"]


def test_a_name_that_cannot_be_served_is_wrong_usage() -> None:
    done = run("lying-result", "--served")
    assert isinstance(done.exception, UsageError)
    assert Unserved.ORGANISER.value in str(done.exception)


@pytest.mark.parametrize(
    "text", ["def x(:\n", "import gopa.nowhere\n", "1 / 0\n", "x\0"], ids=range(4)
)
def test_a_file_that_cannot_be_run_is_a_usage_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("")
    assert run("--list", "--load", str(path)).exit_code == 0
    wrong = tmp_path / "wrong.py"
    wrong.write_text(text)
    done = run("--list", "--load", str(wrong))
    assert isinstance(done.exception, UsageError)
    assert "wrong.py" in str(done.exception)


def test_a_usage_error_of_a_file_is_passed_on(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("from wire.errors import UsageError\nraise UsageError('no such plan', 'plan')\n")
    done = run("--list", "--load", str(own))
    assert isinstance(done.exception, UsageError)
    assert done.exception.field == "plan"
