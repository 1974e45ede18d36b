"""Points are decoded once while there is room for them, and what is kept has bounds."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from commitments import derive_generators
from commitments.group import Group, PointVec
from gopa.rounds.rows.known_points import KnownPoints
from tests.group.backends import proving_groups
from wire.errors import MalformedMessage


class Counting:
    """A group that says how often it has decoded."""

    def __init__(self, group: Group) -> None:
        self.group, self.count = group, 0

    def decode_points(self, data: bytes, count: int) -> PointVec:
        self.count += 1
        return self.group.decode_points(data, count)


@pytest.fixture(params=proving_groups(), ids=lambda group: group.backend)
def group(request: pytest.FixtureRequest) -> Any:
    return Counting(request.param)


def encoded(group: Any, family: bytes, count: int = 6) -> bytes:
    return derive_generators(group.group, family, count).to_bytes()


def test_points_are_decoded_once(group: Any) -> None:
    known, data = KnownPoints(100), encoded(group, b"one")
    found = known.decoded(group, data, 6)
    assert found.to_bytes() == data
    assert known.decoded(group, data, 6) is found
    assert group.count == 1
    known.clear()
    assert known.decoded(group, data, 6) == found
    assert group.count == 2


def test_what_was_used_last_is_kept(group: Any) -> None:
    # With what an entry takes besides, three of them are as large as thirty points.
    known, (a, b, c, d) = (
        KnownPoints(30),
        (encoded(group, each) for each in (b"a", b"b", b"c", b"d")),
    )
    for each in (a, b, c, a, d):
        known.decoded(group, each, 6)
    assert group.count == 4
    for each in (a, c, d):
        known.decoded(group, each, 6)
    assert group.count == 4
    known.decoded(group, b, 6)
    assert group.count == 5


def test_more_than_there_is_room_for_is_decoded_and_not_kept(group: Any) -> None:
    known, data, few = KnownPoints(9), encoded(group, b"one"), encoded(group, b"few", 5)
    known.decoded(group, few, 5)
    for _ in range(2):
        assert known.decoded(group, data, 6).to_bytes() == data
    assert group.count == 3
    known.decoded(group, few, 5)
    assert group.count == 3


def test_bad_points_are_refused_each_time(group: Any) -> None:
    known, data = KnownPoints(100), encoded(group, b"one")
    known.decoded(group, data, 6)
    for bad in (data[:-32] + bytes(32), data[:-32] + b"\xff" * 32, data[:-1], data + data):
        for _ in range(2):
            with pytest.raises(MalformedMessage):
                known.decoded(group, bad, 6)
    with pytest.raises(MalformedMessage):
        known.decoded(group, data, 5)


def test_threads_may_share_it(group: Any) -> None:
    known = KnownPoints(30)
    given = [encoded(group, b"%d" % at) for at in range(5)] * 20
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda data: known.decoded(group, data, 6), given))
    assert [points.to_bytes() for points in found] == given


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_does_not_have(group: Any) -> None:
    known, data = KnownPoints(100), encoded(group, b"one")
    with known._turn:
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(int(known.decoded(group, data, 6).to_bytes() != data))
    _, status = os.waitpid(child, 0)
    assert status == 0
