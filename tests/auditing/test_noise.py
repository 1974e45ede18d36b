"""Where an answer is mostly noise, the text and the page of its audit say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gopa.auditing.described import warning_of
from gopa.auditing.html.page import to_html
from gopa.auditing.report import Report
from gopa.cli.audit_screen import screen
from tests.auditing.html_reading import page, words
from tests.auditing.html_samples import as_json, report

NOISY = "mostly noise"


def with_error(error: str, dimension: int = 1) -> Report:
    """A session on a range from 0 to 12."""
    whole = report(dimension=dimension)
    (found,) = whole.rounds
    return replace(whole, rounds=(replace(found, stderr=(error,) * dimension),))


@pytest.mark.parametrize("dimension", [1, 12])
def test_an_error_above_a_quarter_of_the_range_is_warned_of(dimension: int) -> None:
    clear, noisy = with_error("3", dimension), with_error("3.2", dimension)
    assert NOISY not in screen(clear)
    assert NOISY not in to_html(as_json(clear))
    (session, (found,)) = (noisy.session, noisy.rounds)
    assert session is not None
    said = warning_of(session, found.stderr)
    assert "with 10 parties" in said
    assert "3.2" in said
    assert "from 0 to 12" in said
    assert " would do" in said
    assert said in " ".join(screen(noisy).split())
    assert said[1:] in words(page(noisy))


@pytest.mark.parametrize("error", ["", "nan", "-1", "inf", "a lot", "1e999", "9" * 5000])
def test_what_is_no_number_is_no_reason_to_fail(error: str) -> None:
    assert screen(with_error("3"))
    to_html(as_json(with_error(error)))


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "much"},
        {"epsilon": "-1"},
        {"delta": "2"},
        {"low": "12", "high": "0"},
        {"parties": -5},
        {"parties": 10**9, "fewest": 10**8},
        {"corrupt": 10**9},
        {"dimension": 0},
    ],
    ids=str,
)
def test_terms_that_nobody_could_have_planned_are_no_reason_to_fail(
    changes: dict[str, Any],
) -> None:
    whole = with_error("30")
    assert whole.session is not None
    to_html(as_json(replace(whole, session=replace(whole.session, **changes))))
