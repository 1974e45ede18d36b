"""The example on a SuperLink with three SuperNodes, as processes: what the server's memory has."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gopa
from tests.plugins.flower.deployed import EXAMPLE, Deployment, deployed, memory_has

NODES, SECONDS = 3, 540.0
RUN = 48
"""Bytes of a mark: six numbers in a row, so that none is there by chance."""


def marks() -> tuple[dict[str, bytes], bytes]:
    """What each node has after training in the first round, and the model that all get then."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        from flower_verified import task
    finally:
        sys.path.remove(str(EXAMPLE))
    found, models, counts = {}, [], []
    for node in range(NODES):
        x, y = task.rows(node, NODES)
        (weights, bias), _ = task.trained(task.beginning(), x, y)
        models.append(bias)
        counts.append(len(y))
        for name, array in (("weights", weights[20]), ("bias", bias)):
            for kind in (np.float64, np.float32):
                numbers = array[:6].astype(kind).tobytes()
                found[f"{name} of node {node}, {kind.__name__}"] = numbers[:RUN]
    mean = np.average(models, axis=0, weights=counts)
    return found, mean[:6].round(3).tobytes()


def watched(held: Deployment, secret: dict[str, bytes], look: float) -> tuple[set[str], int]:
    """What was ever in the memory of the server while the app ran, and how often that was read."""
    app, end = held.app(), time.monotonic() + SECONDS
    found: set[str] = set()
    looks = 0
    while app.poll() is None and time.monotonic() < end:
        for pid in held.server():
            found |= memory_has(pid, secret)
        looks += 1
        time.sleep(look)
    assert app.poll() == 0, held.said("run")[-3000:]
    return found, looks


@pytest.mark.parametrize(
    ("rounds", "pause", "look"),
    [(1, 0.3, 1.0), pytest.param(2, None, 2.0, marks=pytest.mark.soak)],
    ids=["one, with short pauses", "two, as Flower waits"],
)
def test_rounds_over_a_superlink_show_its_server_nothing(
    rounds: int, pause: float | None, look: float, tmp_path: Path
) -> None:
    secret, _ = marks()
    known = {"the name of the app": b"flower-verified", "our record": b"gopa-tunnel"}
    with deployed(tmp_path, NODES, rounds, pause) as held:
        found, looks = watched(held, secret | known, look)
        said = held.said("run")
    assert looks >= 3
    assert "the name of the app" in found  # the memory that is read is that of the app
    assert not found & secret.keys()
    assert said.count("3 clients, 1797 rows") == rounds, said[-3000:]
    (log,) = (tmp_path / "logs").glob("*.gopa")
    report = gopa.audit(log, anchors=log.with_suffix(".anchors"))
    assert report.verdict.value == "SIGNED-ONLY"
    assert not report.faults
    for node in range(NODES):
        home = tmp_path / f"home-{node}" / "sessions"
        assert [each.stat().st_size for each in home.iterdir()] == [0]


def test_memory_that_has_a_mark_is_found() -> None:
    """Looks into this process, which has all marks: a check that could not fail would be none."""
    secret, _ = marks()
    import os

    assert memory_has(os.getpid(), secret) == secret.keys()
