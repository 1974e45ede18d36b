"""Decides how long a party waits, by which clock, and asks its board again whatever went wrong.

An honest board that starts again, whose witnesses are still asleep, or that is reached through
a proxy shows nothing, too little, or something else for a while. A party that ended for that
could be sent away by whoever is between it and the board.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from bulletin_board import Refused
from bulletin_board.display import visible
from wire.errors import FaultyBoard, ProtocolError, Unattributed


@dataclass(frozen=True, slots=True)
class RoundPatience:
    """Leaves a round in which the organiser says nothing for `round_seconds`.

    It tries again after `retry_seconds` when the board cannot be reached. `clock` never goes
    back. `date` shows seconds since 1970, which decide whether a party heard of a roll before
    the value of a beacon could be known.
    """

    round_seconds: float = 3_600.0
    retry_seconds: float = 2.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    date: Callable[[], float] = time.time


_LONGEST: Final = 300
_LOG: Final = logging.getLogger("gopa.sessions")
_T = TypeVar("_T")


class NotShown(Unattributed):
    """The board did not show or take what it should: the same request may succeed later."""


async def shown(asked: Awaitable[_T]) -> _T:
    """The answer of a `SessionLog`.

    Raises:
        NotShown: there was none that holds; ask again.
        FaultyBoard: a fork is for good.
        Refused: a post was not taken, for a reason that does not pass.
    """
    try:
        return await asked
    except (FaultyBoard, Refused):
        raise
    except ProtocolError as error:
        raise NotShown(visible(str(error), _LONGEST)) from error


async def until_shown(ask: Callable[[], Awaitable[_T]], waiting: RoundPatience) -> _T:
    """Ask until there is an answer; raises as `shown`, but never `NotShown`."""
    while True:
        try:
            return await shown(ask())
        except NotShown as error:
            await pause(error, waiting)


async def pause(error: NotShown, waiting: RoundPatience) -> None:
    """Say why, and wait before the next attempt."""
    _LOG.info("%s; trying again", error)
    await waiting.sleep(waiting.retry_seconds)
