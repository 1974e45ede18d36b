"""Offers federated learning as estimators of scikit-learn.

`fit(X, y, groups=parties)` says whose each row is; without groups each row is a party of its own.
`outcome_` has what it cost, and what can be audited. Needs the extra `learning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gopa.extras import missing
from gopa.learning.clipping import length
from gopa.learning.data import Users
from gopa.learning.federated.clusters import Clusters, carried_out, nearest
from gopa.learning.federated.estimator_base import LATER, FederatedEstimator, Floats, UnfitData
from gopa.learning.federated.moment_estimators import FederatedLinearRegression, FederatedPCA
from gopa.learning.federated.rounds import Clipping
from gopa.learning.federated.sums import Mode, Setting
from gopa.learning.federated.training import Recipe, Training, run_rounds
from gopa.learning.fitting import Progress
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Unit

try:
    from sklearn.base import ClassifierMixin, ClusterMixin, TransformerMixin
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise missing("learning") from None

__all__ = [
    "FederatedKMeans",
    "FederatedLinearRegression",
    "FederatedLogisticRegression",
    "FederatedPCA",
]


class FederatedLogisticRegression(ClassifierMixin, FederatedEstimator):  # type: ignore[misc]
    """Trains a linear classifier of two classes by federated averaging.

    `epsilon=None` adds no noise: the sums of all rounds come out as they are. `most_rows` says how
    many rows a party has at most, which is public; with `weighted=False` it is not needed. See
    `Recipe` for the other numbers, and `Setting` for `mode` and `session`.
    """

    def __init__(  # noqa: PLR0913 - estimators have their parameters here
        self,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        *,
        unit: Unit = "user",
        rounds: int | None = None,
        local_steps: int = 20,
        rate: float = 3.0,
        ridge: float = 0.0,
        clip: Clipping | float = 2.0,
        intercept: float = 0.2,
        weighted: bool = True,
        most_rows: int | None = None,
        tol: float = 1e-3,
        mode: Mode = "signed",
        session: Mapping[str, Any] | None = None,
        random_state: Any = None,
        progress: Progress = None,
    ) -> None:
        self.epsilon, self.delta, self.unit = epsilon, delta, unit
        self.rounds, self.local_steps, self.rate, self.ridge = rounds, local_steps, rate, ridge
        self.clip, self.intercept, self.tol = clip, intercept, tol
        self.weighted, self.most_rows = weighted, most_rows
        self.mode, self.session, self.progress = mode, session, progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Trains on rows X with labels y of the parties `groups`."""
        x, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self._see_classes(y)
        problem = self._problem(x, self._signs(y), groups)
        setting = self._setting()
        rounds = self._rounds_of(self.rounds, setting)
        self._run = self._training(problem, groups, setting, rounds)
        return self._take(run_rounds(self._run, rounds, self.progress))

    def partial_fit(self, X: Any, y: Any, groups: Any = None, classes: Any = None) -> Self:
        """One round; the first call names all `classes`, and noise is made for `rounds` calls."""
        first = "_run" not in self.__dict__
        x, y = validate_data(self, X, y, dtype=np.float64, reset=first)
        if first:
            self._see_classes(np.asarray(y if classes is None else classes))
        problem = self._problem(x, self._signs(y), groups)

        def begin(last: Training | None) -> Training:
            setting = self._setting()
            rounds = LATER if setting.privacy is None else self._rounds_of(self.rounds, setting)
            start = None if last is None else last.weights
            return self._training(problem, groups, setting, rounds, start)

        return self._take(self._continued(begin, problem).outcome())

    def decision_function(self, X: Any) -> Floats:
        """How far on the side of the second class each row lies."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(x @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])

    def predict_proba(self, X: Any) -> Floats:
        """The chance of each class, by the logistic model."""
        chance = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -700, 700)))
        return np.stack([1 - chance, chance], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _training(
        self,
        problem: Users,
        groups: Any,
        setting: Setting,
        rounds: int,
        start: Floats | None = None,
    ) -> Training:
        recipe = Recipe(
            local_steps=self.local_steps,
            rate=self.rate,
            ridge=self.ridge,
            intercept=self.intercept,
            clip=self.clip,  # type: ignore[arg-type]  # a number becomes a fixed bound
            weighted=self.weighted,
            most_rows=self._most(groups, self.most_rows),
            tol=self.tol,
        )
        return Training("FedAvg", setting, recipe, problem, rounds=rounds, start=start)

    def _see_classes(self, y: npt.NDArray[Any]) -> None:
        found = np.unique(y)
        if len(found) > 2:
            message = (
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
            raise UnfitData(message, "y")
        if len(found) < 2:
            raise UnfitData("there are rows of one class only: two are needed", "y")
        self.classes_ = found

    def _signs(self, y: npt.NDArray[Any]) -> Floats:
        if not np.isin(y, self.classes_).all():
            raise UnfitData(f"labels are {self.classes_.tolist()}", "y")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _take(self, outcome: Outcome) -> Self:
        self.outcome_ = outcome
        self.coef_ = np.array([outcome.model["coef"]])
        self.intercept_ = np.array([outcome.model["intercept"]])
        self.n_iter_ = len(outcome.history)
        return self


class FederatedKMeans(TransformerMixin, ClusterMixin, FederatedEstimator):  # type: ignore[misc]
    """Finds clusters by k-means, of which parties tell nothing but sums over clusters.

    With privacy `radius` says how far from `origin` rows may lie, and `most_rows` how many a party
    has at most; all are public.
    """

    def __init__(  # noqa: PLR0913 - estimators have their parameters here
        self,
        n_clusters: int = 8,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        *,
        unit: Unit = "user",
        rounds: int | None = None,
        radius: float | None = None,
        origin: npt.ArrayLike = 0.0,
        init: npt.ArrayLike | None = None,
        most_rows: int | None = None,
        tol: float = 1e-4,
        mode: Mode = "signed",
        session: Mapping[str, Any] | None = None,
        random_state: Any = None,
        progress: Progress = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon, self.delta, self.unit = epsilon, delta, unit
        self.rounds, self.radius, self.origin, self.init = rounds, radius, origin, init
        self.most_rows, self.tol = most_rows, tol
        self.mode, self.session, self.progress = mode, session, progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Fits to rows X of the parties `groups`."""
        x = validate_data(self, X, dtype=np.float64)
        problem, setting = self._problem(x, None, groups), self._setting()
        rounds = self._rounds_of(self.rounds, setting)
        self._run = self._clusters(problem, groups, setting, rounds)
        outcome = carried_out(
            self._run, problem, setting, rounds=rounds, tol=self.tol, progress=self.progress
        )
        return self._take(outcome, x)

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """One round; noise is made for `rounds` of them."""
        x = validate_data(self, X, dtype=np.float64, reset="_run" not in self.__dict__)
        problem = self._problem(x, None, groups)

        def begin(last: Clusters | None) -> Clusters:
            setting = self._setting()
            rounds = LATER if setting.privacy is None else self._rounds_of(self.rounds, setting)
            return self._clusters(problem, groups, setting, rounds, last)

        return self._take(self._continued(begin, problem).outcome(), x)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """The cluster of each row."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return nearest(x, self.cluster_centers_)

    def transform(self, X: Any) -> Floats:
        """How far each row is from each centre."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return length(x[:, None, :] - self.cluster_centers_, 2)

    def _clusters(
        self,
        problem: Users,
        groups: Any,
        setting: Setting,
        rounds: int,
        last: Clusters | None = None,
    ) -> Clusters:
        return Clusters(
            setting,
            problem,
            clusters=self.n_clusters,
            rounds=rounds,
            radius=self.radius if last is None else last.radius,
            origin=self.origin,
            centres=self.init if last is None else last.centres,
            most_rows=self._most(groups, self.most_rows),
        )

    def _take(self, outcome: Outcome, x: Floats) -> Self:
        self.outcome_ = outcome
        self.cluster_centers_ = np.array(outcome.model["centres"])
        self.labels_ = nearest(x, self.cluster_centers_)
        self.n_iter_ = len(outcome.history)
        return self
