"""`gopa join` against a session on loopback: what it says and how it ends."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bulletin_board.client.http import NetworkError
from gopa.cli import join as join_asking
from gopa.cli.exits import ABORTED_EXIT, LATER_EXIT
from gopa.cli.join import ACCEPT, advised, join
from gopa.cli.join_words import BoardUnreachable, Declined, PatientConnect, SessionAbsent, tell
from gopa.cli.plan import plan
from gopa.cli.session_progress import CurrentActivity, ProgressEvent, Silent, progress
from gopa.contract.phases import Phase
from gopa.planning.target import CORRUPT
from gopa.protocol.party import LocalPolicy, Part, Refusal
from gopa.sessions.contribution import RoundStatus
from gopa.sessions.following.follower import BoardFollower
from gopa.sessions.organising import Deadlines
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import MemoryVault, identity
from gopa.support.wording import PARTS, name_of
from tests.board.waiting import LONG, until
from tests.cli.joining import ACCEPTED, Stand, events, stand
from tests.protocol.simulation.worlds import FEW, SCALAR, SIGNED
from tests.sessions.hostile.worlds import world
from wire.errors import GopaError, ProtocolError, UsageError

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


OPTIONS = {name for option in join.params for name in option.opts}


@pytest.mark.parametrize("advice", ACCEPT.values())
def test_advice_names_an_option_of_the_command(advice: str) -> None:
    named = re.findall(r"--[a-z-]+", advice)
    assert len(named) == 1
    assert set(named) <= OPTIONS


def test_parties_ask_for_the_part_that_plans_assume() -> None:
    """A number of their own would refuse plans that say nothing, or accept plans for less."""
    asked = {name: each.default for each in (*join.params, *plan.params) for name in each.opts}
    assert asked["--corrupt-share"] == asked["--corrupt"] == str(CORRUPT)
    assert LocalPolicy(Decimal(1), Decimal(1)).corrupt_share == Fraction(str(CORRUPT))


def test_a_plan_for_fewer_is_accepted_by_saying_so() -> None:
    said = advised(Refusal("this session withstands 1 of 200", "corrupt", "1/200"))
    assert said.message.endswith("To accept: --corrupt-share 1/200")


def test_the_value_that_would_do_is_named() -> None:
    said = advised(Refusal("this session uses epsilon 8, you accept at most 1", "epsilon", "8"))
    assert said.message == (
        "This session uses epsilon 8, you accept at most 1. Nothing was sent. "
        "To accept: --epsilon 8"
    )


@pytest.mark.parametrize("field", ["admission", "policy", "beacon", "terms"])
def test_nothing_is_advised_that_does_not_help(field: str) -> None:
    assert "To accept" not in advised(Refusal("no", field)).message


def test_strangers_are_accepted_where_anybody_may_join() -> None:
    assert "--allow-anyone" in advised(Refusal("no", "admission", "anyone")).message


ONCE_ASKING = replace(SCALAR, rounds=1)


class Sitting:
    """Somebody in front of a terminal in which `gopa join` runs."""

    def __init__(self, process: subprocess.Popen[bytes], handle: int) -> None:
        self.process, self._handle = process, handle
        self.seen = ""

    def sees(self, text: str) -> bool:
        return until(lambda: self._read(text))

    def _read(self, text: str) -> bool:
        os.set_blocking(self._handle, False)
        with suppress(OSError):
            self.seen += os.read(self._handle, 65_536).decode()
        return text in self.seen

    def types(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def ends(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=LONG)
        return self.process.returncode, out.decode()


@contextmanager
def sitting(here: Stand, *more: str) -> Iterator[Sitting]:
    ours, theirs = pty.openpty()
    line = ["join", str(here.ticket()), "--identity", str(here.key), *ACCEPTED, *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "gopa", *line], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE
    )
    os.close(theirs)
    try:
        yield Sitting(process, ours)
    finally:
        process.kill()
        process.communicate(timeout=LONG)
        os.close(ours)


@pytest.mark.slow
def test_the_question_comes_first(tmp_path: Path) -> None:
    with stand(tmp_path, ONCE_ASKING, setting=SIGNED) as here:
        with sitting(here, "--value", "0.5") as no:
            assert no.sees("Take part? [y/N] ")
            for word in ("question", "privacy", "epsilon", "from 0 to 1"):
                assert word in no.seen
            no.types("\n")
            assert no.ends() == (2, "")
        own = here.world.identities[0].public.data
        assert all(each.author.data != own for each in here.world.entries())
        with sitting(here) as yes:
            assert yes.sees("Your value")
            yes.types("0.5\n")
            code, out = yes.ends()
    assert code == 0, yes.seen
    assert "yours is among them" in out


@pytest.mark.slow
def test_who_said_yes_on_the_line_is_not_asked(tmp_path: Path) -> None:
    with (
        stand(tmp_path, ONCE_ASKING, setting=SIGNED) as here,
        sitting(here, "--value", "1", "--yes") as it,
    ):
        code, out = it.ends()
        it.sees("joining")
    assert code == 0
    assert "Take part?" not in it.seen
    assert "yours is among them" in out


@pytest.mark.parametrize(("committed", "ends"), [(False, Declined), (True, KeyboardInterrupt)])
def test_who_has_answered_is_not_told_that_nothing_was_sent(
    monkeypatch: pytest.MonkeyPatch, *, committed: bool, ends: type[BaseException]
) -> None:
    asked: list[str] = []

    async def nothing(question: str) -> str:
        asked.append(question)
        return ""

    monkeypatch.setattr(join_asking, "asked_line", nothing)
    monkeypatch.setattr(join_asking, "question_rows", lambda _: [])
    sitting_there: Any = SimpleNamespace(value=None, asks=True)
    membership: Any = SimpleNamespace(committed=committed, manifest=None)
    with pytest.raises(ends):
        asyncio.run(join_asking._answer(sitting_there, membership, Silent()))
    assert ("has been sent" in asked[0]) == committed


DOWN = NetworkError("nobody answers")


LOOKS = 40


PATIENCE = 10.0


def watched(ticket: Ticket, seen: tuple[ProtocolError | None, ...], *, found: bool) -> None:
    """Look at a board a second at a time, which is in these states in turn."""
    now = [0.0]
    connect = PatientConnect(progress(as_json=False, quiet=True), PATIENCE, lambda: now[0])
    log = connect.open(ticket, MemoryVault(), os.urandom)
    if found:
        log._search.body = b"found"

    async def look() -> None:
        try:
            for trouble, _ in zip(cycle(seen), range(LOOKS), strict=False):
                log.trouble = trouble
                connect._look()
                now[0] += 1.0
        finally:
            await log.close()

    asyncio.run(look())


@pytest.mark.parametrize(
    ("seen", "error"),
    [((None,), SessionAbsent), ((None, DOWN), SessionAbsent), ((DOWN,), BoardUnreachable)],
    ids=["there", "comes and goes", "away"],
)
def test_a_session_that_is_not_found_is_given_up(
    seen: tuple[ProtocolError | None, ...],
    error: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BoardFollower, "bytes_read", property(lambda _: 100))
    with world(tmp_path, SCALAR) as here:
        watched(here.ticket, (None, DOWN), found=True)
        with pytest.raises(error):
            watched(here.ticket, seen, found=False)
