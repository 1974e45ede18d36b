"""Times calls, and checks that what was timed is right."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeAlias, TypeVar

from wire.errors import InvalidProof

T = TypeVar("T")

Numbers: TypeAlias = dict[str, object]
"""What a benchmark prints: sizes and times by name."""


class Scale(IntEnum):
    """How much a benchmark runs: as little as shows that it works, its usual sizes, or all."""

    TINY, USUAL, FULL = range(3)

    def of(self, tiny: T, usual: T, full: T) -> T:
        """The size, or whatever else differs, for this scale."""
        return (tiny, usual, full)[self]


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


def wall_and_cpu(work: Callable[[], T]) -> tuple[T, float, float]:
    """The result of one call, its wall time and its CPU time, in seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, round(time.perf_counter() - wall, 3), round(time.process_time() - cpu, 3)


def ms(seconds: float) -> float:
    """Milliseconds, to a tenth of a microsecond."""
    return round(seconds * 1000, 4)


def require(fact: bool, what: str) -> None:
    """A benchmark whose result is wrong must not print a number."""
    if not fact:
        raise SystemExit(f"bench: wrong result: {what}")


def require_refused(check: Callable[[], None]) -> None:
    """A proof must not hold in another context than its own."""
    try:
        check()
    except InvalidProof:
        return
    require(False, "a proof in another context was accepted")
