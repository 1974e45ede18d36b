"""A bar appears when people begin to wonder, and whoever hands in a function is told instead."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from examples.averaging import fit_gossip, fit_mean
from gopa import UsageError
from gopa.learning import Fit, generator, require_seed, told
from gopa.support import progress as progress_module


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(progress: bool | None, seconds: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is on the screen after ten steps that take so many seconds together."""
    screen, now = Terminal(), [0.0]
    monkeypatch.setattr(progress_module, "Console", lambda **_: Console(file=screen))
    monkeypatch.setattr(progress_module, "monotonic", lambda: now[0])
    with told(progress) as advance:
        for step in range(10):
            now[0] += seconds / 10
            advance("counting", step, 10)
    return screen.getvalue()


@pytest.mark.parametrize(
    ("progress", "seconds", "expected"),
    [(None, 1.9, False), (None, 2.5, True), (True, 0.0, True), (False, 60.0, False)],
)
def test_a_bar_appears_after_two_seconds_or_as_asked(
    progress: bool | None, seconds: float, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ("counting" in drawn(progress, seconds, monkeypatch)) is expected


def test_a_function_is_told_and_ends_the_run_by_what_it_raises() -> None:
    heard: list[tuple[str, int, int]] = []
    with told(lambda *said: heard.append(said)) as advance:
        advance("rounds", 1, 3)
    assert heard == [("rounds", 1, 3)]

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), told(stop) as advance:
        advance("rounds", 1, 3)


@pytest.mark.parametrize("progress", ["yes", 3])
def test_what_is_no_progress_is_refused(progress: Any) -> None:
    with told(None):
        pass
    with pytest.raises(UsageError) as caught, told(progress):
        pass
    assert caught.value.field == "progress"


@pytest.mark.parametrize("seed", [-1, 1.0, "1", None, True])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    require_seed(0)
    with pytest.raises(UsageError) as caught:
        require_seed(seed)
    assert caught.value.field == "seed"


def test_algorithms_have_one_form() -> None:
    """For type checkers; what they are called with is tested with the table of mistakes."""
    listed: list[Fit] = [fit_mean, fit_gossip]
    assert len(listed) == 2


def test_a_seed_of_numpy_is_the_same_seed() -> None:
    seed: Any = np.arange(8)[7]
    assert generator(seed, "noise").integers(1 << 60) == generator(7, "noise").integers(1 << 60)
    wrong: Any
    for wrong in (np.True_, np.float64(7), np.int64(-7)):
        with pytest.raises(UsageError):
            generator(wrong, "noise")
