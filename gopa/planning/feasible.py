"""Says what works instead of a target that no plan meets: tries close ones, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gopa.planning.defaults import CORRUPT
from gopa.planning.result import Plan
from gopa.planning.usefulness import DROPOUTS
from wire.errors import UsageError

_MOST_PARTIES: Final = 30
"""For more parties every try takes long, and nobody is a party or two away from a plan."""

_FIELDS: Final = frozenset({"corrupt", "least_chance", "noise", "recovery"})
"""What is wrong with a target as a whole: other errors are about one number, and say which."""

_MORE_PARTIES: Final = (1, 2, 3, 4, 6, 8, 12, 20, 40, 80)
_LARGER: Final = (2, 5, 10, 20, 50, 100)
_MOST_EPSILON: Final = 10.0

_LEFT_OUT: Final = {
    "noise": None,
    "recovery": "auto",
    "steps": None,
    "mask": None,
    "charged": None,
    "attempts": None,
    "beacon": None,
    "objective": "error",
    "integers": False,
}
"""What stands for an option that nobody gave."""


def with_what_works(
    error: UsageError, asked: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Plan]
) -> UsageError:
    """The error with the smallest changes of each kind for which `make` finds a plan.

    It names an option as something to change only if the caller gave it, and what works as
    values that were tried. Errors that are about one number stay as they are.
    """
    if error.field not in _FIELDS:
        return error
    if asked["parties"] > _MOST_PARTIES:
        return _with_steps(error, asked, make)

    def works(changes: Mapping[str, Any]) -> bool:
        try:
            make({**asked, **changes})
        except UsageError:
            return False
        return True

    kinds = (_dropouts(error, asked), _fewer(asked), _parties(asked), _epsilons(error, asked))
    found = [next((words for words, changes in kind if works(changes)), "") for kind in kinds]
    words = [f"with {each}" for each in found if each]
    words += [name for name, changes in _without(asked) if works(changes)]
    if not words:
        return error
    help_ = f"it works {', or '.join(words)}"
    if error.field == "least_chance":
        help_ += "; or accept that (least_chance=0)"
    field = "n" if error.field == "corrupt" and not _named(asked) else error.field
    return UsageError(f"{error.message.partition(': ')[0]}: {help_}", field)


def _with_steps(
    error: UsageError, asked: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Plan]
) -> UsageError:
    """The error with the steps that the planner would take, if those that were named are at fault.

    They are the most, or nearly so, for which there is a wide enough law.
    """
    if asked["steps"] is None:
        return error
    try:
        steps = make({**asked, "steps": None}).terms.steps
    except UsageError:
        return error
    return UsageError(
        f"{error.message.partition(': ')[0]}: it works with steps={steps}", error.field
    )


def _named(asked: Mapping[str, Any]) -> bool:
    """Whether the caller said how many collude."""
    return bool(asked["corrupt"] != CORRUPT)


Kind = Iterator[tuple[str, dict[str, Any]]]


def _dropouts(error: UsageError, asked: Mapping[str, Any]) -> Kind:
    """Fewer that fail; that nobody does only where too few would remain."""
    for dropout in (*DROPOUTS, *((0.0,) if error.field == "corrupt" else ())):
        if dropout < asked["dropout"]:
            yield f"dropout={dropout:g}", {"dropout": dropout}


def _fewer(asked: Mapping[str, Any]) -> Kind:
    """Fewer that collude, where somebody said how many."""
    corrupt = asked["corrupt"]
    if not _named(asked):
        return
    if isinstance(corrupt, float):
        corrupt = int(corrupt * asked["parties"])
    for count in range(corrupt - 1, 0, -1):
        yield f"corrupt={count}", {"corrupt": count}


def _parties(asked: Mapping[str, Any]) -> Kind:
    for more in _MORE_PARTIES:
        parties = asked["parties"] + more
        yield f"{parties} parties", {"parties": parties}


def _epsilons(error: UsageError, asked: Mapping[str, Any]) -> Kind:
    """Less privacy, where the noise would be too wide."""
    if error.field != "noise" or asked["epsilon"] is None:
        return
    for factor in _LARGER:
        epsilon = float(asked["epsilon"]) * factor
        if epsilon <= _MOST_EPSILON:
            yield f"epsilon={epsilon:g}", {"epsilon": epsilon}


def _without(asked: Mapping[str, Any]) -> Kind:
    for name, default in _LEFT_OUT.items():
        if asked[name] != default:
            yield f"without `{name}`", {name: default}
