"""Names mechanisms by their laws and numbers, for ledgers that have to write them down."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from gopa import UsageError
from gopa.accounting import Loss
from gopa.learning.checks import number
from gopa.learning.privacy import RELATIONS, Relation

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
    """Names a mechanism by its law and numbers; equal ones are the same mechanism.

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
