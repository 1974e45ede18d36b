"""Linear models of several classes, one against all others, many runs side by side.

Specification: `specs/19-without-replacement.md`, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import number
from gopa.learning.clipping import clip
from gopa.learning.data import Table, Users, likeliest
from gopa.learning.objectives import LOGISTIC
from gopa.learning.outcome import require_classes
from gopa.support.arrays import Floats

LONGEST: Final = 1.0
"""Rows are shortened to this length: no gradient of a row's loss is longer then."""


@dataclass(frozen=True, slots=True)
class OneVsAll:
    """The logistic losses of rows with these classes: one model for each, or one for two."""

    classes: npt.NDArray[Any]
    ridge: float = 0.0

    @classmethod
    def of(cls, problem: Users, ridge: float) -> OneVsAll:
        """The losses of all labels that there are; `UsageError` for a single one."""
        classes = np.unique(problem.table.labels)
        if len(classes) < 2:
            raise UsageError("there is one class: nothing tells rows apart", "problem")
        if not 0 <= number(ridge, "ridge") < np.inf:
            raise UsageError("finite and not negative", "ridge")
        return cls(classes, ridge)

    @property
    def count(self) -> int:
        """How many models there are."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def signs(self, labels: npt.NDArray[Any]) -> Floats:
        """1 where a label is that of a model, else -1: (..,) becomes (.., models)."""
        owned = self.classes[-self.count :]
        return np.where(labels[..., None] == owned, 1.0, -1.0)

    def losses(self, models: Floats, x: Floats, signs: Floats) -> Floats:
        """The mean loss of models (runs, models, d) on rows (runs, rows, d)."""
        z = np.einsum("rbd,rcd->rbc", x, models)
        return np.asarray(LOGISTIC.value(z, signs).mean(axis=1) + self._ridge(models))

    def gradients(self, models: Floats, x: Floats, signs: Floats) -> Floats:
        """The gradients of the mean loss, for each model."""
        slopes = LOGISTIC.slope(np.einsum("rbd,rcd->rbc", x, models), signs) / x.shape[1]
        return np.asarray(np.einsum("rbc,rbd->rcd", slopes, x) + self.ridge * models)

    @property
    def smoothness(self) -> float:
        """Gradients differ by this times what models differ by, at most."""
        return LOGISTIC.bend * LONGEST**2 + self.ridge

    def _ridge(self, models: Floats) -> Floats:
        return np.asarray(self.ridge / 2 * (models * models).sum(axis=-1))


@dataclass(frozen=True, slots=True)
class Trained:
    """The public models (runs, models, d), and each node's own, which it tells nobody."""

    classes: npt.NDArray[Any]
    public: Floats
    own: Floats

    def __post_init__(self) -> None:
        runs, models, width = (*np.shape(self.public), 0, 0, 0)[:3]
        if np.shape(self.own)[1:] != (runs, models, width):
            raise UsageError("nodes' models are like the public ones", "own")
        require_classes(self.classes, models)

    def predict(self, x: npt.ArrayLike, *, node: int | None = None, run: int = 0) -> Any:
        """The label of each row, by the public models or those of a node."""
        models = (self.public if node is None else self.own[node])[run]
        return self._best(_rows(x, models), models)

    def accuracy(self, table: Table) -> tuple[Floats, Floats]:
        """The accuracy of public models and of nodes' own on average, for each run."""
        x = _rows(table.features, self.public)
        right = [
            [(self._best(x, each) == table.labels).mean() for each in models]
            for models in (self.public, *self.own)
        ]
        return np.array(right[0]), np.mean(right[1:], axis=0)

    def _best(self, x: Floats, models: Floats) -> npt.NDArray[Any]:
        return likeliest(np.einsum("nd,cd->nc", x, models), self.classes)


def _rows(x: npt.ArrayLike, models: Floats) -> Floats:
    rows = clip(x, 2, LONGEST)
    if rows.ndim != 2 or rows.shape[1] != models.shape[-1]:
        raise UsageError(f"rows of {models.shape[-1]} numbers", "x")
    return rows
