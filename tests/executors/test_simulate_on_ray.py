"""`gopa simulate --ray`: the same log, and a cluster of somebody else's stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gopa.executors import RayExecutor
from tests.cli.test_simulate import SMALL, facts, refused

pytestmark = pytest.mark.together("ray")


@pytest.mark.slow
def test_ray_changes_no_byte(tmp_path: Path, on_ray: RayExecutor) -> None:
    plain, spread = tmp_path / "plain.gopa", tmp_path / "spread.gopa"
    assert facts(*SMALL, "--archive", plain)["rounds"]
    facts(*SMALL, "--archive", spread, "--ray")
    assert plain.read_bytes() == spread.read_bytes()
    assert on_ray.submit(abs, -3).result() == 3
    assert refused(*SMALL, "--ray", "127.0.0.1:1").field == "address"
