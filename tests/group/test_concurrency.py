"""One set of objects used by many threads, and by a process forked at a bad moment."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from commitments.group import Group
from tests.group.values import random_points, random_scalars, stream

THREADS = 4
LONG = 300.0  # seconds: a slow machine is no deadlock


def test_threads_share_objects(group: Group) -> None:
    points, scalars = random_points(group, 600), random_scalars(group, 600)
    fixed = group.fixed_bases(points[:1])
    encoded = points.to_bytes()
    work: list[Callable[[], bytes]] = [
        lambda: points.vartime_msm(scalars).to_bytes(),
        lambda: points[:40].msm(scalars[:40].secret()).to_bytes(),
        lambda: points[:40].__mul__(scalars[:40]).to_bytes(),
        lambda: group.decode_points(encoded, 600).to_bytes(),
        lambda: fixed.combine(scalars[:40]).to_bytes(),
        lambda: scalars.inverse().to_bytes() + scalars.sum().to_bytes(),
        lambda: stream(group).scalars(1000).reveal().to_bytes(),
    ]
    expected = [job() for job in work]
    with ThreadPoolExecutor(THREADS) as pool:
        rounds = pool.map(lambda _: [job() for job in work], range(THREADS))
        assert list(rounds) == [expected] * THREADS


def test_threads_share_fresh_objects(group: Group) -> None:
    """Whatever an object computes on first use, it may be computed twice at once."""
    expected = random_points(group, 200).to_bytes()
    for attempt in range(3):
        points = random_points(group, 200)
        with ThreadPoolExecutor(THREADS) as pool:
            singles = pool.map(lambda i, p=points: p[i % 200].to_bytes(), range(400))
            assert b"".join(singles) == expected * 2, attempt
            whole = pool.map(lambda _, p=points: p.to_bytes(), range(THREADS))
            assert list(whole) == [expected] * THREADS


def _large_sum(group: Group) -> bytes:
    points, scalars = random_points(group, 1000), random_scalars(group, 1000)
    return points.vartime_msm(scalars).to_bytes()


def _answer(group: Group, points: Any, scalars: Any, connection: Any) -> None:
    mask: Any = np.zeros(100_000, dtype="i8")
    stream(group).add_to(mask, 1)
    connection.send((points.vartime_msm(scalars).to_bytes(), _large_sum(group), mask.tobytes()))
    connection.close()


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("children", [1, 3])
def test_a_forked_child_computes(group: Group, children: int) -> None:
    """The parent's worker threads do not exist in the child; it must not wait for them."""
    expected = _large_sum(group)
    points, scalars = random_points(group, 1000), random_scalars(group, 1000)
    mask: Any = np.zeros(100_000, dtype="i8")
    stream(group).add_to(mask, 1)
    context = multiprocessing.get_context("fork")
    running = []
    for _ in range(children):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_answer, args=(group, points, scalars, sender))
        with warnings.catch_warnings():
            # From Python 3.12 on: forking beside threads is what is tested here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        sender.close()
        running.append((child, receiver))
    for child, receiver in running:
        try:
            assert receiver.poll(LONG), "the child hangs"
            assert receiver.recv() == (expected, expected, mask.tobytes())
            child.join(LONG)
            assert child.exitcode == 0
        finally:
            child.kill()
            child.join()
            receiver.close()
    assert _large_sum(group) == expected


def test_a_child_forked_while_a_thread_encodes(group: Group) -> None:
    """What the thread was about to remember never comes in the child; it must not wait for it."""
    points = random_points(group, 20_000 if group.backend == "native" else 100)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=points.to_bytes)
    with ThreadPoolExecutor(1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        encoding = pool.submit(points.to_bytes)
        time.sleep(0.01)
        child.start()
        assert len(encoding.result()) == len(points) * group.point_size
    try:
        child.join(LONG)
        assert child.exitcode == 0, "the child hangs"
    finally:
        child.kill()
        child.join()
