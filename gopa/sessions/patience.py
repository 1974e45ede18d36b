"""How long a party waits, and by which clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waiting:
    """The party leaves a round in which the organiser says nothing for `round_seconds`.

    It tries again after `retry_seconds` when the board cannot be reached. `clock` never goes
    back. `date` shows seconds since 1970, which decide whether a party heard of a roll before
    the value of a beacon could be known.
    """

    round_seconds: float = 3_600.0
    retry_seconds: float = 2.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    date: Callable[[], float] = time.time
