"""Says what users add to a token: numbers, reports, or steps down a gradient.

Specification: `specs/13-network-dp.md`, section 1.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa.draws import Draws
from gopa.learning.clipping import clip
from gopa.learning.network_dp.walks import Floats, Users, Visits
from gopa.learning.objectives import LOGISTIC, RowLoss
from gopa.learning.rows import AgentRows
from gopa.learning.steps import Steps
from gopa.noise import randomised_response, subseed

Flags: TypeAlias = npt.NDArray[np.bool_]

_BLOCK: Final = 512
"""Steps for which noise is drawn at a time."""


class Numbers:
    """Adds a user's number, its k-th at the k-th visit, and the noise of the step."""

    def __init__(self, values: Floats, noise: Floats) -> None:
        self._values, self._noise = values, noise

    def __call__(
        self, token: Floats, step: int, users: Users, times: Users, active: Flags
    ) -> Floats:
        """What is added to each token; `values` (users, times) start again at the end."""
        del token
        own = self._values[users, times % self._values.shape[1]] * active
        return np.asarray(own + self._noise[step])[:, None]


def ring_deviations(
    users: int, rounds: int, sigma: float, *, distributed: bool = False, published: bool = True
) -> Floats:
    """The deviation of the noise in each step on a ring.

    Algorithm 4.2 has `sigma` every users - 1 steps. `distributed` (remark 4.2) has it in the first
    step, and a part of it in all others, so that the users - 1 others of a round make up `sigma`.
    Whatever is `published` has it in the last step, too: without, who stands near the end sees
    the last numbers bare.
    """
    steps = np.arange(users * rounds)
    if distributed:
        found = np.full(len(steps), sigma / math.sqrt(users - 1))
        found[0] = sigma
    else:
        found = np.where(steps % (users - 1) == 0, sigma, 0.0)
    if published:
        found[-1] = sigma
    return found


class ReportUpdate:
    """Adds one to the place of a report: the user's value, randomised, or anything at all."""

    def __init__(self, seed: int, values: Users, places: int, epsilon: float, walk: Visits) -> None:
        truth = values[walk.users, walk.times % values.shape[1]]
        law = randomised_response(places, epsilon)
        # Past its cap a user reports anything, which is a value and no data.
        drawn = Draws(seed, "network dp", "anything").below(places, truth.size)
        anything = drawn.reshape(truth.shape)
        reports = law.report(truth, subseed(seed, "network dp", "reports"))
        self._reports = np.where(walk.active, reports, anything).T
        self._places = np.arange(places)
        self.beta = float(law.other) * places

    def __call__(
        self, token: Floats, step: int, users: Users, times: Users, active: Flags
    ) -> Floats:
        """A one at the place of the report."""
        del token, users, times, active
        return np.asarray(self._reports[step][:, None] == self._places, dtype=np.float64)


class Descent:
    """Takes a noisy gradient step on the loss of the user's rows, and comes back into a ball.

    The slope of each row's loss is cut off at `steepest` before anything is averaged: that is the
    gradient of a convex function that bends no more than the loss does, so steps stay
    contractions. To clip a mean of gradients would make them expand (see the specification).
    """

    def __init__(  # noqa: PLR0913 - what a step depends on
        self,
        loss: RowLoss,
        rows: AgentRows,
        *,
        steepest: float,
        sigma: float,
        steps: Steps,
        ridge: float = 0.0,
        radius: float = math.inf,
        rng: np.random.Generator,
    ) -> None:
        self._loss, self._steepest, self._sigma = loss, steepest, sigma
        self._is_logistic = loss is LOGISTIC
        signs = rows.y[:, :, None] if self._is_logistic else 1.0
        self._x, self._y = np.ascontiguousarray(rows.x * signs), rows.y
        self._shares = 1 / np.maximum(rows.counts, 1)[:, None]
        self._steps, self._ridge, self._radius, self._rng = steps, ridge, radius, rng
        self._noise: Floats = np.empty((0, 0, 0))
        self._lengths: list[float] = []
        self._first = 0

    def __call__(
        self, token: Floats, step: int, users: Users, times: Users, active: Flags
    ) -> Floats:
        """The way to the next tokens."""
        del times
        place = step - self._first
        if not 0 <= place < len(self._lengths):
            place = self._drawn(step, token.shape)
        length = self._lengths[place]
        x = self._x[users]
        z = np.einsum("rmd,rd->rm", x, token)
        slopes = self._slopes(z, users) * (self._shares[users] * active[:, None])
        moved = np.einsum("rm,rmd->rd", slopes, x)
        moved *= -length
        moved += self._noise[place]
        if self._ridge:
            moved -= length * self._ridge * token
        if self._radius < math.inf:
            moved = clip(token + moved, 2, self._radius) - token
        return np.asarray(moved)

    def _slopes(self, z: Floats, users: Users) -> Floats:
        if self._is_logistic:
            # Labels are in the rows; where exp overflows the slope is 0.
            np.exp(z, out=z)
            z += 1.0
            found = np.divide(-1.0, z, out=z)
            return np.maximum(found, -self._steepest, out=found)
        return np.clip(self._loss.slope(z, self._y[users]), -self._steepest, self._steepest)

    def _drawn(self, step: int, shape: tuple[int, ...]) -> int:
        """Noise and lengths for the block that begins with this step."""
        count = np.arange(step + 1, step + 1 + _BLOCK)
        lengths = self._steps(count)
        self._noise = self._rng.standard_normal((_BLOCK, *shape))
        self._noise *= (self._sigma * lengths)[:, None, None]
        self._first, self._lengths = step, lengths.tolist()
        return 0
