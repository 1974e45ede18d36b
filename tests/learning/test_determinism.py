"""A seed is a run: the same bytes in fresh processes, and the same integers on other cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.learning.runs import digests

ROOT = Path(__file__).resolve().parents[2]


def told(*arguments: str, **environment: str) -> Any:
    command = [sys.executable, "-m", "tests.learning.runs", *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return json.loads(done.stdout)


def threads(count: int) -> dict[str, str]:
    return {"OPENBLAS_NUM_THREADS": str(count), "OMP_NUM_THREADS": str(count)}


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.soak), 2])
@pytest.mark.slow
def test_a_seed_gives_equal_bytes_in_fresh_processes_forked_and_spawned(count: int) -> None:
    here = digests()
    assert len(set(here)) == 8
    assert told(**threads(count)) == [here] * 3


@pytest.mark.soak
@pytest.mark.parametrize("core", ["Nehalem", "Haswell", "Sandybridge"])
def test_another_core_gives_equal_integers_and_models_to_nine_digits(core: str) -> None:
    here, there = told("--facts"), told("--facts", OPENBLAS_CORETYPE=core)
    assert here["integers"] == there["integers"]
    assert np.allclose(here["models"], there["models"], rtol=1e-9, atol=1e-9)
