"""Histories keep their numbers, write them down and draw them."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from gopa import BackendError, UsageError
from gopa.learning import History, Recorder, generator, require_seed, told
from gopa.support import progress as progress_module

COLUMNS: dict[str, Any] = {
    "step": [0, 10, 20],
    "error": [0.1, 1 / 3, np.nan],
    "runs": [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]],
    "done": [False, False, True],
}


def same(first: History, second: History) -> bool:
    return first.names == second.names and all(
        first[name].dtype == second[name].dtype
        and np.array_equal(first[name], second[name], equal_nan=first[name].dtype.kind == "f")
        for name in first.names
    )


def test_what_is_written_reads_back_as_the_same(tmp_path: Path) -> None:
    history = History(COLUMNS)
    path = history.to_csv(tmp_path / "history.csv")
    assert path.read_text().splitlines()[0] == "step,error,runs[0],runs[1],done"
    assert same(History.from_csv(path), history)


def test_one_run_is_still_a_column_of_runs(tmp_path: Path) -> None:
    history = History({"step": [1, 2], "runs": [[0.5], [0.25]]})
    assert same(History.from_csv(history.to_csv(tmp_path / "one.csv")), history)


def test_a_copy_from_a_pickle_is_the_same_and_nobody_changes_either() -> None:
    history = History(COLUMNS)
    for each in (history, pickle.loads(pickle.dumps(history))):  # noqa: S301 - our own
        assert same(each, history)
        with pytest.raises(ValueError, match="read-only"):
            each["error"][0] = 1.0
        each.columns.clear()
        assert len(each.names) == 4


def test_it_takes_a_copy() -> None:
    mine = np.zeros(3)
    history = History({"step": mine})
    mine[0] = 7
    assert history["step"][0] == 0


def test_a_frame_has_a_column_for_each_run() -> None:
    frame = History(COLUMNS).to_frame()
    assert list(frame.columns) == ["step", "error", "runs[0]", "runs[1]", "done"]
    assert frame["runs[1]"].tolist() == [2.0, 4.0, 7.0]


def test_a_picture_shows_means_and_shades_runs() -> None:
    axes = History(COLUMNS).plot("error", "runs")
    drawn = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.get_lines()}
    assert set(drawn) == {"error", "runs"}
    assert drawn["runs"].tolist() == [1.5, 3.5, 6.0]
    assert len(axes.collections) == 1
    assert axes.get_xlabel() == "step"
    again = History(COLUMNS).plot("runs", x="error", ax=axes)
    assert again is axes
    assert axes.get_xlabel() == "error"


@pytest.mark.parametrize(("module", "call"), [("matplotlib", "plot"), ("pandas", "to_frame")])
def test_without_the_package_one_line_says_what_to_install(
    module: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(COLUMNS)
    getattr(history, call)()
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(BackendError) as caught:
        getattr(history, call)()
    assert "pip install" in str(caught.value)


def test_a_recorder_collects_rows() -> None:
    notes = Recorder()
    for step in range(3):
        notes.note(step=step, runs=np.array([1.0, step]))
    found = notes.history()
    assert found["step"].tolist() == [0, 1, 2]
    assert found["runs"].shape == (3, 2)
    with pytest.raises(UsageError):
        notes.note(step=3)
    assert len(notes.history()) == 3


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"step": [1, 2], "error": [1.0]},
        {"step": [[1, 2], [3]]},
        {"step": ["a", "b"]},
        {"step": [[[1]]]},
        {"step": 1},
        {"a,b": [1]},
        {"a[0]": [1]},
    ],
)
def test_what_is_no_table_is_refused(columns: dict[str, Any]) -> None:
    assert len(History({"step": [1, 2]})) == 2
    with pytest.raises(UsageError):
        History(columns)


@pytest.mark.parametrize(
    "text", ["", "step,step\n1,2\n", "step,error\n1\n", "step\nten\n", "step\n1,2\n"]
)
def test_a_file_that_it_did_not_write_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text("step\n1\n")
    assert len(History.from_csv(path)) == 1
    path.write_text(text)
    with pytest.raises(UsageError):
        History.from_csv(path)


def test_a_column_that_is_not_there_is_named() -> None:
    history = History(COLUMNS)
    for ask in (lambda: history["loss"], lambda: history.plot("loss"), lambda: history.plot(x="l")):
        with pytest.raises(UsageError):
            ask()
    with pytest.raises(UsageError):
        history.plot(x="runs")


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


def test_a_seed_of_numpy_is_the_same_seed() -> None:
    seed: Any = np.arange(8)[7]
    assert generator(seed, "noise").integers(1 << 60) == generator(7, "noise").integers(1 << 60)
    wrong: Any
    for wrong in (np.True_, np.float64(7), np.int64(-7)):
        with pytest.raises(UsageError):
            generator(wrong, "noise")
