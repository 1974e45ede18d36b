"""Hides rows behind private reports, and tells gradients that are right in expectation.

Specification: `specs/23-pairwise.md`, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.charges import Charge
from gopa.learning.clipping import finite
from gopa.learning.data import Users
from gopa.learning.ledger import PrivacyLedger
from gopa.learning.pairwise.kernels import Floats, Places
from gopa.learning.pairwise.local import require_local
from gopa.learning.pairwise.losses import PairLoss, rows_of
from gopa.noise import randomised_response, subseed

_MOST: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class PrivateRows:
    """Holds for each user the reported row of a public codebook, and its public label."""

    loss: PairLoss
    codebook: Floats
    labels: Floats
    reported: Places
    kept: float
    other: float

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
        public = finite(codebook, "codebook")
        if (
            public.ndim != 2
            or public.shape[1] != rows.shape[1] - 1
            or not 2 <= len(public) <= _MOST
        ):
            raise UsageError(f"from 2 to {_MOST} rows of {rows.shape[1] - 1} features", "codebook")
        apart = ((rows[:, None, :-1] - public) ** 2).sum(axis=-1)
        response = randomised_response(len(public), privacy.epsilon)
        ledger.charge(Charge.randomised_response(privacy.epsilon, len(public)), note="report")
        reported = response.report(apart.argmin(axis=1), subseed(seed, "reports"))
        return cls(loss, public, rows[:, -1], reported, float(response.keep), float(response.other))

    @property
    def users(self) -> int:
        """How many users there are."""
        return len(self.reported)

    @property
    def dimension(self) -> int:
        """How many numbers a model has."""
        return self.loss.dimension(self.codebook.shape[1])

    def gradient(self, models: Floats, one: Places, other: Places) -> Floats:
        """The gradient for each two users, at a model of its own.

        A user that holds its own row needs no report: two equal rows have no features between
        them, whichever they are.
        """
        first, second = self._weights(one), self._weights(other)
        same = one == other
        second[same], first[same] = 0.0, 0.0
        second[same, 0] = first[same, 0] = 1.0
        x, y = self._labelled(one)[:, :, None], self._labelled(other)[:, None]
        slope = self.loss.gradient(models[:, None, None], x, y)
        return np.asarray(np.einsum("mi,mj,mijd->md", first, second, slope))

    def _weights(self, users: Places) -> Floats:
        """Of each row of the codebook: unbiased for that of the row that a user has."""
        hit = np.equal(self.reported[users, None], np.arange(len(self.codebook)))
        return np.asarray((hit - self.other) / (self.kept - self.other))

    def _labelled(self, users: Places) -> Floats:
        shape = (len(users), *self.codebook.shape)
        labels = np.broadcast_to(self.labels[users, None, None], (*shape[:2], 1))
        return np.concatenate([np.broadcast_to(self.codebook, shape), labels], axis=-1)
