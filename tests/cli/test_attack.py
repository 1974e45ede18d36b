"""`gopa attack`: lists, rows, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner, Result

from gopa.adversary import attacks
from gopa.cli.attack import attack
from gopa.rounds.real_proofs import RealProofs
from wire.errors import UsageError

if TYPE_CHECKING:
    import pytest

NAME, FAMILY = "spoiled-proof", "values"


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
