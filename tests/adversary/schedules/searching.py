"""Runs of many schedules, in an order that a number decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar, Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.adversary.schedules.machine import Schedules
from tests.adversary.schedules.worlds import WORLDS

STEPS: Final = 20


def search(
    examples: int,
    number: int,
    worlds: Iterable[str] = WORLDS,
    *,
    deeds: frozenset[str] = frozenset(),
    shrinks: bool = True,
) -> Counter[str]:
    """Play so many schedules; what they came to. Raises what the first bad one raises."""

    class Search(Schedules):
        counts: ClassVar[Counter[str]] = Counter()

    Search.deeds = deeds
    Search.worlds = tuple(WORLDS[name] for name in worlds)
    seed(number)(Search)
    phases = [Phase.generate, Phase.shrink] if shrinks else [Phase.generate]
    run_state_machine_as_test(
        Search,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            phases=phases,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            report_multiple_bugs=False,
        ),
    )
    return Search.counts
