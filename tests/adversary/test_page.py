"""The code of the page about security does what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.inner_pytest import run_inside

PAGE: Final = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
BLOCKS: Final = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMAND: Final = re.compile(r"`(gopa attack lost-blinding [^`]*)`")


def block(word: str) -> str:
    """The one block of code in which a word stands."""
    found: str = next(each for each in BLOCKS if word in each)
    return found


@pytest.mark.slow
def test_an_attack_of_ones_own_is_caught(tmp_path: Path) -> None:
    code = block("lost_blinding")
    assert sum(1 for line in code.splitlines() if line.strip()) < 20
    (tmp_path / "my_attacks.py").write_text(code)
    (command,) = COMMAND.findall(PAGE)
    done = run(["-m", *command.split()], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[04-P1]" in done.stdout
    assert "party 1 convicted" in done.stdout


@pytest.mark.slow
def test_a_pipeline_of_ones_own_holds_under_attack(tmp_path: Path) -> None:
    (tmp_path / "test_vote.py").write_text(block("gopa_aggregator"))
    code, out = run_inside(tmp_path, "-q", "--gopa-attacks=late-change-of-value")
    assert code == 0, out
    assert "2 passed" in out


def run(arguments: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, in a directory."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=place, capture_output=True, text=True, check=False
    )
