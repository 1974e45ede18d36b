"""Hides rows behind private reports, and tells gradients that are right in expectation.

Specification: `specs/23-pairwise.md`, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.clipping import finite
from gopa.learning.data import Users
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.pairwise.kernels import Places
from gopa.learning.pairwise.local import reported_by, require_local, weights_of
from gopa.learning.pairwise.losses import PairLoss, rows_of
from gopa.noise import randomised_response, subseed
from gopa.support.arrays import Floats

_MOST: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class PrivateRows:
    """Holds for each user weights of the rows of a public codebook, and its public label.

    Weighted rows are right in expectation: they stand for the row nearest to that of the user.
    """

    loss: PairLoss
    codebook: Floats
    labels: Floats
    weights: Floats

    @classmethod
    def of(
        cls,
        loss: PairLoss,
        problem: Users,
        codebook: npt.ArrayLike | None,
        ledger: PrivacyLedger,
        *,
        seed: int,
    ) -> PrivateRows:
        """Everybody's report of the nearest row; it costs the epsilon of the ledger's privacy."""
        privacy, rows = require_local(ledger.privacy, problem), rows_of(problem)
        if codebook is None:
            raise UsageError("the public rows that stand for all others are missing", "codebook")
        public, width = finite(codebook, "codebook"), rows.shape[1] - 1
        if public.shape[1:] != (width,) or not 2 <= len(public) <= _MOST:
            raise UsageError(f"from 2 to {_MOST} rows of {width} features", "codebook")
        nearest = ((rows[:, None, :-1] - public) ** 2).sum(axis=-1).argmin(axis=1)
        response = randomised_response(len(public), privacy.epsilon)
        reported = reported_by(nearest, response, ledger, subseed(seed, "pairwise", "rows"))
        return cls(loss, public, rows[:, -1], weights_of(reported, response))

    @property
    def users(self) -> int:
        """How many users there are."""
        return len(self.labels)

    @property
    def dimension(self) -> int:
        """How many numbers a model has."""
        return self.loss.dimension(self.codebook.shape[1])

    def gradient(self, models: Floats, one: Places, other: Places) -> Floats:
        """The gradient for each two users, at a model of its own.

        Two users with equal rows have the same gradient whichever rows these are, so a user that
        holds its own row needs no report.
        """
        first, second = self.weights[one], self.weights[other]
        first[one == other] = second[one == other] = np.eye(len(self.codebook))[0]
        x, y = self._labelled(one)[:, :, None], self._labelled(other)[:, None]
        slope = self.loss.gradient(models[:, None, None], x, y)
        return np.asarray(np.einsum("mi,mj,mijd->md", first, second, slope))

    def _labelled(self, users: Places) -> Floats:
        shape = (len(users), *self.codebook.shape)
        labels = np.broadcast_to(self.labels[users, None, None], (*shape[:2], 1))
        return np.concatenate([np.broadcast_to(self.codebook, shape), labels], axis=-1)
