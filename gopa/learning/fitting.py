"""Says how every algorithm is called, and helps it to show how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Protocol, TypeAlias

import numpy as np

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import whole
from gopa.learning.encoding import encoded
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy
from gopa.support.progress import Advance, bar_if_slow

Progress: TypeAlias = bool | Callable[[str, int, int], None] | None
"""None: a bar after two seconds. True: at once. False: never. Or a function that is told of
what goes on, how many steps are done, of how many; what it raises ends the run."""


class Fit(Protocol):
    """Is what every algorithm looks like: one call, one outcome.

    `privacy=None` asks for none. An algorithm that needs no graph or clock takes None for it, and
    one that needs them refuses None. The same `seed` gives the same `Outcome.to_bytes`.
    """

    def __call__(  # noqa: PLR0913 - every part of the question has a name
        self,
        problem: Any,
        *,
        privacy: Privacy | None,
        graph: Graph | None,
        clock: Any,
        seed: int,
        progress: Progress,
    ) -> Outcome:
        """Runs the algorithm on the problem."""


@contextmanager
def told(progress: Progress) -> Iterator[Advance]:
    """Offers the function to call after each step, whatever `progress` is.

    >>> from gopa.learning import told
    >>> with told(False) as advance:
    ...     advance("rounds", 1, 10)
    """
    if progress is None or isinstance(progress, bool):
        with bar_if_slow(progress) as advance:
            yield advance
    elif callable(progress):
        yield progress
    else:
        raise UsageError("True, False, None or a function", "progress")


def generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of random numbers of its own for each use of one seed, never for secrets.

    Noise that hides something comes from `gopa.noise`.
    """
    require_seed(seed)
    return np.random.default_rng(int.from_bytes(sha256(encoded((seed, names))).digest(), "big"))


def require_neither(graph: Any, clock: Any, why: str) -> None:
    """Refuses a graph and a clock where an algorithm has no use for them; `why` says so."""
    if graph is not None or clock is not None:
        raise UsageError(why, "graph")


def require_seed(seed: int) -> None:
    """Refuses what is no seed; an algorithm that draws nothing itself calls it first."""
    whole(seed, "seed", 0)
