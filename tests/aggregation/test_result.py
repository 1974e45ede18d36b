"""What a result is good for in Python: numbers, dicts, JSON, tables, pictures, copies."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest

import gopa
from gopa import BackendError, Result, UsageError
from gopa.aggregation.result import FORMAT
from tests.aggregation.plans import lasting, terms

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
