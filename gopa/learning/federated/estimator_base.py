"""Has what all estimators of federated learning share: parties, seeds, and sessions that go on."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.data import Table, Users, natural
from gopa.learning.federated.setting import Mode, Setting
from gopa.learning.federated.sums import Callback, SumRun
from gopa.learning.ledger import BudgetExceeded, PrivacyLedger
from gopa.learning.outcome import Outcome, Progress
from gopa.learning.privacy import Privacy, Unit
from gopa.support.arrays import Floats
from gopa.support.extras import missing

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise missing("learning") from None


_FEWEST: Final = 3
_LATER: Final = 1000
"""So many calls of `partial_fit` have one session where nothing is spent."""

_NO_GROUPS: Final = (
    "say whose each row is: fit(X, y, groups=parties), or groups=range(len(X)) if each row is a "
    "party of its own. Searches, cross_val_score and pipelines pass it on after "
    "sklearn.set_config(enable_metadata_routing=True); without that they keep it to themselves"
)
_EACH_ROW: Final = "no groups were given: each of the {} rows is a party of its own"
_SCALED: Final = (
    "columns have {} over the rows of all parties: what scaled them saw all rows in the clear, and "
    "nothing here accounts for that. Scale by public ranges, or by what `variance` publishes"
)
_NEAR: Final = 1e-8


class UnfitData(UsageError, ValueError):
    """Data that do not fit; a ValueError, too, as other estimators raise."""


@dataclass(kw_only=True, eq=False, repr=False)
class FederatedEstimator(BaseEstimator):  # type: ignore[misc]
    """The common part of these estimators.

    `groups` says whose each row is, and is asked for wherever scikit-learn routes metadata. Only
    the arithmetic alone, `epsilon=None` with mode "off", takes each row for a party without it.
    `epsilon=None` adds no noise: the sums of all rounds come out as they are. See `Privacy` for
    `epsilon`, `delta` and `unit`, and `Setting` for `most_rows`, `mode`, `session` and `ledger`.
    Who knows `random_state`, an integer, knows all noise of this simulation. `callback` hears the
    number of each round of `fit` and its model, and may raise `StopIteration`: then `partial_fit`
    goes on with the rounds of the session that are left, which were charged.
    """

    epsilon: float | None = 1.0
    delta: float = 1e-5
    unit: Unit = "user"
    rounds: int | None = None
    most_rows: int | None = None
    mode: Mode = "signed"
    session: Mapping[str, Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None
    progress: Progress = None
    callback: Callback | None = None

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__partial_fit: ClassVar = {"groups": True}

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fits to rows X, and y where it is used, of the parties `groups`, in a new session."""
        problem = self._problem(X, y, groups, first=True)
        setting = self._setting()
        rounds = self._rounds(setting, fit=True)
        self._begin(problem, groups, setting, rounds, None)
        found = self._run.carried_out(problem, rounds, self.progress, self.callback, goes_on=True)
        return self._shown(found, problem)

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """One more round of one session; noise is made for `rounds` calls.

        A party of the first call may have no rows in a later one.

        Raises:
            BudgetExceeded: all rounds of the session are spent, and another session would spend
                as much again.
        """
        problem = self._problem(X, y, groups, first="_run" not in self.__dict__)
        run = self.__dict__.get("_run")
        if run is None or not run.session.rounds_left:
            if self._begun and (run is None or self.epsilon is not None):
                message = "its session is over, and another one would spend as much again: fit anew"
                raise BudgetExceeded(message, math.inf, 0)
            setting = self._setting()
            rounds = _LATER if setting.privacy is None else self._rounds(setting, fit=False)
            self._begin(problem, groups, setting, rounds, run)
        self._run.round(problem)
        return self._shown(self._run.outcome(), problem)

    @abstractmethod
    def _start(self, problem: Users, setting: Setting, rounds: int, last: Any) -> SumRun:
        """A run in a new session, which goes on where the `last` one ended."""

    @abstractmethod
    def _show(self, model: dict[str, Any], x: Floats) -> None:
        """Sets what estimators of this kind show."""

    def _rounds(self, setting: Setting, *, fit: bool) -> int:
        """How many rounds one `fit` has, or as many calls of `partial_fit`."""
        del setting
        return 1 if fit or self.rounds is None else self.rounds

    def _labels(self, y: npt.NDArray[Any], *, first: bool) -> npt.NDArray[Any]:
        del first
        return y

    _has_labels, _has_numbers = False, False

    def _problem(self, X: Any, y: Any, groups: Any, *, first: bool) -> Users:
        """The rows of each party; after the first call only of parties that were there in it."""
        if self._has_labels:
            numeric = self._has_numbers
            x, y = validate_data(self, X, y, dtype=np.float64, reset=first, y_numeric=numeric)
            labels = self._labels(y, first=first)
        else:
            x = validate_data(self, X, dtype=np.float64, reset=first)
            labels = np.zeros(len(x))
        if groups is None and not (self.epsilon is None and self.mode == "off"):
            # Else what a search kept to itself would leave a row hidden where a party was meant.
            raise UnfitData(_NO_GROUPS, "groups")
        owners = np.arange(len(x)) if groups is None else np.asarray(groups)
        problem = natural(Table(x, labels, "given to fit"), owners)
        if first:
            if len(problem) < _FEWEST:
                message = (
                    f"{len(problem)} parties are too few, at least {_FEWEST} are needed "
                    f"(n_samples = {len(x)})"
                )
                raise UnfitData(message, "groups")
            self._parties = np.unique(owners)
        elif not np.isin(owners, self._parties).all():
            raise UnfitData("some parties were not there in the first call", "groups")
        else:
            problem = Users(
                problem.table, tuple(np.flatnonzero(owners == each) for each in self._parties)
            )
        return problem

    def _setting(self) -> Setting:
        privacy = None
        if self.epsilon is not None:
            privacy = Privacy(self.epsilon, self.delta, unit=self.unit)
        state = self.random_state
        if state is None:
            seed = int.from_bytes(os.urandom(16), "big")
        elif isinstance(state, int | np.integer):
            seed = int(state)
        else:
            seed = int(check_random_state(state).randint(2**31))
        return Setting(privacy, seed, self.most_rows, self.mode, self.session, self.ledger)

    def _begin(
        self, problem: Users, groups: Any, setting: Setting, rounds: int, last: SumRun | None
    ) -> None:
        self._run = self._start(problem, setting, rounds, last)
        self._begun = True
        found = scaled_by_all(problem.table.features)
        if found:
            self._run.session.warn(_SCALED.format(found))
        if groups is None:
            self._run.session.warn(_EACH_ROW.format(len(problem)))

    _begun = False

    def _shown(self, outcome: Outcome, problem: Users) -> Self:
        self.outcome_, self.n_iter_ = outcome, len(outcome.history)
        self._show(outcome.model, problem.table.features)
        return self

    def _given(self, X: Any) -> Floats:
        """Rows of which a fitted estimator is asked something."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_run", None)  # a copy that went on by itself would spend twice
        return state


def scaled_by_all(x: Floats) -> str:
    """What columns have that were scaled by these very rows, or nothing.

    By chance no column has it; other steps that look at all rows leave no such trace.
    """
    many = np.array([len(np.unique(each)) > 2 for each in x.T], dtype=bool)
    columns = x[:, many]  # two values alone are 0 and 1 without anybody's doing
    if not columns.size:
        return ""
    ends = (columns.min(axis=0), columns.max(axis=0))
    if np.allclose(ends[0], 0, atol=_NEAR) and np.allclose(ends[1], 1, rtol=0, atol=_NEAR):
        return "the range 0 to 1"
    if np.abs(columns.mean(axis=0)).max() <= _NEAR and np.allclose(
        columns.std(axis=0), 1, rtol=0, atol=_NEAR
    ):
        return "mean 0 and deviation 1"
    return ""
