"""Offers linear regression and principal components as estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from gopa.extras import missing
from gopa.learning.data import Users
from gopa.learning.federated.estimator_base import LATER, FederatedEstimator, Floats
from gopa.learning.federated.moments import MomentSums, components_of, line_of
from gopa.learning.federated.sums import Mode
from gopa.learning.privacy import Unit

try:
    from sklearn.base import ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise missing("learning") from None


class OneSumEstimator(FederatedEstimator):
    """Has what estimators share that fit in one round; `rounds` is for `partial_fit`."""

    rounds: int
    radius: float | None
    most_rows: int | None
    _run: MomentSums
    _name: str
    _labelled = False

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fits to rows X, where they are used with numbers y, of the parties `groups`."""
        problem = self._seen(X, y, groups, first=True)
        self._run = self._sums(problem, groups, 1)
        with self._run.session:
            self._run.round(problem)
            return self._take(self._run)

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Adds further rows in a round of its own; noise is made for `rounds` calls."""
        problem = self._seen(X, y, groups, first="_run" not in self.__dict__)
        rounds = LATER if self.epsilon is None else self.rounds
        return self._take(
            self._continued(lambda last: self._sums(problem, groups, rounds, last), problem)
        )

    def _seen(self, X: Any, y: Any, groups: Any, *, first: bool) -> Users:
        if not self._labelled:
            x = validate_data(self, X, dtype=np.float64, reset=first)
            return self._problem(x, None, groups)
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=first)
        return self._problem(x, y, groups)

    def _sums(
        self, problem: Users, groups: Any, rounds: int, last: MomentSums | None = None
    ) -> MomentSums:
        return MomentSums(
            self._name,
            self._setting(),
            problem,
            radius=self.radius,
            labelled=self._labelled,
            label_radius=getattr(self, "label_radius", None),
            most_rows=self._most(groups, self.most_rows),
            rounds=rounds,
            last=last,
        )

    def _take(self, sums: MomentSums) -> Self:
        raise NotImplementedError


class FederatedLinearRegression(RegressorMixin, OneSumEstimator):  # type: ignore[misc]
    """Fits a line by least squares, from sums of first and second moments in one round.

    With privacy `radius` and `label_radius` say how long rows and how large labels may be, and
    `most_rows` how many a party has at most; all are public. `rounds` is for `partial_fit`.
    """

    _name, _labelled = "least squares", True

    def __init__(  # noqa: PLR0913 - estimators have their parameters here
        self,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        *,
        unit: Unit = "user",
        rounds: int = 1,
        ridge: float = 0.0,
        radius: float | None = None,
        label_radius: float | None = None,
        most_rows: int | None = None,
        mode: Mode = "signed",
        session: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.unit = epsilon, delta, unit
        self.rounds, self.ridge = rounds, ridge
        self.radius, self.label_radius, self.most_rows = radius, label_radius, most_rows
        self.mode, self.session, self.random_state = mode, session, random_state

    def predict(self, X: Any) -> Floats:
        """The number of each row."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(x @ self.coef_ + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _take(self, sums: MomentSums) -> Self:
        found = line_of(sums.read(), self.ridge)
        self.outcome_ = sums.outcome(found)
        self.coef_, self.intercept_ = found["coef"], found["intercept"]
        return self


class FederatedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OneSumEstimator):  # type: ignore[misc]
    """Finds principal components, from sums of first and second moments in one round.

    With privacy `radius` says how long rows may be, and `most_rows` how many a party has at most;
    both are public. `rounds` is for `partial_fit`.
    """

    _name = "PCA"

    def __init__(  # noqa: PLR0913 - estimators have their parameters here
        self,
        n_components: int = 1,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        *,
        unit: Unit = "user",
        rounds: int = 1,
        radius: float | None = None,
        most_rows: int | None = None,
        mode: Mode = "signed",
        session: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon, self.delta, self.unit = epsilon, delta, unit
        self.rounds, self.radius, self.most_rows = rounds, radius, most_rows
        self.mode, self.session, self.random_state = mode, session, random_state

    def transform(self, X: Any) -> Floats:
        """The coordinates of each row along the components."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray((x - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Floats:
        """Rows that have these coordinates."""
        check_is_fitted(self)
        return np.asarray(np.asarray(X) @ self.components_ + self.mean_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _take(self, sums: MomentSums) -> Self:
        found = components_of(sums.read(), self.n_components)
        self.outcome_ = sums.outcome(found)
        self.mean_, self.components_ = found["mean"], found["components"]
        self.explained_variance_ = found["variance"]
        self.explained_variance_ratio_ = found["variance"] / max(found["total"], 1e-300)
        return self
