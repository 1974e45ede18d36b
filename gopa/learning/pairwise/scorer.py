"""Learning to rank as an estimator of scikit-learn; needs the extra `learning`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gopa.graph import Graph
from gopa.learning.data import Table, Users
from gopa.learning.estimators import Estimator, UnfitData, seed_of, validate_data, value_errors
from gopa.learning.outcome import Progress
from gopa.learning.pairwise.averaging import Prox, fit_dual_averaging
from gopa.learning.pairwise.ranking import concordance
from gopa.learning.privacy import Privacy
from gopa.support.arrays import Floats

_EACH = 20
"""Exchanges for each user, by default."""


@dataclass(eq=False, repr=False)
class PairwiseScorer(Estimator):
    """A linear score that is higher for rows of higher labels, learned by gossip of users.

    Each row is a user's, who exchanges it along `graph`: strangers see it, unless `privacy` has
    users report the nearest row of a public `codebook` in its place. Labels are ordered, and
    public. See `fit_dual_averaging` for `steps`, by default 20 for each user, and `Prox` for
    `ridge`, `lasso` and `radius`.
    """

    graph: Graph | str = "complete"
    _: KW_ONLY
    privacy: Privacy | None = None
    codebook: npt.ArrayLike | None = None
    steps: int | None = None
    ridge: float = 0.0
    lasso: float = 0.0
    radius: float = float("inf")
    random_state: Any = None
    progress: Progress = None

    def fit(self, X: Any, y: Any) -> Self:
        """Learns from rows X and their labels y, of which there are at least two."""
        with value_errors():
            x, y = validate_data(self, X, y, dtype=np.float64)
            kinds, places = np.unique(y, return_inverse=True)
            if len(kinds) < 2:
                message = f"labels of one class only (n_samples = {len(x)}): no pair has an order"
                raise UnfitData(message, "y")
            users = Users(Table(x, places), tuple(np.arange(len(x))[:, None]))
            self.outcome_ = fit_dual_averaging(
                users,
                graph=self.graph,
                privacy=self.privacy,
                codebook=self.codebook,
                seed=seed_of(self.random_state),
                steps=_EACH * len(x) if self.steps is None else self.steps,
                prox=Prox(self.ridge, self.lasso, self.radius),
                progress=self.progress,
            )
            self.coef_: Floats = np.asarray(self.outcome_.model)
            self.n_iter_ = len(self.outcome_.history)
        return self

    def predict(self, X: Any) -> Floats:
        """The score of each row."""
        return np.asarray(np.einsum("rd,d->r", self._given(X), self.coef_))

    def score(self, X: Any, y: Any) -> float:
        """The part of the pairs of unlike labels in which the higher one has the higher score."""
        return concordance(self.predict(X), y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
