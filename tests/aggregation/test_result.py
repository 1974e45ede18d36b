"""What a result is good for in Python: numbers, dicts, JSON, tables, pictures, copies."""

from __future__ import annotations

import copy
import io
import json
import math
import pickle
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from rich.console import Console

import gopa
from gopa.aggregation import sessions as phase_module
from gopa.aggregation.aggregator import LocalAggregator
from gopa.aggregation.result import FORMAT, Result
from gopa.aggregation.sessions import PhaseBar
from gopa.contract.phases import Phase
from gopa.support import progress as progress_module
from gopa.support.progress import LONG, shown, watch
from gopa.support.rounding import plus_minus
from tests.aggregation.plans import lasting, terms
from wire.errors import BackendError, UsageError
from zkp.noise import irwin_hall

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


TARGET: dict[str, Any] = {"epsilon": 8, "delta": "1e-5", "mode": "off", "seed": 1}


VALUES = [0.1, 0.2, 0.3, 0.4] * 5


ROWS = [{"b": value, "a": 1 - value} for value in VALUES]


NESTED = [{"w": np.full((2, 2), value), "b": (value, [value])} for value in VALUES]


LOUD = {**TARGET, "epsilon": 99}


MAKERS: dict[str, Callable[[], Result]] = {
    "mean": lambda: gopa.average(VALUES, **TARGET),
    "sum": lambda: gopa.sum(VALUES, **TARGET),
    "table": lambda: gopa.average(ROWS, **TARGET),
    "nested": lambda: gopa.average(NESTED, **TARGET),
    "long": lambda: gopa.average([np.full(50, value) for value in VALUES], **TARGET),
    "histogram": lambda: gopa.histogram(VALUES, bins=[0, 0.25, 0.5, 1], **TARGET),
    "variance": lambda: gopa.variance(VALUES, **TARGET),
    "weighted": lambda: gopa.average(VALUES, weights=VALUES, max_weight=1, **LOUD),
}


@cache
def made(name: str) -> Result:
    """One result of every kind; each is made when the first test asks."""
    return MAKERS[name]()


@pytest.fixture(scope="module")
def session() -> Result:
    with gopa.LocalAggregator(lasting(), seed=1, script={2: "publish"}) as aggregator:
        return aggregator.average([0.5] * 8)


def test_what_was_asked_for_comes_first() -> None:
    mean, total = made("mean"), made("sum")
    assert (mean.value, mean.error) == (mean.mean, mean.stderr)
    assert (total.value, total.error) == (total.sum, total.sum_stderr)
    assert str(mean).startswith("mean ")
    assert str(total).startswith("sum ")
    assert total.mean == mean.mean
    histogram, variance = made("histogram"), made("variance")
    assert list(histogram.value) == list(histogram.sum)
    assert isinstance(variance, gopa.Variance)
    assert (variance.value, variance.error) == (variance.variance, variance.variance_stderr)


def test_an_aggregator_that_is_asked_for_a_sum_shows_it() -> None:
    with gopa.LocalAggregator(terms(), mode="off", seed=1) as aggregator:
        assert aggregator.average([0.5] * 6).asked == "mean"
        assert str(aggregator.sum([0.5] * 6)).startswith("sum")


def test_one_number_is_a_float() -> None:
    for name in ("mean", "sum", "variance"):
        assert float(made(name)) == made(name).value
    assert float(gopa.average([[value] for value in VALUES], **TARGET)) == made("mean").mean
    for name in ("table", "long", "histogram"):
        with pytest.raises(UsageError) as caught:
            float(made(name))
        assert caught.value.field == "result"


def test_its_repr_says_the_number_and_its_error() -> None:
    for name in ("mean", "sum", "variance"):
        found = repr(made(name))
        assert found.startswith(f"<{name} ")
        assert f" {str(made(name)).splitlines()[0].split(maxsplit=1)[1]}, " in found
        assert "20 parties" in found
        assert "simulation" in found
    assert "3 numbers" in repr(made("histogram"))
    assert all(len(repr(each)) < 100 for each in map(made, MAKERS))
    assert repr(made("long")).endswith("WARNING: mostly noise>")


@pytest.mark.parametrize("name", MAKERS)
def test_json_keeps_every_number(name: str) -> None:
    result = made(name)
    found = json.loads(result.to_json())
    assert found == result.to_dict()
    assert found["format"] == FORMAT
    assert found["kind"] == result.kind
    assert found["included"] == list(range(20))
    for key in ("value", "error", "mean", "sum", "stderr", "sum_stderr", "weight"):
        assert numbers(found[key]) == numbers(getattr(result, key))


def numbers(value: Any) -> list[float]:
    """All numbers of a value, in the order of its own parts."""
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in numbers(value[key])]
    if isinstance(value, (list, tuple)):
        return [number for each in value for number in numbers(each)]
    return [] if value is None else np.ravel(value).tolist()


def test_json_says_what_a_session_adds(session: Result) -> None:
    found = json.loads(session.to_json(indent=1))
    assert session.privacy is not None
    assert found["excluded"] == [{"party": 2, "phase": "PUBLISH", "cause": "ABSENT"}]
    assert found["session"] == session.transcript.session.hex()
    assert found["round"] == 1
    assert found["privacy"]["epsilon"] == session.privacy.epsilon
    deltas = [claim["delta"] for claim in found["privacy"]["claims"]]
    assert deltas == [claim.delta for claim in session.privacy.claims]


