"""The inputs a party has ready for rounds to come, and what became of those rounds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from gopa.messages.organiser import Abort, Result
from gopa.party import Part
from wire.secret import Guarded


@dataclass(frozen=True, slots=True)
class Decided:
    """A logical round has its result, or will have none any more.

    `count` is how many parties are in the result. `part` is what part this party had in the
    last attempt.
    """

    round: int
    logical: int
    attempt: int
    part: Part
    outcome: Result | Abort
    count: int


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Offer(Guarded):
    """Integers on the session's grid for the next logical round; done when it is decided."""

    row: tuple[int, ...]
    decided: asyncio.Future[Decided]
