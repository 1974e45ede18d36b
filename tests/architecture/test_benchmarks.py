"""Every benchmark can be called by a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.__main__ import BENCHMARKS
from tests.architecture.floors import ROOT

BENCH: Final = ROOT / "bench"


def runs(file: Path) -> bool:
    """Whether a module has a `run` that may be asked for the full benchmark."""
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name == "run"
        and [each.arg for each in node.args.args] == ["full"]
        for node in ast.parse(file.read_text()).body
    )


def modules() -> Iterator[str]:
    return (f"bench.{file.stem}" for file in sorted(BENCH.glob("*.py")) if runs(file))


def test_every_benchmark_has_a_name() -> None:
    assert {each.__module__ for each in BENCHMARKS.values()} == set(modules())


def test_names_are_those_of_the_modules() -> None:
    for name, run in BENCHMARKS.items():
        assert run.__module__ == f"bench.{name.replace('-', '_')}"
