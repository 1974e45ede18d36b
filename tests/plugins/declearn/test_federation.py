"""A federation trains over verified sums as it does over sums of clear updates."""

from __future__ import annotations

from pathlib import Path

import pytest

import gopa
from gopa.auditing.report import Verdict
from gopa.plugins.fixed_point import FixedPoint
from tests.plugins.declearn.worlds import Federation, difference


def test_the_model_is_that_of_plain_averaging(tmp_path: Path) -> None:
    plain = Federation(rounds=2, server=None).run()
    world = Federation(rounds=2, server={"logs": str(tmp_path)})
    ours = world.run()
    coding = FixedPoint.finest(64, 1e5, 33)
    # Each of two sums is off by half a step for each client, and is divided by the weights.
    assert 0 < difference(plain, ours) < 2 * world.clients * coding.step
    assert not world.failed
    logs = sorted(tmp_path.glob("*.gopa"))
    assert len(logs) == 4  # two for training, two for evaluation
    for log in logs:
        report = gopa.audit(log, anchors=log.with_suffix(".anchors"))
        assert report.verdict is Verdict.SIGNED_ONLY


@pytest.mark.parametrize("bits", [12, 24])
def test_a_coarse_grid_is_off_by_its_own_rounding(bits: int) -> None:
    plain = Federation(server=None, evaluates=2).run()
    world = Federation(server={"bitsize": bits, "clipval": 64.0}, evaluates=2)
    ours = world.run()
    coding = FixedPoint.finest(bits, 64.0, 33)
    found = difference(plain, ours)
    assert coding.step / 1e3 < found < world.clients * coding.step


@pytest.mark.parametrize(
    ("features", "proved"), [(4, "inputs in the range"), (30, "vectors no longer than stated")]
)
def test_in_full_mode_the_audit_says_valid(tmp_path: Path, features: int, proved: str) -> None:
    server = {"mode": "full", "bitsize": 16, "clipval": 64.0, "logs": str(tmp_path)}
    world = Federation(server=server, policy={"mode": "full"}, features=features, evaluates=2)
    plain = Federation(server=None, features=features, evaluates=2).run()
    assert difference(plain, world.run()) < 4 * FixedPoint.finest(16, 64.0, 8).step
    (log,) = tmp_path.glob("*.gopa")
    report = gopa.audit(log, anchors=log.with_suffix(".anchors"))
    assert report.verdict is Verdict.VALID
    assert proved in str(report)
