from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from gopa.adversary import attacks, named
from tests.adversary import page
from tests.adversary.weakened import came_of, line
from tests.adversary.weaknesses import WEAKNESSES

PAGE: Final = (Path(__file__).parents[2] / "docs" / "attacks.md").read_text().splitlines()
"""`python -m tests.adversary.page > docs/attacks.md` makes it anew."""


def test_every_attack_has_a_weakness() -> None:
    assert list(WEAKNESSES.keys() - attacks().keys()) == []
    assert list(attacks().keys() - WEAKNESSES.keys()) == []


def drawn(share: int, *, served: bool) -> set[str]:
    """So many of those that run over HTTP, or of the others."""
    names = [name for name, each in attacks().items() if (each.family == "served") is served]
    return set(sorted(names, key=lambda name: sha256(name.encode()).digest())[1::share])


DRAWN: Final = drawn(6, served=False) | drawn(12, served=True)
"""Attacks whose defence is taken away by default; the others wait for `make soak`."""


@pytest.mark.thirds(2)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in DRAWN else pytest.mark.soak) for name in attacks()],
)
def test_without_its_defence_the_attack_succeeds(name: str) -> None:
    """The honest twin holds in the weakened build as well, or `run` raises.

    That the attack fails with its defence is said in `test_catalogue`.
    """
    row = came_of(name)
    assert row.succeeded
    assert page.line(name, row) in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["long-vector", "noise-after-the-coins", "false-edge-of-two"])
def test_without_their_defence_lies_about_rows_go_on_to_the_sum(name: str) -> None:
    """One of each kind, every time: of rows, of words, of masks."""
    row = came_of(name)
    assert row.harm == ("a wrong sum was accepted",)


def test_the_page_has_no_other_attacks() -> None:
    named_there = [each.split("`")[1] for each in PAGE if each.startswith("| `")]
    assert named_there == list(attacks())


def test_nothing_stays_weakened() -> None:
    assert came_of("hidden-residual").succeeded
    assert named("hidden-residual").run().held


def test_the_table_names_check_rule_and_what_happens() -> None:
    text = line("hidden-residual")
    assert text.split()[:3] == ["hidden-residual", "4.3", "[04-O3]"]
    assert text.endswith("a wrong sum was accepted")
