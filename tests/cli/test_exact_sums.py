"""Sums without noise from the shell: asked for by a word, accepted by an option."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gopa.adversary.setup import EXACT, SMALL
from gopa.cli import commands
from gopa.cli.plan import make_plan
from gopa.cli.session_progress import question_rows, result_text
from gopa.contract.manifest import Mode
from gopa.contract.organiser import ResultMessage
from gopa.protocol.organiser import SessionSetting
from gopa.support.wording import EXACT as SAID
from gopa.support.wording import EXACT_DIFFERENCE, EXACT_MODES, NO_EPSILON, hidden_among, sentence
from tests.cli.joining import events, stand
from wire.errors import UsageError

SIGNED = SessionSetting(mode=Mode.SIGNED)
FIVE = replace(EXACT.terms, parties=5, k=4, survivors=4)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(each) for each in arguments])


@pytest.mark.parametrize("command", ["plan", "simulate"])
def test_a_word_asks_for_it_and_leaving_it_out_does_not(command: str) -> None:
    asked = (command, "-n", "8", "--corrupt", "1")
    result = run(*asked, "--epsilon", NO_EPSILON, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found.get("terms") or found)["epsilon"] == NO_EPSILON
    shown = found.get("rounds") or [{"exact": True}]
    assert [each["exact"] for each in shown] == [True]
    for missing in ((), ("--delta", "1e-6"), ("--epsilon", ""), ("--epsilon", "None")):
        assert run(*asked, *missing).exit_code != 0


def test_no_epsilon_is_no_word_for_an_exact_sum() -> None:
    asked = {"n": 8, "corrupt": 1}
    assert make_plan(epsilon=NO_EPSILON, **asked).terms.exact
    for missing in ({}, {"epsilon": None}):
        with pytest.raises(UsageError) as refused:
            make_plan(**missing, **asked)
        assert refused.value.field == "--epsilon"


def test_a_plan_says_it_first() -> None:
    result = run("plan", "-n", "8", "--epsilon", NO_EPSILON)
    assert result.stdout.startswith(f"{sentence(SAID)}; {EXACT_DIFFERENCE}.")
    noisy = run("plan", "-n", "100", "--epsilon", "1", "--delta", "1e-6")
    assert noisy.exit_code == 0
    assert SAID not in noisy.stdout


def test_a_party_is_told_what_to_say_and_then_takes_part(tmp_path: Path) -> None:
    with stand(tmp_path, FIVE, setting=SIGNED) as here:
        refused = here.join("--value", "0.5", "--epsilon", "1e9")
        assert isinstance(refused.exception, UsageError)
        assert "--accept-exact-sum" in refused.exception.message
        assert SAID in refused.exception.message.replace("The exact", "the exact")
        asked = dict(question_rows(here.world.manifest))
        assert SAID in asked["privacy"]
        assert hidden_among(FIVE.honest) in asked["privacy"]
        assert EXACT_MODES["signed"] in asked["plan"]
        assert "To accept: --accept-exact-sum" in refused.exception.message
        again = here.join("--value", "0.5", "--accept-exact-sum", "--rounds", 2)
        assert isinstance(again.exception, UsageError)
        assert again.exception.field == "--rounds"
        assert EXACT_DIFFERENCE in again.exception.message
        assert "03-V43" in again.exception.message
        result = here.join("--value", "0.5", "--accept-exact-sum")
        assert result.exit_code == 0, result.output
        found = events(result)[-1]
        assert found["exact"] is True
        assert found["mean"] == 0.5
        again = here.join("--value", "0.5", "--accept-exact-sum", as_json=False)
        assert f"exact    {SAID}; {EXACT_DIFFERENCE}" in again.stdout
        result_message = ResultMessage(bytes(32), 0, (8,), (), 0, 1)
        assert result_text(here.world.manifest, result_message, 5).endswith(f"; {SAID}")
        assert here.world.findings().faults == ()


@pytest.mark.slow
def test_a_command_that_is_started_again_gives_no_value_to_a_second_sum(tmp_path: Path) -> None:
    """As one does that restarts whatever ends: two sums with one value in both show who differs."""
    asked = ("--value", "0.5", "--accept-exact-sum")
    with stand(tmp_path, replace(FIVE, rounds=2), setting=SIGNED) as here:
        first = here.join(*asked)
        assert first.exit_code == 0, first.output
        for _ in range(2):
            refused = here.join(*asked)
            assert isinstance(refused.exception, UsageError)
            assert "--again" in refused.exception.message
        second = here.join("--value", "0.25", "--accept-exact-sum", "--again")
        assert second.exit_code == 0, second.output
        assert [events(each)[-1]["round"] for each in (first, second)] == [1, 2]
        assert here.join(*asked).exit_code == 0  # it shows the last result once more
        assert here.world.findings().faults == ()


@pytest.mark.slow
def test_a_command_that_is_started_again_takes_part_in_noisy_rounds(tmp_path: Path) -> None:
    """What they cost together is planned."""
    noisy = replace(SMALL.terms, parties=5, k=4, survivors=4, loss=1, rounds=2)
    with stand(tmp_path, noisy, setting=SIGNED) as here:
        found = [here.join("--value", "0.5") for _ in range(2)]
        assert [each.exit_code for each in found] == [0, 0]
        assert [events(each)[-1]["round"] for each in found] == [1, 2]
