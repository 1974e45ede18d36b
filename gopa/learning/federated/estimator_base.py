"""Has what all estimators of federated learning share: parties, seeds, and sessions that go on."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self, cast
from warnings import warn

import numpy as np
import numpy.typing as npt

from gopa.learning.data import Table, Users, natural
from gopa.learning.estimators import Estimator, UnfitData, seed_of, validate_data, value_errors
from gopa.learning.federated.setting import Mode, Setting
from gopa.learning.federated.sums import Callback, SumRun
from gopa.learning.ledger import BudgetExceeded, PrivacyLedger
from gopa.learning.outcome import Outcome, Progress
from gopa.learning.privacy import Privacy, Unit
from gopa.support.arrays import Floats

_FEWEST: Final = 3
_LATER: Final = 1000
"""So many calls of `partial_fit` have one session where nothing is spent."""

_NO_GROUPS: Final = (
    "say whose each row is: fit(X, y, groups=parties), or groups=range(len(X)) if each row is a "
    "party of its own. Searches, cross_val_score and pipelines pass it on after "
    "sklearn.set_config(enable_metadata_routing=True); without that they keep it to themselves"
)
_EACH_ROW: Final = (
    "no groups were given: each of the {} rows is a party of its own, and no more than one record "
    "is hidden"
)
_SCALED: Final = (
    "columns have {} over the rows of all parties: what scaled them saw all rows in the clear, and "
    "nothing here accounts for that. Scale by public ranges, or by what `variance` publishes"
)
_NEAR: Final = 1e-8
_NO_ACCOUNT: Final = (
    "it is a copy of an estimator that has spent its budget, and the account stayed with that: "
    "fit without warm_start, or go on with the first one"
)


@dataclass(kw_only=True, eq=False, repr=False)
class FederatedEstimator(Estimator):
    """The common part of these estimators.

    `groups` says whose each row is, and is asked for wherever scikit-learn routes metadata. Without
    it each row is a party of its own, in the arithmetic alone, and what is claimed is for one
    record. Whatever says that parties have more rows, or are to be hidden whole (`unit="user"`,
    `most_rows`, a mode with a log, a `ledger`), makes `groups` necessary.

    By default `unit` is "user", and `mode` "signed". `epsilon=None` adds no noise: the sums of all
    rounds come out as they are. See `Privacy` for `epsilon`, `delta` and `unit`, and `Setting` for
    `most_rows`, `mode`, `session` and `ledger`. Who knows `random_state`, an integer, knows all
    noise of this simulation. `callback` hears the number of each round of `fit` and its model, and
    may raise `StopIteration`: then `partial_fit` goes on with the rounds of the session that are
    left, which were charged.
    """

    epsilon: float | None = 1.0
    delta: float = 1e-5
    unit: Unit | None = None
    rounds: int | None = None
    most_rows: int | None = None
    mode: Mode | None = None
    session: Mapping[str, Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None
    progress: Progress = None
    callback: Callback | None = None

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__partial_fit: ClassVar = {"groups": True}

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fits to rows X, and y where it is used, of the parties `groups`, in a new session."""
        with value_errors():
            goes_on = getattr(self, "warm_start", False)
            last = self.__dict__.get("_run") if goes_on else None
            if goes_on and self._begun and last is None and self.epsilon is not None:
                raise BudgetExceeded(_NO_ACCOUNT, math.inf, 0)
            problem = self._problem(X, y, groups, first=last is None)
            setting = self._setting(groups, last)
            hides_users = setting.privacy is not None and setting.unit == "user"
            if last is not None and self._unit == "record" and hides_users:
                # What hid single records before is no part of a claim for all that a user has.
                raise UnfitData("the model it goes on from hides records alone", "unit")
            rounds = self._rounds(setting, fit=True)
            self._begin(problem, groups, setting, rounds, last)
            found = self._run.carried_out(
                problem, rounds, self.progress, self.callback, goes_on=True
            )
            return self._shown(found, problem)

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """One more round of one session; noise is made for `rounds` calls.

        A party of the first call may have no rows in a later one.

        Raises:
            BudgetExceeded: all rounds of the session are spent, and another session would spend
                as much again.
        """
        with value_errors():
            run = self.__dict__.get("_run")
            problem = self._problem(X, y, groups, first=run is None)
            if run is None or not run.session or not run.session.rounds_left:
                if self._begun and self.epsilon is not None:
                    message = (
                        "its session is over, and another one would spend as much again: fit anew"
                    )
                    raise BudgetExceeded(message, math.inf, 0)
                setting = self._setting(groups, None)
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

    def _table(self, x: Floats, y: npt.NDArray[Any], *, first: bool) -> Users:
        """One user of all rows, with labels as the algorithm reads them."""
        del first
        return Users(Table(x, y, "given to fit"), (np.arange(len(x)),))

    _has_labels, _has_numbers = False, False

    def _problem(self, X: Any, y: Any, groups: Any, *, first: bool) -> Users:
        """The rows of each party; after the first call only of parties that were there in it."""
        if self._has_labels:
            numeric = self._has_numbers
            x, y = validate_data(self, X, y, dtype=np.float64, reset=first, y_numeric=numeric)
        else:
            x = validate_data(self, X, dtype=np.float64, reset=first)
            y = np.zeros(len(x))
        if not first and (groups is None) != self._alone:
            # Rows of one party would count as those of several, or be counted in the clear.
            raise UnfitData("all calls say whose each row is, or none does", "groups")
        if groups is None and not self._may_be_alone():
            raise UnfitData(_NO_GROUPS, "groups")
        owners = np.arange(len(x)) if groups is None else np.asarray(groups)
        problem = natural(self._table(x, y, first=first).table, owners)
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

    def _may_be_alone(self) -> bool:
        """Whether nothing that is asked for says that parties have more rows than one."""
        # Else what a search kept to itself would leave a row hidden where a party was meant.
        of_parties = self.unit == "user" or self.most_rows not in {None, 1} or not self._weighted
        hides = self.epsilon is not None and (of_parties or self.ledger is not None)
        return not hides and self.mode in {None, "off"}

    @property
    def _weighted(self) -> bool:
        return True

    def _setting(self, groups: Any, last: SumRun | None) -> Setting:
        alone = groups is None
        privacy = None
        if self.epsilon is not None:
            unit = "user" if alone or self.unit is None else self.unit
            privacy = Privacy(self.epsilon, self.delta, unit=unit)
        return Setting(
            privacy,
            seed_of(self.random_state),
            1 if alone and privacy is not None else self.most_rows,
            self.mode or ("off" if alone else "signed"),
            self.session,
            self.ledger,
            before=() if last is None else last.charged,
            assumed=() if last is None else self._assumed,
            each_one=alone,
        )

    def _public(self, value: float | None) -> float | None:
        """A public length: with privacy 1 if nobody says; without, the data are asked."""
        return 1.0 if value is None and self.epsilon is not None else value

    def _begin(
        self, problem: Users, groups: Any, setting: Setting, rounds: int, last: SumRun | None
    ) -> None:
        self._run = self._start(problem, setting, rounds, last)
        self._begun, self._alone, self._unit = True, groups is None, setting.unit
        self._assumed = self._run.session.spent().assumptions
        found = scaled_by_all(problem.table.features)
        if found:
            # To the caller, who has all rows: in an outcome, which is passed on, it would tell
            # something exact of them that nobody is charged for.
            warn(_SCALED.format(found), stacklevel=4)
        if groups is None:
            self._run.session.warn(_EACH_ROW.format(len(problem)))

    # Without annotations: dataclasses of estimators would take these for parameters.
    _begun, _alone = False, False
    _unit, _assumed = "user", cast("tuple[str, ...]", ())

    def _shown(self, outcome: Outcome, problem: Users) -> Self:
        if self._alone and outcome.spent.hides:
            # Who has one row is hidden with it; of parties with more nothing is claimed.
            outcome = replace(outcome, spent=replace(outcome.spent, unit="record"))
        self.outcome_, self.n_iter_ = outcome, len(outcome.history)
        self._show(outcome.model, problem.table.features)
        return self

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        run = state.pop("_run", None)
        if run is not None and self.epsilon is None:
            state["_run"] = run.carried()  # nothing is spent that a copy could spend twice
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
