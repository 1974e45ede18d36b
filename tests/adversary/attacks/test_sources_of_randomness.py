"""Where others drew masks from a seeded toy generator, or shipped one key to everybody."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gopa.adversary.setup import FOUR
from gopa.aggregation import LocalAggregator
from gopa.contract.manifest import Roster

ROOT: Final = Path(__file__).resolve().parents[3]
PACKAGES: Final = ("bulletin_board", "commitments", "gopa", "wire", "zkp")

STATISTICS: Final = frozenset(
    {
        "gopa/graph/spectrum.py",
        "gopa/cli/attack_privacy.py",
        "gopa/cli/simulate_output.py",
        "gopa/learning/outcome.py",
    }
)
"""Modules that estimate or make up something, and draw no secret, may use the generators of numpy.

So may the games of `gopa.adversary.privacy`, which simulate what somebody could see.
"""


def sources() -> Iterator[tuple[str, ast.AST]]:
    """Every module of the library with its name."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def toys(tree: ast.AST) -> set[str]:
    """Generators that whoever has seen a few numbers can foresee."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names if each.name == "random"}
        elif isinstance(node, ast.ImportFrom) and node.module in {"random", "numpy.random"}:
            found.add(node.module)
        elif isinstance(node, ast.Attribute) and node.attr in {"default_rng", "RandomState"}:
            found.add(node.attr)
    return found


@pytest.mark.parametrize(
    "code",
    ["import random", "from random import choice", "np.random.default_rng(1)"],
)
def test_toys_are_found(code: str) -> None:
    assert toys(ast.parse("import secrets")) == set()
    assert toys(ast.parse(code))


@pytest.mark.slow
def test_no_secret_is_drawn_from_a_toy() -> None:
    found = {name: toys(tree) for name, tree in sources()}
    assert len(found) > 100
    used = {name for name, names in found.items() if names}
    games = {name for name in used if name.startswith("gopa/adversary/privacy/")}
    assert used - games == STATISTICS
    assert not any("random" in names for names in found.values())


def test_two_sessions_of_one_plan_share_no_key() -> None:
    """Nor does a seed that was given make them those of another one."""

    def keys(seed: int | None) -> set[bytes]:
        with LocalAggregator(FOUR, seed=seed) as made:
            made.average([0, 1, 0, 1])
            assert made.simulation is not None
            manifest = made.simulation.manifest
        assert isinstance(manifest.admission, Roster)
        return {*manifest.admission.keys, manifest.organiser, manifest.log, manifest.salt}

    first = keys(None)
    assert len(first) == 7
    assert not first & keys(None)
    assert not first & keys(7)
    assert keys(7) == keys(7)
    assert not keys(7) & keys(8)
