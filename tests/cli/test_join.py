"""`gopa join` against a session on loopback: what it says and how it ends."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gopa.cli.exits import ABORTED_EXIT, LATER_EXIT
from gopa.cli.join_words import tell
from gopa.cli.session_progress import CurrentActivity, ProgressEvent
from gopa.contract.phases import Phase
from gopa.protocol.party import Part
from gopa.sessions.contribution import RoundStatus
from gopa.sessions.organising import Deadlines
from gopa.sessions.vault import identity
from gopa.support.wording import PARTS, name_of
from tests.board.waiting import until
from tests.cli.joining import events, stand
from tests.protocol.simulation.worlds import FEW, SIGNED
from wire.errors import GopaError, UsageError

ONCE = replace(FEW, rounds=1)
TWICE = replace(FEW, rounds=2, attempts=1, charged=0)


def test_a_session_that_never_opens_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    with stand(tmp_path, ONCE, setting=SIGNED) as here:
        fine = here.join("--value", "0.5", "--patience", "30")
        assert fine.exit_code == 0, fine.output
        absent = here.ticket(replace(here.world.ticket, session=bytes(31) + b"\1"))
        result = here.join("--value", "0.5", "--patience", "1", ticket=absent)
    assert result.exit_code == LATER_EXIT
    assert [each["event"] for each in events(result)] == ["standing"]
    (line,) = result.stderr.splitlines()
    assert line.startswith("gopa: ")
    assert "--patience" in line


@pytest.mark.slow
def test_whoever_is_not_in_the_round_is_told_why(tmp_path: Path) -> None:
    """It comes when the others have committed already, and goes into the round behind."""
    deadlines = Deadlines(join=4, phase=4)
    with stand(tmp_path, TWICE, mute=4, setting=SIGNED, deadlines=deadlines) as here:
        assert until(lambda: any(each.phase == Phase.PUBLISH for each in here.world.entries()))
        result = here.join("--value", "0.5")
    assert result.exit_code == 0, result.output
    told = events(result)
    first, second = (
        [each for each in told if each["event"] in {"phase", "round over"} and each["round"] == n]
        for n in (1, 2)
    )
    missed = [each for each in first if each["phase"] != "join"]
    assert missed
    assert {each["part"] for each in missed} == {"unwilling"}
    assert {each["part"] for each in second if each["event"] == "phase"} == {None}
    assert [each["part"] for each in second if each["event"] == "round over"] == ["active"]
    (found,) = [each for each in told if each["event"] == "result"]
    assert (found["round"], found["included"], found["part"]) == (2, True, "active")


def test_wrong_inputs_are_one_line_and_cost_nothing(tmp_path: Path) -> None:
    """Whatever was wrong before: the right line takes part in the same round."""
    with stand(tmp_path, ONCE, setting=SIGNED) as here:
        words = tmp_path / "words"
        words.write_text("a secret\n")
        wrong: list[tuple[tuple[object, ...], str]] = [
            (("--value", "0.5,0.5"), "value"),
            (("--value", "1.5"), "value"),
            (("--value", "half"), ""),
            (("--value", "0.5", "--file", words), ""),
            (("--file", tmp_path / "nothing.npy"), ""),
            (("--value", "0.5", "--weight", "1"), "weight"),
            (("--value", "0.5", "--weight", "1", "--max-weight", "2"), "weight"),
            (("--value", "0.5", "--passphrase-file", words), ""),
        ]
        for how, field in wrong:
            result = here.join(*how)
            assert isinstance(result.exception, GopaError), (how, result.output)
            assert getattr(result.exception, "field", "") == field, how
            assert len(str(result.exception).splitlines()) == 1
        other = identity.create(tmp_path / "mine" / "other", rng=os.urandom)
        assert other.public.data != here.world.identities[0].public.data
        refused = here.join("--value", "0.5", "--identity", tmp_path / "mine" / "other")
        assert isinstance(refused.exception, UsageError)
        for how in (("--epsilon", "much"), ("--corrupt-share", "half"), ("--corrupt-share", "1/0")):
            assert here.join("--value", "0.5", *how).exit_code == 2, how
        right = here.join("--value", "0.5", "--corrupt-share", "1/10")
        again = here.join("--value", "0.5")
        plain = here.join("--value", "0.5", as_json=False)
    assert right.exit_code == 0, right.output
    (found,) = [each for each in events(right) if each["event"] == "result"]
    assert (found["round"], found["included"]) == (1, True)
    assert again.exit_code == 0, again.output
    assert [each["event"] for each in events(again)][-2:] == ["session over", "result"]
    assert events(again)[-1] == found
    names = [line.split()[0] for line in plain.stdout.splitlines()]
    assert (plain.exit_code, names) == (0, ["mean", "parties", "note"])


def test_a_round_without_a_result_ends_with_a_code_of_its_own(tmp_path: Path) -> None:
    """Also for whoever asks again when the session is over."""
    everybody = replace(ONCE, survivors=5, loss=0, attempts=1, charged=0)
    deadlines = Deadlines(join=20, phase=3)
    with stand(tmp_path, everybody, mute=4, setting=SIGNED, deadlines=deadlines) as here:
        aborted = here.join("--value", "0.5")
        again = here.join("--value", "0.5")
    for each in (aborted, again):
        assert each.exit_code == ABORTED_EXIT, each.output
        assert not [event for event in events(each) if event["event"] == "result"]
        (line,) = each.stderr.splitlines()
        assert line.startswith("gopa: ")
    assert [each["event"] for each in events(aborted)].count("phase") > 2


class Heard:
    """A screen that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.now: list[str] = []

    def add_event(self, what: ProgressEvent) -> None:
        self.lines.append(what.text)

    def set_activity(self, now: CurrentActivity | None) -> None:
        self.now.append("" if now is None else now.text)


@pytest.mark.parametrize("part", [None, *(each for each in Part if each is not Part.ACTIVE)])
def test_a_person_reads_whether_the_party_is_in(part: Part | None) -> None:
    heard = Heard()
    tell(heard, RoundStatus(3, 2, 0, Phase.PUBLISH, 12, None, part))  # type: ignore[arg-type]
    for (text,) in (heard.lines, heard.now):
        assert ("not in this round" in text) is (part is not None)
        assert part is None or PARTS[name_of(part)] in text
    assert ("waiting for the others" in heard.now[0]) is (part is None)