def test_what_is_no_number_is_null() -> None:
    with pytest.raises(gopa.WeightTooSmall) as caught:
        gopa.average(VALUES, weights=[0.0] * 20, max_weight=1, **TARGET)
    assert math.isnan(caught.value.result.mean)
    assert json.loads(caught.value.result.to_json())["mean"] is None
    assert "nan" in repr(caught.value.result)


def test_the_page_lists_the_names() -> None:
    """They are promised to programs: a change shows here, and wants another format."""
    section = PAGE.read_text().partition("## A result for programs")[2].partition("\n## ")[0]
    listed = {
        name
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    always = set(made("mean").to_dict())
    found = always.union(made("histogram").to_dict(), made("variance").to_dict())
    assert listed == found
    assert f"`{FORMAT}`" in section


def table_rows(result: Result) -> list[list[str]]:
    """The texts of each row; a page that is not well-formed fails here."""
    root = ET.fromstring(result._repr_html_())  # noqa: S314 - made by this process
    return [list(row.itertext()) for row in root.iter("tr")]


HOSTILE = "<script>alert(1)</script>&\"'"


@pytest.mark.parametrize("name", MAKERS)
def test_a_notebook_shows_a_table(name: str) -> None:
    result = made(name)
    rows = ["".join(row) for row in table_rows(result)]
    for line in str(result).splitlines()[1:]:
        name, text = line[:9].strip(), line[9:]
        assert f"{name}{text}" in rows
    if len(numbers(result.value)) == 1:
        first = str(result).splitlines()[0]
        assert rows[0] == first[:9].strip() + first[9:]
    assert len(rows) < 40


def test_a_table_has_a_row_for_each_number() -> None:
    rows = table_rows(made("table"))
    by_name = dict(row for row in rows if len(row) == 2)
    for name in ("a", "b"):
        shown, _, error = by_name[name].partition(" +- ")
        assert float(shown) == pytest.approx(made("table").mean[name], abs=0.1)
        assert float(error) > 0
    bins = made("histogram")._repr_html_()
    assert bins.count("display: inline-block; height") == 3
    assert "30 more numbers" in made("long")._repr_html_()


def test_names_of_columns_are_text_and_never_markup() -> None:
    found = gopa.average([{HOSTILE: value, "b": value} for value in VALUES], **TARGET)
    page = found._repr_html_()
    assert "<script" not in page
    assert any(HOSTILE in row for row in table_rows(found))
    nested = gopa.average([{HOSTILE: [value, value]} for value in VALUES], **TARGET)
    assert "<script" not in nested._repr_html_()


@pytest.mark.parametrize("name", MAKERS)
def test_a_copy_through_a_pickle_says_the_same(name: str) -> None:
    result = made(name)
    found = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert type(found) is type(result)
    assert found.to_dict() == result.to_dict()
    assert str(found) == str(result)


def test_a_pickle_leads_to_no_secret() -> None:
    with gopa.LocalAggregator(lasting(), seed=1) as aggregator:
        result = aggregator.average([0.25] * 8)
        simulation = aggregator.simulation
    assert simulation is not None
    data = pickle.dumps(result)
    assert b"simulation.simulation" not in data
    assert len(data) < 5000
    found = pickle.loads(data)  # noqa: S301
    assert found.to_dict() == result.to_dict()
    for use in (found.transcript.check, found.transcript.log):
        with pytest.raises(UsageError) as caught:
            use()
        assert caught.value.field == "transcript"
    assert result.transcript.check().session == found.transcript.session


def test_other_copies_keep_the_log(session: Result) -> None:
    for found in (copy.copy(session), copy.deepcopy(session)):
        assert found.transcript is session.transcript
        assert found.to_dict() == session.to_dict()


@pytest.mark.parametrize("name", MAKERS)
def test_a_picture_shows_every_number(name: str) -> None:
    from matplotlib.figure import Figure

    result = made(name)
    axes: Any = Figure().subplots()
    assert result.plot(axes) is axes
    values = np.sort(np.array(numbers(result.value)))
    drawn = [
        *(patch.get_height() for patch in list[Any](axes.patches)),
        *(number for line in list[Any](axes.lines) for number in np.ravel(line.get_data())),
    ]
    for value in values:
        assert np.isclose(drawn, value).any()
    title = axes.get_title()
    assert result.kind in title
    assert "20 parties" in title
    axes.figure.canvas.draw()


def test_a_picture_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    axes = made("table").plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    plt.close(axes.figure)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.delattr(mpl, "pyplot")
    with pytest.raises(BackendError):
        made("table").plot()


VALUES_REPORT = [0.1, 0.2, 0.3, 0.4, 0.5, 1.0]


def run(
    changes: dict[str, Any] | None = None, values: Any = VALUES_REPORT, **settings: Any
) -> Result:
    aggregator = LocalAggregator(terms(**(changes or {})), mode="off", seed=1, **settings)
    return aggregator.average(values)


def test_a_summary_says_what_a_person_asks_first() -> None:
    result = run(script={2: "join"}, clip=True, values=[*VALUES_REPORT[:5], 3.0])
    said = dict(line.split(maxsplit=1) for line in str(result).splitlines())
    assert said["mean"] == plus_minus(result.mean, result.stderr)
    assert said["parties"].startswith("5 of 6")
    assert "join" in said["parties"]
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
    again = run(script=lambda number: dict.fromkeys(range(3), "join") if number == 1 else {})
    assert "attempts" in str(again)


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
