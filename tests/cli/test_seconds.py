"""Times on the command line: what is compared with a clock must be comparable."""

from __future__ import annotations

import math

import click
import pytest

from gopa.cli.options import Seconds


@pytest.mark.parametrize(("text", "expected"), [("0", 0.0), ("1.5", 1.5), ("inf", math.inf)])
def test_times(text: str, expected: float) -> None:
    assert Seconds().convert(text, None, None) == expected


@pytest.mark.parametrize("text", ["nan", "-1", "-inf", "", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    assert Seconds().convert("1", None, None) == 1.0
    with pytest.raises(click.BadParameter):
        Seconds().convert(text, None, None)
