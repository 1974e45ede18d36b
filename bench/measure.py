"""CPU time of one call, with its result handed back to be checked."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Timed(Generic[T]):
    """The best CPU seconds over the repetitions, and the last result."""

    seconds: float
    result: T

    def us_per(self, items: int) -> float:
        """Microseconds of CPU for each of `items`."""
        return round(self.seconds * 1e6 / items, 4)


def cpu_time(work: Callable[[], T], *, repeat: int = 5, inner: int = 1) -> Timed[T]:
    """Run `work` `repeat` times `inner` and keep the fastest.

    CPU time of the whole process, all threads: other tenants of a shared machine
    disturb it less than wall time, and the minimum disturbs it least.
    """
    work()
    gc.collect()
    gc.disable()
    try:
        best = float("inf")
        for _ in range(repeat):
            start = time.process_time()
            for _ in range(inner):
                result = work()
            best = min(best, (time.process_time() - start) / inner)
    finally:
        gc.enable()
    return Timed(best, result)


def require(fact: bool, what: str) -> None:
    """A benchmark whose result is wrong must not print a number."""
    if not fact:
        raise SystemExit(f"bench: wrong result: {what}")
