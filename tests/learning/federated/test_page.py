"""The page on learning together runs as it stands, and its table names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sklearn import config_context

from examples.federated import figures
from gopa.learning import federated

PAGE = (Path(__file__).resolve().parents[3] / "docs/learning/federated.md").read_text()


@pytest.mark.slow
def test_its_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(programs) == 4
    assert all(len([line for line in each.splitlines() if line.strip()]) <= 10 for each in programs)
    with config_context():  # a program sets it
        exec("\n".join(programs), {})  # noqa: S102 - our own page
    first, second, noise, *said = capsys.readouterr().out.splitlines()
    assert float(first) > 0.94
    assert 0.87 <= round(float(second), 2) <= 0.96
    assert 0.29 <= round(float(noise), 2) <= 0.92
    assert said[-2] == "()"
    assert "rate" in said[-1]


def test_every_name_in_its_table_is_there() -> None:
    table = PAGE.partition("## What there is")[2].partition("\n\nFunctions")[0]
    names = re.findall(r"`([A-Za-z_]+)`", table)
    assert len(names) == 14
    assert set(names) <= set(federated.__all__)


def test_the_figures_are_named() -> None:
    assert figures.names == ("cancer", "houses")
    assert f"python -m examples.federated {figures.names[0]}" in PAGE
