"""The benchmark of Flower runs at its smallest scale and prints what is recorded."""

from __future__ import annotations

import json

import pytest

from bench import flower
from bench.measure import Scale
from tests.architecture.benchmark_keys import names, recorded


def test_it_runs_and_prints_what_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "0")
    printed = json.loads(json.dumps(flower.run(Scale.TINY)))
    assert sorted(names(printed)) == recorded()["flower"]
