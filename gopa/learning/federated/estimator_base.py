"""Has what all estimators of federated learning share: parties, seeds, and sessions that go on."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.extras import missing
from gopa.learning.data import Table, Users, natural
from gopa.learning.federated.sums import Mode, Setting
from gopa.learning.ledger import BudgetExceeded
from gopa.learning.privacy import Privacy, Unit

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
except ImportError:
    raise missing("learning") from None

Floats: TypeAlias = npt.NDArray[np.float64]

LATER: Final = 1000
"""So many calls of `partial_fit` have one session where nothing is spent."""

_FEWEST: Final = 3
_NOISY_ROUNDS: Final = 5
_EXACT_ROUNDS: Final = 100


class UnfitData(UsageError, ValueError):
    """Refuses data; a ValueError, too, as other estimators raise."""


class FederatedEstimator(BaseEstimator):  # type: ignore[misc]
    """Has what all of these estimators share."""

    epsilon: float | None
    delta: float
    unit: Unit
    mode: Mode
    session: Mapping[str, Any] | None
    random_state: Any

    def _setting(self) -> Setting:
        privacy = None
        if self.epsilon is not None:
            privacy = Privacy(self.epsilon, self.delta, unit=self.unit)
        state = self.random_state
        if state is None:
            seed = int.from_bytes(os.urandom(8), "big")
        elif isinstance(state, int | np.integer):
            seed = int(state)
        else:
            seed = int(check_random_state(state).randint(2**31))
        return Setting(privacy, seed, self.mode, self.session)

    def _problem(self, x: Floats, y: npt.NDArray[Any] | None, groups: Any) -> Users:
        labels = np.zeros(len(x)) if y is None else y
        owners = np.arange(len(x)) if groups is None else np.asarray(groups)
        problem = natural(Table(x, labels, "given to fit"), owners)
        if len(problem) < _FEWEST:
            message = (
                f"{len(problem)} parties are too few, at least {_FEWEST} are needed "
                f"(n_samples = {len(x)})"
            )
            raise UnfitData(message, "groups")
        return problem

    def _most(self, groups: Any, most_rows: int | None) -> int | None:
        """Whose every row is a party has one row, which is no secret."""
        return 1 if groups is None and most_rows is None else most_rows

    def _rounds_of(self, asked: int | None, setting: Setting) -> int:
        if asked is not None:
            return asked
        return _EXACT_ROUNDS if setting.privacy is None else _NOISY_ROUNDS

    def _continued(self, begin: Callable[[Any], Any], problem: Users) -> Any:
        """One more round, in the session that `partial_fit` has begun; `begin` gets the last run.

        Raises:
            BudgetExceeded: all rounds of the session are spent, and another session would spend
                as much again.
        """
        run = self.__dict__.get("_run")
        if run is None or not run.session.rounds_left:
            if self.epsilon is not None and hasattr(self, "outcome_"):
                message = "its session is over, and another one would spend as much again: fit anew"
                raise BudgetExceeded(message, math.inf, 0)
            self._run = run = begin(run)
        run.round(problem)
        return run

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_run", None)  # a copy that went on by itself would spend twice
        return state
