"""Refuses strategies that need the update of each client: nobody has it but the client."""

from __future__ import annotations

import inspect
from typing import Any, Final

from wire.errors import UsageError

_EACH = "it compares or sorts single updates, and nobody gets to see one"
_WRAPPER = "its noise would come on top of that of the session: ask gopa.plan for the epsilon"
_TREES = "trees are collected, not averaged"

UNFIT: Final = {
    "Bulyan": _EACH,
    "FedMedian": _EACH,
    "FedTrimmedAvg": _EACH,
    "Krum": _EACH,
    "MultiKrum": _EACH,
    "QFedAvg": "it weighs each client by its own loss on the server, which would have to see it",
    "FedXgbBagging": _TREES,
    "FedXgbCyclic": _TREES,
    "DifferentialPrivacyClientSideAdaptiveClipping": _WRAPPER,
    "DifferentialPrivacyClientSideFixedClipping": _WRAPPER,
    "DifferentialPrivacyServerSideAdaptiveClipping": _WRAPPER,
    "DifferentialPrivacyServerSideFixedClipping": _WRAPPER,
}
"""Strategies of Flower that cannot work on sums, and why."""


class UnfitStrategy(UsageError):
    """A strategy that needs more than the sum of what clients train."""


def require_fit(strategy: Any) -> None:
    """Return if a strategy works on averages; raises `UnfitStrategy` for one that is known not to.

    What is derived from such a strategy is refused too.
    """
    for each in type(strategy).__mro__:
        if each.__module__.startswith("flwr.") and each.__name__ in UNFIT:
            raise UnfitStrategy(
                f"{each.__name__} cannot be used: {UNFIT[each.__name__]}", "strategy"
            )


def calling_strategy() -> Any:
    """The strategy whose `start` has led here, None if there is none: a grid is not told of it."""
    from flwr.serverapp.strategy import Strategy

    frame = inspect.currentframe()
    while frame is not None:
        found = frame.f_locals.get("self")
        if isinstance(found, Strategy):
            return found
        frame = frame.f_back
    return None
