"""The privacy that an algorithm is asked for, what it charges, and what it has spent in the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from gopa import UsageError
from gopa.accounting import Loss
from gopa.learning.checks import number
from gopa.learning.history import History

Unit: TypeAlias = Literal["user", "record"]
View: TypeAlias = Literal["everything", "neighbour", "coalition"]
Relation: TypeAlias = Literal["replace-one", "add-remove"]

UNITS: Final = ("user", "record")
VIEWS: Final = ("everything", "neighbour", "coalition")
RELATIONS: Final = ("replace-one", "add-remove")
CLASSES: Final = "public: which classes there are"
"""Assumed wherever labels are classes: somebody may have the only rows of one."""

_OF: Final = {"user": "all data of one user", "record": "one record"}
_SEES: Final = {
    "everything": "whoever sees every message",
    "neighbour": "any single other user",
}


@dataclass(frozen=True, slots=True)
class Privacy:
    """What is asked for: no (epsilon, delta) worse than this one.

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


@dataclass(frozen=True, slots=True, repr=False)
class Spent:
    """What an algorithm has spent, by which theorem and under which assumptions.

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

    def __repr__(self) -> str:
        return f"<Spent: {self}>"

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


_LAWS: Final = {
    "gaussian": ("sigma", "sensitivity"),
    "laplace": ("scale", "sensitivity"),
    "discrete laplace": ("scale", "sensitivity"),
    "randomised response": ("epsilon", "k"),
    "guarantee": ("epsilon", "delta"),
    "exact": (),
}

_LOSSES: Final[dict[str, Callable[[float, float], Loss]]] = {
    "gaussian": Loss.gaussian,
    "laplace": Loss.laplace,
    "discrete laplace": lambda scale, steps: Loss.discrete_laplace(scale, int(steps)),
    "randomised response": lambda epsilon, k: Loss.randomised_response(epsilon, int(k)),
    "guarantee": lambda epsilon, delta: Loss.randomised_response(epsilon).charged(delta),
}

_LEAST, _MOST = 1e-6, 500.0
"""Between them no float is too small for the odds of a law."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A mechanism by its law and numbers; equal ones are the same mechanism.

    Its numbers are for neighbours as the ledger has them. With a `relation` they are for one user
    more or less, and each user takes part with the chance `rate`, by a Poisson sample that nobody
    sees.

    >>> from gopa.learning import Charge
    >>> Charge.gaussian(sigma=2, sensitivity=1).subsampled(0.1, "add-remove")
    gaussian(sigma=2, sensitivity=1), sampled at rate 0.1
    """

    law: str
    numbers: tuple[float, ...] = ()
    rate: float = 1.0
    relation: Relation | None = None

    def __post_init__(self) -> None:
        names = _LAWS.get(self.law)
        if names is None or len(self.numbers) != len(names):
            raise UsageError(f"one of {', '.join(_LAWS)}, with its numbers", "law")
        plain = tuple(map(number, self.numbers, names))
        for name, value in zip(names, plain, strict=True):
            if not 0 <= value < math.inf:
                raise UsageError("a finite number, at least 0", name)
            if self.law == "discrete laplace" and not value.is_integer() and name != "scale":
                raise UsageError("a number of steps of the grid", name)
            if name == "k" and not (value >= 2 and value.is_integer()):
                raise UsageError("a number of answers, at least 2", name)
            if name == "delta" and value > 1:
                raise UsageError("a probability", name)
        object.__setattr__(self, "numbers", plain)
        object.__setattr__(self, "rate", number(self.rate, "rate"))
        if not 0 < self.rate <= 1:
            raise UsageError("above 0 and at most 1", "rate")
        if self.relation not in {None, *RELATIONS} or (self.relation is None and self.rate < 1):
            raise UsageError(f"one of {', '.join(RELATIONS)}", "relation")
        if self.relation is not None and self.law == "guarantee":
            raise UsageError("of a mechanism that is not known no sample is charged", "rate")

    @classmethod
    def gaussian(cls, sigma: float, sensitivity: float) -> Charge:
        """A normal number of deviation `sigma` is added to what moves by `sensitivity`, in L2."""
        return cls("gaussian", (sigma, sensitivity))

    @classmethod
    def laplace(cls, scale: float, sensitivity: float) -> Charge:
        """Laplace noise of this scale is added to what moves by `sensitivity`, in L1."""
        return cls("laplace", (scale, sensitivity))

    @classmethod
    def discrete_laplace(cls, scale: float, sensitivity: int) -> Charge:
        """The noise of `gopa.noise.discrete_laplace` on integers that move by so much, in L1."""
        return cls("discrete laplace", (scale, sensitivity))

    @classmethod
    def randomised_response(cls, epsilon: float, k: int = 2) -> Charge:
        """One of k answers, the true one with odds e^epsilon against each other one."""
        return cls("randomised response", (epsilon, k))

    @classmethod
    def guarantee(cls, epsilon: float, delta: float = 0.0) -> Charge:
        """A mechanism of which nothing is known but that it is (epsilon, delta)-private.

        That is how the result of a session is charged, by the claims of `result.privacy`.
        """
        return cls("guarantee", (epsilon, delta))

    @classmethod
    def exact(cls) -> Charge:
        """A number without noise: no budget covers it."""
        return cls("exact")

    def subsampled(self, rate: float, relation: Relation) -> Charge:
        """The same where each user takes part with this chance.

        The numbers of the mechanism are those for one user more or less, whatever `relation`
        says: to replace a user is to remove one and add one.
        """
        return replace(self, rate=rate, relation=relation)

    def loss(self) -> Loss:
        """Its loss distribution, by `gopa.accounting`.

        What is (epsilon, delta)-private is no worse than two-valued randomised response that
        gives the data away with chance delta (Kairouz, Oh and Viswanath 2015).
        """
        if self.law == "exact":
            raise UsageError("a number without noise has no loss distribution", "charge")
        return _loss_of(self)

    @property
    def lost(self) -> float:
        """The chance with which nothing is hidden."""
        return self.numbers[1] if self.law == "guarantee" else 0.0

    @property
    def pure(self) -> float:
        """The epsilon that it never exceeds while nothing is lost; infinite for normal noise."""
        found = self._of_everybody
        if self.relation is None or found == math.inf:
            return found
        more = math.log1p(self.rate * math.expm1(found)) if found < _MOST else found
        if self.relation == "add-remove":
            return more
        return more - math.log1p(self.rate * math.expm1(-found))

    @property
    def has_loss(self) -> bool:
        """Whether there is a loss distribution of it that says more than `pure` does."""
        return self.law == "gaussian" or _LEAST <= self._of_everybody <= _MOST

    @property
    def _of_everybody(self) -> float:
        """`pure` without a sample."""
        if self.law in {"randomised response", "guarantee"}:
            return self.numbers[0]
        if self.law == "exact":
            return math.inf
        scale, sensitivity = self.numbers
        if not sensitivity:
            return 0.0
        return sensitivity / scale if scale and self.law != "gaussian" else math.inf

    def __repr__(self) -> str:
        names = zip(_LAWS[self.law], self.numbers, strict=True)
        listed = ", ".join(f"{name}={value:g}" for name, value in names)
        sampled = "" if self.relation is None else f", sampled at rate {self.rate:g}"
        return f"{self.law}({listed}){sampled}"


@lru_cache(maxsize=128)
def _loss_of(charge: Charge) -> Loss:
    """Kept, for many ledgers ask for the same one."""
    found = _LOSSES[charge.law](*charge.numbers)
    # Also where everybody is in the sample: to replace a user still moves twice as far.
    return found if charge.relation is None else found.subsampled(charge.rate, charge.relation)
