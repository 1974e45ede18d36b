"""`gopa join` on a terminal: the question first, and no answer without a yes."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gopa.cli import join
from gopa.cli.join_words import Declined
from gopa.cli.session_progress import Silent
from tests.board.waiting import LONG, until
from tests.cli.joining import ACCEPTED, Stand, stand
from tests.protocol.simulation.worlds import SCALAR, SIGNED

ONCE = replace(SCALAR, rounds=1)


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
    with stand(tmp_path, ONCE, setting=SIGNED) as here:
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
        stand(tmp_path, ONCE, setting=SIGNED) as here,
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

    monkeypatch.setattr(join, "asked_line", nothing)
    monkeypatch.setattr(join, "question_rows", lambda _: [])
    sitting_there: Any = SimpleNamespace(value=None, asks=True)
    membership: Any = SimpleNamespace(committed=committed, manifest=None)
    with pytest.raises(ends):
        asyncio.run(join._answer(sitting_there, membership, Silent()))
    assert ("has been sent" in asked[0]) == committed
