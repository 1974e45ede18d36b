"""Offers federated learning as estimators of scikit-learn.

`fit(X, y, groups=parties)` says whose each row is.
`outcome_` has what it cost, and what can be audited. Needs the extra `learning`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gopa.learning.clipping import length
from gopa.learning.data import ClassWeight, Table, Users, class_numbers, class_weighted, likeliest
from gopa.learning.estimators import UnfitData
from gopa.learning.federated.clusters import Clusters, nearest
from gopa.learning.federated.estimator_base import FederatedEstimator
from gopa.learning.federated.moments import MomentSums, component_sums, line_sums
from gopa.learning.federated.rounds import Clipping
from gopa.learning.federated.setting import Setting
from gopa.learning.federated.training import Recipe, Training
from gopa.learning.objectives import softmax
from gopa.support.arrays import Floats
from gopa.support.extras import missing

try:
    from sklearn.base import (
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight
except ImportError:
    raise missing("learning") from None

_NOISY_ROUNDS, _EXACT_ROUNDS = 5, 100


@dataclass(kw_only=True, eq=False, repr=False)
class _InRounds(FederatedEstimator):
    """An estimator that takes several rounds for one `fit`.

    With `warm_start` another `fit` goes on from the model that is there, and `epsilon` and `delta`
    are for all of them together.
    """

    warm_start: bool = False

    _named: Any = None
    _weights: Any = None

    def _rounds(self, setting: Setting, *, fit: bool) -> int:
        del fit
        if self.rounds is not None:
            return self.rounds
        return _EXACT_ROUNDS if setting.privacy is None else _NOISY_ROUNDS


@dataclass(kw_only=True, eq=False, repr=False)
class FederatedLogisticRegression(ClassifierMixin, _InRounds):  # type: ignore[misc]
    """A linear classifier, trained by federated averaging; a softmax of more than two classes.

    Which classes there are is public. `class_weight` has a number for each; "balanced" is for
    `epsilon=None`, where their counts need not be hidden. With `weighted=False` parties count
    alike, and `most_rows` is not needed. `local_steps=0` sends gradients, which `unit="record"`
    needs. See `Recipe` for the other numbers, and `FederatedEstimator` for the rest.
    """

    local_steps: int = 20
    rate: float = 3.0
    ridge: float = 0.0
    clip: Clipping = 2.0
    intercept: float = 0.2
    weighted: bool = True
    tol: float = 1e-3
    class_weight: ClassWeight = None

    _has_labels = True

    @property
    def _weighted(self) -> bool:
        return self.weighted

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fits to rows X and labels y of the parties `groups`, in a new session."""
        self._weights = sample_weight
        try:
            return super().fit(X, y, groups)
        finally:
            self._weights = None

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """One round; the first call names all `classes`, and noise is made for `rounds` calls."""
        self._named, self._weights = classes, sample_weight
        try:
            return super().partial_fit(X, y, groups)
        finally:
            self._named = self._weights = None

    def decision_function(self, X: Any) -> Floats:
        """How far on the side of the second class each row lies, or a number for each class."""
        found = np.asarray(self._given(X) @ self.coef_.T + self.intercept_)
        return found if len(self.classes_) > 2 else found[:, 0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row."""
        return likeliest(self.decision_function(X), self.classes_)

    def predict_proba(self, X: Any) -> Floats:
        """The chance of each class, by the logistic model."""
        found = self.decision_function(X)
        scores = found if found.ndim > 1 else np.stack([np.zeros(len(found)), found], axis=1)
        return softmax(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.epsilon is not None  # few rows drown
        return tags

    def _table(self, x: Floats, y: npt.NDArray[Any], *, first: bool) -> Users:
        check_classification_targets(y)
        if self._weights is not None:
            weights = _check_sample_weight(self._weights, x, ensure_non_negative=True)
        alone = Users(
            Table(x, y, "given to fit", weights=None if self._weights is None else weights),
            (np.arange(len(x)),),
        )
        alone = class_weighted(alone, self.class_weight, may_count=self.epsilon is None)
        known = self._named if first else vars(self)["classes_"]
        if first and known is None and len(np.unique(y)) < 2:
            raise UnfitData("there are rows of one class only: two are needed", "y")
        alone, found = class_numbers(alone, known)
        if first:
            self.classes_ = found
        return alone

    def _start(self, problem: Users, setting: Setting, rounds: int, last: Any) -> Training:
        recipe = Recipe(
            local_steps=self.local_steps,
            rate=self.rate,
            ridge=self.ridge,
            intercept=self.intercept,
            clip=self.clip,
            weighted=self.weighted,
            tol=self.tol,
            classes=len(self.classes_),
        )
        start = None if last is None else last.weights
        return Training(setting, recipe, problem, rounds=rounds, start=start)

    def _show(self, model: dict[str, Any], x: Floats) -> None:
        del x
        self.coef_ = np.atleast_2d(model["coef"])
        self.intercept_ = np.atleast_1d(model["intercept"])


@dataclass(eq=False, repr=False)
class FederatedKMeans(TransformerMixin, ClusterMixin, _InRounds):  # type: ignore[misc]
    """Clusters by k-means, of which parties tell nothing but sums over clusters.

    With privacy `radius` says how far from `origin` rows may lie, 1 if nobody says; both are
    public, and rows farther away are moved there, as the outcome says. `labels_` are those of the
    rows given to `fit`: every party's own, and not hidden by any noise. See `FederatedEstimator`
    for the rest.
    """

    n_clusters: int = 8
    _: KW_ONLY
    radius: float | None = None
    origin: npt.ArrayLike = 0.0
    init: npt.ArrayLike | None = None
    tol: float = 1e-4

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """The cluster of each row."""
        rows = self._given(X)
        return nearest(rows, self.cluster_centers_)

    def transform(self, X: Any) -> Floats:
        """How far each row is from each centre."""
        rows = self._given(X)
        return length(rows[:, None, :] - self.cluster_centers_, 2)

    def _start(self, problem: Users, setting: Setting, rounds: int, last: Any) -> Clusters:
        return Clusters(
            setting,
            problem,
            clusters=self.n_clusters,
            rounds=rounds,
            radius=self._public(self.radius) if last is None else last.radius,
            origin=self.origin,
            centres=self.init if last is None else last.centres,
            tol=self.tol,
        )

    def _show(self, model: dict[str, Any], x: Floats) -> None:
        self.cluster_centers_ = np.array(model["centres"])
        self.labels_ = nearest(x, self.cluster_centers_)


@dataclass(kw_only=True, eq=False, repr=False)
class FederatedLinearRegression(RegressorMixin, FederatedEstimator):  # type: ignore[misc]
    """A line by least squares, from sums of first and second moments in one round.

    With privacy `radius` and `label_radius` say how long rows and how large labels may be, 1 if
    nobody says; both are public, and what is longer is shortened, as the outcome says. `rounds` is
    for `partial_fit`. See `FederatedEstimator` for the rest.
    """

    ridge: float = 0.0
    radius: float | None = None
    label_radius: float | None = None

    _has_labels = _has_numbers = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.epsilon is not None
        return tags

    def predict(self, X: Any) -> Floats:
        """The number of each row."""
        return np.asarray(self._given(X) @ self.coef_ + self.intercept_)

    def _start(self, problem: Users, setting: Setting, rounds: int, last: Any) -> MomentSums:
        radii = {"radius": self.radius, "label_radius": self.label_radius}
        public = {name: self._public(each) for name, each in radii.items()}
        return line_sums(setting, problem, self.ridge, **public, rounds=rounds, last=last)

    def _show(self, model: dict[str, Any], x: Floats) -> None:
        del x
        self.coef_, self.intercept_ = model["coef"], model["intercept"]


@dataclass(eq=False, repr=False)
class FederatedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FederatedEstimator):  # type: ignore[misc]
    """Principal components, from sums of first and second moments in one round.

    With privacy `radius` says how long rows may be, 1 if nobody says; it is public, and longer
    rows are shortened, as the outcome says. `rounds` is for
    `partial_fit`. See `FederatedEstimator` for the rest.
    """

    n_components: int = 1
    _: KW_ONLY
    radius: float | None = None

    def transform(self, X: Any) -> Floats:
        """The coordinates of each row along the components."""
        return np.asarray((self._given(X) - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Floats:
        """Rows that have these coordinates."""
        return np.asarray(np.asarray(X) @ self.components_ + self.mean_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _start(self, problem: Users, setting: Setting, rounds: int, last: Any) -> MomentSums:
        many, radius = self.n_components, self._public(self.radius)
        return component_sums(setting, problem, many, radius, rounds=rounds, last=last)

    def _show(self, model: dict[str, Any], x: Floats) -> None:
        del x
        self.mean_, self.components_ = model["mean"], model["components"]
        self.explained_variance_ = model["variance"]
        self.explained_variance_ratio_ = model["variance"] / max(model["total"], 1e-300)
