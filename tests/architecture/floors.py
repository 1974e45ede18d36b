"""Finds the floors of the packages from their imports: who rests on whom.

A unit is a package of the tree, or a package or module directly in `gopa`. Every import counts,
also one inside a function and one for types only. A unit stands one floor above the highest that
it imports, so no import runs up; a circle has no floors and is an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = ("wire", "commitments", "zkp", "bulletin_board", "gopa")
ASIDE: Final = frozenset({"gopa", "gopa.__main__"})
"""The names that users see, and the entry point: no floor of their own."""

Imports = Mapping[str, frozenset[str]]


def imports(root: Path = ROOT) -> Imports:
    """What every unit below `root` imports of the others; one that is still empty is left out.

    Names that users import out of `gopa` itself are no units.
    """
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            unit = unit_of(".".join(parts).removesuffix(".__init__"))
            others = {unit_of(name) for name in _imported(file.read_text()) if _is_ours(name)}
            found.setdefault(unit, set()).update(others - {unit} - ASIDE)
    used = frozenset().union(*found.values())
    return {
        unit: frozenset(others & found.keys())
        for unit, others in found.items()
        if unit not in ASIDE and (others or unit in used)
    }


def unit_of(module: str) -> str:
    """The unit that a module belongs to, by its dotted name."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "gopa" else parts[0]


def floors(found: Imports) -> list[list[str]]:
    """All units from the lowest floor to the highest.

    Raises:
        CycleError: units that import each other in a circle, which it names.
    """
    height: dict[str, int] = {}
    for unit in TopologicalSorter(found).static_order():
        height[unit] = max((height[other] + 1 for other in found[unit]), default=0)
    rows: list[list[str]] = [[] for _ in range(max(height.values(), default=-1) + 1)]
    for unit in sorted(height):
        rows[height[unit]].append(unit)
    return rows


def rests_on(found: Imports) -> Imports:
    """Imports without those that also lead over another unit: the lines that are worth drawing."""
    below: dict[str, frozenset[str]] = {}
    for unit in TopologicalSorter(found).static_order():
        below[unit] = found[unit].union(*(below[other] for other in found[unit]))
    return {
        unit: frozenset(
            other for other in others if not any(other in below[third] for third in others)
        )
        for unit, others in found.items()
    }


def _imported(source: str) -> Iterator[str]:
    """Dotted names that a module imports; a package is named by what is taken out of it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "gopa":
            yield from (f"gopa.{each.name}" for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES
