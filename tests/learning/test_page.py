"""The page on learning runs as it stands, and names what there is."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gopa.adversary
from gopa import learning

PAGES = Path(__file__).resolve().parents[2] / "docs/learning"
PAGE = (PAGES / "README.md").read_text()


def programs_of(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_its_program_runs_and_keeps_to_its_budget() -> None:
    (program,) = programs_of(PAGE)
    assert len(ast.parse(program).body) <= 10
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    *said, room, within = done.stdout.splitlines()
    assert (room, within) == ("0", "True")
    assert any("epsilon 1" in line for line in said)
    assert any("simulation" in line for line in said)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["correlated", "without-replacement"])
def test_programs_of_other_pages_run(name: str) -> None:
    programs = re.findall(
        r"^```python\n(.*?)^```", (PAGES / f"{name}.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert programs
    for program in programs:
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)


def test_every_name_in_its_table_is_there() -> None:
    table = PAGE.partition("## Where to find what")[2].partition("\n## ")[0]
    names = set(re.findall(r"`([A-Za-z_]+)(?:\([^`]*\))?`", table))
    known = {"GOPA_DATA", "unit", "view", "relation", "charge", "room", "at", "learning", "data"}
    methods = {name for name in names if hasattr(learning.History, name)}
    assert {"iid", "Privacy", "linear_models"} <= names
    assert all(hasattr(learning, name) for name in names - known - methods)
    assert hasattr(gopa.adversary, "distinguish")
