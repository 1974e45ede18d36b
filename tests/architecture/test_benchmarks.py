"""Every benchmark can be called by a name, and runs."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from bench import protocol
from bench.__main__ import BENCHMARKS
from bench.measure import Scale
from gopa.extras import EXTRAS
from tests.architecture.benchmark_keys import names, recorded
from tests.architecture.floors import ROOT
from wire.errors import BackendError

BENCH: Final = ROOT / "bench"
EXTRA: Final = {"flower"}
"""Run in the environment of `make test-plugins`, in `tests/plugins`."""
ON_LINUX: Final = {"audit", "terms", "vectors", "vectors-growth"}
"""Read the memory of processes from /proc."""
QUICK: Final = {"plan-table", "recovered"}
"""Take less than .6 s of processor time; the others are slow tests."""


def runs(file: Path) -> bool:
    """Whether a module has a `run` that can be asked for another scale."""
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name == "run"
        and [each.arg for each in node.args.args] == ["scale"]
        for node in ast.parse(file.read_text()).body
    )


def modules() -> Iterator[str]:
    return (f"bench.{file.stem}" for file in sorted(BENCH.glob("*.py")) if runs(file))


def test_every_benchmark_has_a_name() -> None:
    assert {each.__module__ for each in BENCHMARKS.values()} == set(modules())


def test_names_are_those_of_the_modules() -> None:
    for name, run in BENCHMARKS.items():
        assert run.__module__ == f"bench.{name.replace('-', '_')}"


def test_every_benchmark_has_recorded_names() -> None:
    assert set(recorded()) == set(BENCHMARKS)


def cases() -> Iterator[object]:
    here = set(BENCHMARKS) - EXTRA
    for name in sorted(here if sys.platform == "linux" else here - ON_LINUX):
        yield pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("name", cases())
def test_it_runs_and_prints_what_is_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark whose result is wrong ends with SystemExit and prints nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    printed = json.loads(json.dumps(BENCHMARKS[name](Scale.TINY)))
    assert sorted(names(printed)) == recorded()[name]


@pytest.mark.parametrize("name", sorted(EXTRA))
def test_it_says_which_extra_it_needs(name: str) -> None:
    """Where the extra is installed, `tests/plugins` runs it."""
    if importlib.util.find_spec(EXTRAS[name].module) is None:
        with pytest.raises(BackendError):
            BENCHMARKS[name](Scale.TINY)


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is wrong on purpose: a round that counts somebody's value twice."""
    right = protocol.inputs
    terms = protocol.scalar_terms(20)
    setting = protocol.SessionSetting()
    played = protocol.play(terms, setting, right(terms))
    assert played.record.sums is not None
    monkeypatch.setattr(type(played.record), "sums", property(lambda _: (0,)), raising=False)
    with pytest.raises(SystemExit):
        protocol.play(terms, setting, right(terms))
