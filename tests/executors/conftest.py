"""One cluster for all tests of a process, stopped when the last of them is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gopa.executors import RayExecutor
from gopa.executors.cluster import _JOINED
from tests.board.waiting import until
from tests.executors.processes import below

WORKERS = 2


@pytest.fixture(scope="session")
def on_ray() -> Iterator[RayExecutor]:
    before = below().keys()  # such as a fork server of another test, which lives on
    with RayExecutor(workers=WORKERS) as executor:
        assert executor.submit(abs, -1).result() == 1
        started = {each: name for each, name in below().items() if each not in before}
        assert any("raylet" in name for name in started.values())
        directory = _JOINED.directory
        assert directory is not None
        yield executor
    assert until(lambda: not started.keys() & below().keys())
    assert _JOINED.directory is None
