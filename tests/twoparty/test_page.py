"""The page on two parties runs as it stands, and names what there is."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

from gopa import twoparty
from gopa.twoparty import arithmetic

PAGE = (Path(__file__).resolve().parents[2] / "docs/learning/two-parties.md").read_text()


def test_its_program_runs() -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    lines = [node for node in ast.parse(program).body if not isinstance(node, ast.Import)]
    assert len(lines) <= 10
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    answer, tables = done.stdout.split()
    assert answer in {"0", "1"}
    assert tables == "34"


def test_every_name_in_its_table_is_there() -> None:
    table = PAGE.partition("| you want to")[2].partition("\n\n")[0]
    names = set(re.findall(r"`([a-zA-Z_]+)(?:\([^`]*\))?`", table))
    classes = (twoparty.Garbler, twoparty.LaplaceNoise, twoparty.RandomisedAnswer)
    things = (twoparty, arithmetic, *classes)
    assert {"comparison", "Builder", "start"} <= names
    assert [name for name in names if not any(hasattr(each, name) for each in things)] == []
