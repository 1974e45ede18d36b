"""The common part of all estimators of scikit-learn here: seeds, errors, keywords.

Needs the extra `learning`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, Self

import numpy as np

from gopa import UsageError
from gopa.learning.calls import refuse_unknown
from gopa.learning.checks import fresh_seed
from gopa.support.arrays import Floats
from gopa.support.extras import missing

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise missing("learning") from None

__all__ = ["Estimator", "UnfitData", "seed_of", "validate_data", "value_errors"]


class UnfitData(UsageError, ValueError):
    """Data or parameters that do not fit; a ValueError, too, as other estimators raise."""


class Estimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that says what to write instead of a keyword that it does not have."""

    def __new__(cls, *_: Any, **asked: Any) -> Self:
        """Refuses keywords that nobody reads, by what is there instead."""
        refuse_unknown(cls.__name__, list(signature(cls.__init__).parameters)[1:], asked)
        return object.__new__(cls)

    def _given(self, X: Any) -> Floats:
        """Rows of which a fitted estimator is asked something."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))


def seed_of(state: Any) -> int:
    """The seed that a `random_state` means: itself, a draw of a generator, or a fresh one."""
    if state is None:
        return fresh_seed()
    if isinstance(state, int | np.integer):
        return int(state)
    return int(check_random_state(state).randint(2**31))


@contextmanager
def value_errors() -> Iterator[None]:
    """Makes refusals `UnfitData`; those that carry numbers, such as `BudgetExceeded`, stay."""
    try:
        yield
    except UsageError as error:
        if type(error) is not UsageError:
            raise
        raise UnfitData(error.message, error.field) from error
