"""Every benchmark can be called by a name, and runs."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from bench import audit, protocol
from bench.__main__ import BENCHMARKS
from bench.measure import Scale
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Refusal
from gopa.protocol.simulation import RoundRecord
from gopa.support.extras import EXTRAS
from tests.architecture.benchmark_keys import names, recorded
from tests.architecture.floors import ROOT
from wire.errors import BackendError, UsageError

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


def cases() -> Iterator[Any]:
    here = set(BENCHMARKS) - EXTRA
    for name in sorted(here if sys.platform == "linux" else here - ON_LINUX):
        yield pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("name", list(cases()))
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


@pytest.mark.slow
def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = protocol.scalar_terms(10)
    right = protocol.play(terms, SessionSetting(), protocol.inputs(terms)).record.sums
    assert right is not None
    monkeypatch.setattr(RoundRecord, "sums", (right[0] + 1,))
    with pytest.raises(SystemExit):
        protocol.play(terms, SessionSetting(), protocol.inputs(terms))


@pytest.mark.slow
def test_terms_that_claim_too_much_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    terms = protocol.scalar_terms(20)
    audit.made(20)
    protocol.play(terms, SessionSetting(), protocol.inputs(terms))
    fewer = replace(terms, k=terms.k // 2)
    monkeypatch.setattr(audit, "scalar_terms", lambda _: fewer)
    with pytest.raises(UsageError):
        audit.made(20)
    with pytest.raises(Refusal):
        protocol.play(fewer, SessionSetting(), protocol.inputs(fewer))
