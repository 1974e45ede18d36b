"""What a party asks of its board is asked again, whatever kept it from an answer.

An honest board that starts again, whose witnesses are still asleep, or that is reached through
a proxy shows nothing, too little, or something else for a while. A party that ended for that
could be sent away by whoever is between it and the board.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from bulletin_board import Refused
from bulletin_board.visible import visible
from gopa.sessions.patience import Waiting
from wire.errors import FaultyBoard, ProtocolError, Unattributed

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


async def until_shown(ask: Callable[[], Awaitable[_T]], waiting: Waiting) -> _T:
    """Ask until there is an answer; raises as `shown`, but never `NotShown`."""
    while True:
        try:
            return await shown(ask())
        except NotShown as error:
            await pause(error, waiting)


async def pause(error: NotShown, waiting: Waiting) -> None:
    """Say why, and wait before the next attempt."""
    _LOG.info("%s; trying again", error)
    await waiting.sleep(waiting.retry_seconds)
