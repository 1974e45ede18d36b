"""Specification 07 and the code say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
SPEC: Final = (ROOT / "specs" / "07-range-and-noise.md").read_text()
FILES: Final = (
    "zkp/noise/gaussian_table.py",
    "zkp/noise/weighted_bits.py",
    "zkp/range.py",
)


def rules() -> list[int]:
    return [int(number) for number in re.findall(r"\*\*\[R(\d+)\]\*\*", SPEC)]


def test_rules_are_numbered_without_gaps() -> None:
    assert rules() == list(range(1, 18))


@pytest.mark.parametrize("name", FILES)
def test_code_cites_rules_that_exist(name: str) -> None:
    cited = re.findall(r"\bR(\d+)\b", (ROOT / name).read_text())
    assert cited
    assert {int(number) for number in cited} <= set(rules())


@pytest.mark.parametrize("name", FILES)
def test_every_label_that_is_absorbed_is_in_the_text(name: str) -> None:
    code = (ROOT / name).read_text()
    for label in re.findall(r'absorb\w*\(\s*b"([^"]+)"', code):
        assert f"`{label}`" in SPEC, label
