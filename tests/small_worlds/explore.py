"""Acting worlds out, and holding every one against the model and the secrets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tests.small_worlds.model import predict
from tests.small_worlds.oracle import (
    as_it_began,
    require_checked,
    require_exact,
    require_hidden,
    require_just,
    require_predicted,
)
from tests.small_worlds.play import Played, play
from tests.small_worlds.ways import Different
from tests.small_worlds.world import World

THOROUGHLY_EVERY: Final = 64
"""Two in so many logs are also read by an auditor and by somebody who asks at every entry."""


def explored(worlds: Iterable[World]) -> int:
    """Act out every world that differs from the others; how many these are.

    In every second one the organiser cuts below the entries that come late.
    """
    number = 0
    for number, world in enumerate(Different().among(worlds), 1):
        played = play(world, below=number % 2 == 0)
        require_sound(played, thoroughly=number % THOROUGHLY_EVERY in {0, 1})
    return number


def require_sound(
    played: Played, *, thoroughly: bool = False, before: frozenset[int] = frozenset()
) -> frozenset[int]:
    """Everything that has to hold in one logical round, in each of its attempts.

    `before` and the result are those that are barred for good; attempts bar others too.
    """
    retry: set[int] = set()
    for attempt in range(len(played.record.attempts)):
        world = as_it_began(played, attempt, before | retry)
        outcome = predict(world)
        require_predicted(played, outcome, attempt)
        require_exact(played, outcome, attempt)
        require_hidden(played, attempt)
        before, retry = before | outcome.barred_for_good, retry | outcome.barred_from_retries
    require_just(played)
    require_checked(played, thoroughly=thoroughly)
    return before
