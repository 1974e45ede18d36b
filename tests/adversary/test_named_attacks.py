"""Comments say which attack a check stops, by its name in the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

from gopa.adversary.library import attacks

ROOT = Path(__file__).resolve().parents[2]
NAMING = re.compile(r"\(attacks?\s+((?:`[a-z-]+`[,\s]*)+)\)")
PACKAGES = ("protocol", "contract", "rounds", "auditing")


def named_in(text: str) -> set[str]:
    return {name for group in NAMING.findall(text) for name in re.findall(r"`([^`]+)`", group)}


def named() -> set[str]:
    files = [file for package in PACKAGES for file in (ROOT / "gopa" / package).rglob("*.py")]
    return set().union(*(named_in(file.read_text()) for file in files))


def test_attacks_that_code_names_exist() -> None:
    known = set(attacks())
    assert len(named()) > 15
    assert named() <= known


def test_two_names_are_two() -> None:
    assert named_in("stops it (attacks `one-two`,\n    `three`) and more") == {"one-two", "three"}
