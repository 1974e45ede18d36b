"""An event loop in a thread: it ends when it is told to, with all that runs in it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gopa.sessions.client import Background

NAME = "of this test"


def threads() -> int:
    return sum(each.name == NAME for each in threading.enumerate())


def test_what_still_runs_is_cancelled_and_the_thread_ends() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(endless())
        await asyncio.sleep(0)
        return task

    with Background(NAME) as background:
        task = background.run(begin())
        assert (background.closed, threads(), ended) == (False, 1, [])
    assert (background.closed, threads(), ended) == (True, 0, ["cancelled"])
    assert task.cancelled()
    background.close()
    assert background.closed


def test_errors_are_the_callers() -> None:
    async def fail() -> None:
        raise LookupError

    with Background(NAME) as background, pytest.raises(LookupError):
        background.run(fail())
    assert threads() == 0
