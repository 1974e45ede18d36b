"""Waiting for what other threads and processes do, on machines that are slow or stall."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

LONG: Final = 60.0
"""Seconds after which it is certain that something does not happen, however slow the machine."""

_PAUSE = 0.01


def until(condition: Callable[[], bool], seconds: float = LONG) -> bool:
    """Whether the condition came to hold in time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return condition()
