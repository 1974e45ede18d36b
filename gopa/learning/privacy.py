"""Says which privacy an algorithm is asked for, and which it has spent in the end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from gopa import UsageError
from gopa.learning.checks import number
from gopa.learning.history import History

Unit: TypeAlias = Literal["user", "record"]
View: TypeAlias = Literal["everything", "neighbour", "coalition"]
Relation: TypeAlias = Literal["replace-one", "add-remove"]

UNITS: Final = ("user", "record")
VIEWS: Final = ("everything", "neighbour", "coalition")
RELATIONS: Final = ("replace-one", "add-remove")

_OF: Final = {"user": "all data of one user", "record": "one record"}
_SEES: Final = {
    "everything": "whoever sees every message",
    "neighbour": "any single other user",
}


@dataclass(frozen=True, slots=True)
class Privacy:
    """States what is asked for: no (epsilon, delta) worse than this one.

    `unit` says what is hidden, all data of a user or one record; `relation` whether it is
    replaced by another one or was never there; `view` who looks: whoever sees every message,
    one user who takes part, or `colluders` of them together.

    >>> from gopa.learning import Privacy
    >>> print(Privacy(1.0, 1e-6))
    epsilon 1, delta 1e-06 for all data of one user, against whoever sees every message
    """

    epsilon: float
    delta: float = 0.0
    unit: Unit = "user"
    view: View = "everything"
    relation: Relation = "replace-one"
    colluders: int = 1

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        if not 0 < self.epsilon < math.inf:
            message = "epsilon is above 0 and finite; privacy=None asks for none"
            raise UsageError(message, "epsilon")
        if not 0 <= self.delta < 1:
            raise UsageError("delta is at least 0 and below 1", "delta")
        for name, value, allowed in (
            ("unit", self.unit, UNITS),
            ("view", self.view, VIEWS),
            ("relation", self.relation, RELATIONS),
        ):
            if value not in allowed:
                raise UsageError(f"one of {', '.join(allowed)}", name)
        enough = self.colluders > 1 if self.view == "coalition" else self.colluders == 1
        if type(self.colluders) is not int or not enough:
            message = 'the view "coalition" has at least 2, every other view 1'
            raise UsageError(message, "colluders")

    def __str__(self) -> str:
        return f"{_worth(self.epsilon, self.delta)} {_of_whom(self)}"


@dataclass(frozen=True, slots=True)
class Spent:
    """Reports what an algorithm has spent, by which theorem and under which assumptions.

    `epsilon` is infinite where nothing is claimed. `curve` says how much had been spent after
    each of several steps, at the same delta; it is None where one number is all there is.
    """

    epsilon: float
    delta: float
    unit: Unit
    view: View
    relation: Relation
    theorem: str
    assumptions: tuple[str, ...] = ()
    colluders: int = 1
    curve: History | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        if not self.epsilon >= 0:
            raise UsageError("epsilon is at least 0, or infinite", "epsilon")
        if not 0 <= self.delta <= 1:
            raise UsageError("delta is a probability", "delta")

    @classmethod
    def of(  # noqa: PLR0913 - a report has many parts
        cls,
        privacy: Privacy,
        epsilon: float,
        *,
        theorem: str,
        delta: float | None = None,
        assumptions: Iterable[str] = (),
        curve: History | None = None,
    ) -> Spent:
        """What was spent of a privacy that was asked for."""
        return cls(
            epsilon=epsilon,
            delta=privacy.delta if delta is None else delta,
            unit=privacy.unit,
            view=privacy.view,
            relation=privacy.relation,
            theorem=theorem,
            assumptions=tuple(assumptions),
            colluders=privacy.colluders,
            curve=curve,
        )

    @classmethod
    def nothing_hidden(cls, unit: Unit = "user", view: View = "everything") -> Spent:
        """What is said of an algorithm without noise: nothing is claimed."""
        return cls(math.inf, 0.0, unit, view, "replace-one", theorem="none")

    @property
    def hides(self) -> bool:
        """Whether anything is claimed at all."""
        return self.epsilon < math.inf

    def within(self, privacy: Privacy) -> bool:
        """Whether this keeps what was asked for: the same unit and relation, and no more.

        Whoever sees every message, or more colluders, sees what fewer of them see.
        """
        same = (self.unit, self.relation) == (privacy.unit, privacy.relation)
        wide = self.view == "everything" or (
            privacy.view != "everything" and self.colluders >= privacy.colluders
        )
        enough = self.epsilon <= privacy.epsilon and self.delta <= privacy.delta
        return same and wide and enough

    def __str__(self) -> str:
        if not self.hides:
            return "no claim: nothing is hidden by noise"
        return f"{_worth(self.epsilon, self.delta)} {_of_whom(self)} ({self.theorem})"


def worst(reports: Iterable[Spent]) -> Spent:
    """The report of the user who has spent most, which holds for all of them."""
    found = list(reports)
    if not found:
        raise UsageError("there is no user", "reports")
    kinds = {(each.unit, each.view, each.relation, each.delta, each.colluders) for each in found}
    if len(kinds) > 1:
        raise UsageError("these reports are about different things", "reports")
    return max(found, key=lambda each: each.epsilon)


def _worth(epsilon: float, delta: float) -> str:
    return f"epsilon {epsilon:.4g}, delta {delta:.2g}" if delta else f"epsilon {epsilon:.4g}"


def _of_whom(about: Privacy | Spent) -> str:
    sees = _SEES.get(about.view, f"any {about.colluders} users together")
    added = ", there or not" if about.relation == "add-remove" else ""
    return f"for {_OF[about.unit]}{added}, against {sees}"
