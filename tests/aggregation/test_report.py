"""Results in words."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import gopa
from gopa import LocalAggregator, Result
from gopa.aggregation import progress as phase_module
from gopa.aggregation.progress import PhaseBar
from gopa.contract.phases import Phase
from gopa.support import progress as progress_module
from gopa.support.progress import LONG, shown, watch
from gopa.support.rounding import plus_minus
from tests.aggregation.plans import terms
from zkp.noise import irwin_hall

VALUES = [0.1, 0.2, 0.3, 0.4, 0.5, 1.0]


def run(changes: dict[str, Any] | None = None, values: Any = VALUES, **settings: Any) -> Result:
    aggregator = LocalAggregator(terms(**(changes or {})), mode="off", seed=1, **settings)
    return aggregator.average(values)


def test_a_summary_says_what_a_person_asks_first() -> None:
    result = run(script={2: "publish"}, clip=True, values=[*VALUES[:5], 3.0])
    said = dict(line.split(maxsplit=1) for line in str(result).splitlines())
    assert said["mean"] == plus_minus(result.mean, result.stderr)
    assert said["parties"].startswith("5 of 6")
    assert "publish" in said["parties"]
    assert said["clipped"].startswith("1 ")
    assert said["privacy"] == "no claim"
    assert "simulation" in said["mode"]
    assert said["mode"].startswith("off")


def test_long_vectors_are_shortened() -> None:
    result = run({"dimension": 1000}, [np.zeros(1000)] * 6)
    assert len(str(result)) < 600
    assert "1000 numbers" in str(result)
    assert len(repr(result)) < 100


def test_parties_without_reason_to_complain_are_not_listed() -> None:
    assert "all 6" in str(run())
    assert "attempts" not in str(run())
    assert "attempts" in str(run(script={1: "unmask"}))


def test_an_answer_that_is_mostly_noise_says_so_wherever_it_is_shown() -> None:
    wide = {"noise": irwin_hall(12, 8)}
    clear, noisy = run(), run(wide)
    assert clear.stderr < 0.25 < noisy.stderr
    assert clear.warnings == ()
    assert "warning" not in str(clear)
    assert "WARNING" not in repr(clear)
    (warning,) = noisy.warnings
    assert "with 6 parties" in warning
    assert "would do" in warning
    assert warning in str(noisy)
    assert "WARNING: mostly noise" in repr(noisy)


def test_a_variance_is_held_against_itself_and_not_against_the_range_of_values() -> None:
    ages = [30.0, 40.0, 50.0, 60.0, 35.0, 45.0] * 60
    asked: dict[str, Any] = {"range": (0, 120), "delta": "1e-5", "mode": "off", "seed": 1}
    clear = gopa.variance(ages, epsilon=8, **asked)
    assert clear.variance > 3 * clear.variance_stderr > 30  # a quarter of the range of values
    assert clear.warnings == ()
    rough = gopa.variance(ages, epsilon=1, **asked)
    assert rough.variance_stderr > max(rough.variance / 3, 30)
    (warning,) = rough.warnings
    assert "the variance" in warning


def test_rich_prints_the_same() -> None:
    out = Console(file=io.StringIO(), width=120)
    result = run()
    out.print(result)
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    for line in str(result).splitlines():
        for word in line.split():
            assert word in text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("wanted", "work", "expected"),
    [
        (None, LONG, True),
        (None, LONG - 1, False),
        (True, 0, True),
        (False, 10 * LONG, False),
    ],
)
def test_a_bar_is_shown_on_terminals_when_it_is_worth_it(
    wanted: bool | None, work: int, expected: bool
) -> None:
    assert shown(wanted, work, Console(file=Terminal())) is expected
    assert not shown(wanted, work, Console(file=io.StringIO()))


def test_a_bar_follows_the_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    for module in (progress_module, phase_module):
        monkeypatch.setattr(module, "Console", lambda **_: Console(file=screen))
    assert list(watch(True, [3, 1, 2], "counting", 0)) == [3, 1, 2]
    assert "counting" in screen.getvalue()
    bar = PhaseBar(True, 0)
    with bar.running():
        bar(Phase.JOIN, 1, 2)
        bar(Phase.PUBLISH, 2, 2)
    drawn = screen.getvalue()
    assert "publish" in drawn
    bar(Phase.UNMASK, 2, 2)
    assert screen.getvalue() == drawn


class Notebook(Console):
    """A console as it is in a notebook: no terminal, and HTML is shown."""

    def __init__(self, **_: Any) -> None:
        super().__init__(file=io.StringIO())
        self.is_jupyter = True


class Outputs(list[str]):
    """Stands for the outputs of a cell: each may be replaced."""

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Outputs:
        assert raw
        assert display_id
        self.append(data["text/html"])
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.append(data["text/html"])


def in_notebook(monkeypatch: pytest.MonkeyPatch) -> Outputs:
    """Makes this process look like that of a notebook; gives what it would show."""
    outputs = Outputs()
    fake = SimpleNamespace(display=outputs.display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=fake))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    for module in (progress_module, phase_module):
        monkeypatch.setattr(module, "Console", Notebook)
    return outputs


def test_a_notebook_has_a_bar_without_further_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = in_notebook(monkeypatch)
    monkeypatch.setattr(progress_module, "_PAUSE", 0.0)
    bar = PhaseBar(None, LONG)
    with bar.running():
        bar(Phase.PUBLISH, 7, 20)
    assert len(outputs) == 3
    assert 'value="7" max="20"' in outputs[1]
    assert "publish: 7 of 20" in outputs[1]
    assert outputs[0] == outputs[2] == ""
    assert list(watch(True, [3, 1], "<b>", 0)) == [3, 1]
    assert "&lt;b&gt;: 1 of 2" in outputs[-2]
    quiet = len(outputs)
    with PhaseBar(False, LONG).running(), PhaseBar(None, 0).running():
        pass
    assert len(outputs) == quiet


def test_a_bar_in_a_notebook_is_drawn_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = in_notebook(monkeypatch)
    clock = iter(number / 100 for number in range(10_000))
    monkeypatch.setattr(progress_module, "monotonic", lambda: next(clock))
    assert list(watch(True, range(100), "counting", 0)) == list(range(100))
    assert 8 < len(outputs) < 30


def test_watching_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(watch(True, [3, 1, 2], "counting", LONG)) == [3, 1, 2]
    bar = PhaseBar(True, LONG)
    with bar.running():
        bar(Phase.JOIN, 1, 2)
    bar(Phase.JOIN, 2, 2)
    assert capsys.readouterr() == ("", "")
