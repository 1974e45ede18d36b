"""Learns who should collaborate, for models that stay as they are: algorithm 2.4.

Specification: `specs/20-personalised.md`, section 6.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gopa.graph import Graph, from_similarity
from gopa.learning.clipping import finite
from gopa.learning.personalised.accounts import Accounts
from gopa.learning.personalised.links import Floats, Links, Places
from gopa.learning.personalised.objective import Collaboration
from gopa.learning.personalised.peers import Sampler
from gopa.learning.personalised.release import GridSums, Mechanism, Noise, NoiseStream
from gopa.learning.privacy import Privacy

_NUMBER_BYTES: Final = 8
_BOLD: Final = 64
"""So many times longer than the curvature here suggests is the first step that is tried."""


class GraphLearner:
    """Holds weights (runs, users, users), symmetric, and takes steps of (2.8).

    A user asks some peers for model, loss and degree, and moves its weights to them down J. How far
    is found by halving until J is below its quadratic bound, at least as far as the theorem's step.
    """

    def __init__(
        self,
        problem: Collaboration,
        weights: Floats,
        models: Floats,
        losses: Floats | None = None,
        *,
        nearest: int | None = None,
    ) -> None:
        self.weights = weights
        self.degrees = np.asarray(weights.sum(axis=-1))
        self._problem, self._nearest = problem, nearest
        self.renew(models, losses)
        self.messages = self.bytes = 0

    def renew(self, models: Floats, losses: Floats | None = None) -> None:
        """Goes on with other models; `losses` are those to believe, if not the true ones."""
        self._models = models
        found = self._problem.local.value(models) if losses is None else losses
        self._losses = self._problem.confidences * found

    def __call__(self, users: Places, peers: Places) -> None:
        """Lets one user of each run compare itself with these peers."""
        problem, runs = self._problem, np.arange(len(users))
        regulariser, weight, count = problem.regulariser, problem.weight, peers.shape[1]
        at = runs[:, None], users[:, None], peers
        own, degree = self.weights[at], self.degrees[runs, users]
        others = self.degrees[runs[:, None], peers]
        apart = self._models[runs[:, None], peers] - self._models[runs, users][:, None]
        costs = self._losses[runs, users][:, None] + self._losses[runs[:, None], peers]
        costs = costs + problem.pull / 2 * (apart * apart).sum(axis=-1)
        slopes = regulariser.edge.slope(own) + regulariser.degree.slope(others)
        slopes = weight * (slopes + regulariser.degree.slope(degree)[:, None])
        down, most = costs + slopes, problem.graph_smoothness(count)
        bend = count * regulariser.degree.bend(degree) + regulariser.edge.bend(own).max(axis=1)
        bend = weight * (bend + regulariser.degree.bend(others).max(axis=1))
        bend = np.minimum(bend / _BOLD, most)
        before = self._bent(own, degree, others)
        while True:
            moved = np.maximum(0.0, own - down / bend[:, None])
            step = moved - own
            after = self._bent(moved, degree + step.sum(axis=1), others + step)
            over = after - before - (slopes * step).sum(axis=1)
            short = over > bend / 2 * (step * step).sum(axis=1) + 1e-15 * np.abs(before)
            if not (short & (bend < most)).any():
                break
            bend = np.where(short, np.minimum(2 * bend, most), bend)
        self._set(at, moved, step)
        if self._nearest is not None:
            self._forget(users, self._nearest)
        self.messages += 3 * count
        self.bytes += _NUMBER_BYTES * count * (problem.dimension + 3)

    def cut(self, below: float) -> None:
        """Takes edges of smaller weights away."""
        self.weights = np.where(self.weights < below, 0.0, self.weights)
        self.degrees = np.asarray(self.weights.sum(axis=-1))

    def _bent(self, weights: Floats, degree: Floats, others: Floats) -> Floats:
        edge, each = self._problem.regulariser.edge, self._problem.regulariser.degree
        pairs = edge.value(weights) + each.value(others)
        return np.asarray(self._problem.weight * (pairs.sum(axis=1) + each.value(degree)))

    def _set(self, at: tuple[Places, Places, Places], moved: Floats, step: Floats) -> None:
        runs, users, peers = at
        self.weights[at] = moved
        self.weights[runs, peers, users] = moved
        self.degrees[runs, peers] += step
        self.degrees[runs[:, 0], users[:, 0]] += step.sum(axis=1)

    def _forget(self, users: Places, nearest: int) -> None:
        """Remark 2.5: no weight to neighbours but those with the nearest models."""
        runs = np.arange(len(users))
        rows = self.weights[runs, users]
        apart = self._models - self._models[runs, users][:, None]
        far = np.where(rows > 0, (apart * apart).sum(axis=-1), np.inf)
        order = np.argsort(far, axis=1, kind="stable")[:, nearest:]
        old = np.take_along_axis(rows, order, axis=1)
        self._set((runs[:, None], users[:, None], order), np.zeros_like(old), -old)


def learned(learner: GraphLearner, sampler: Sampler, actors: Places, *, cut: float = 0.0) -> Links:
    """Takes a step for each column of `actors` (runs, steps), and cuts small weights off."""
    for users in actors.T:
        learner(users, sampler.draw(users))
    learner.degrees = np.asarray(learner.weights.sum(axis=-1))
    if cut:
        learner.cut(cut)
    return Links.of_weights(learner.weights)


def started_weights(problem: Collaboration, start: Graph | None, runs: int) -> Floats:
    """Those of a graph for every run, or no edge at all."""
    users = problem.users
    if start is None:
        return np.zeros((runs, users, users))
    problem.links(start)
    return np.repeat(start.weight_matrix().toarray()[None], runs, axis=0)


def graph_of(weights: Floats) -> Graph:
    """The graph of one matrix of weights."""
    return from_similarity(finite(weights, "weights"))


class PrivateLosses:
    """Tells each user's loss behind noise, `times` times; all of them are charged beforehand.

    A row's loss is cut off at `largest`: less half of that it reaches half of it.
    """

    def __init__(  # noqa: PLR0913 - privacy has many parts
        self,
        problem: Collaboration,
        accounts: Accounts,
        *,
        share: Privacy,
        times: int,
        largest: float,
        noise: Noise,
        seed: int,
    ) -> None:
        self._local, self._largest, self._seed = problem.private, largest, seed
        self._run = accounts.next_run()
        mechanism, counts = Mechanism.of(noise), self._local.rows.counts
        self._rows = GridSums(mechanism, largest / 2, counts, accounts.privacy.unit)
        trial = Accounts(share, 1)
        mechanism.charge_tables(trial, 0, times)
        most = mechanism.most(trial, times)
        self._reaches = np.array([self._rows.reach_of(most, user) for user in range(len(counts))])
        for user in np.flatnonzero(counts).tolist():
            mechanism.charge_tables(accounts, user, times)
            moved = int(self._rows.moved(self._reaches[[user]], user)[0])
            accounts.charge(user, mechanism.charge(moved), times, f"{times} losses")

    def __call__(self, models: Floats, phase: int) -> Floats:
        """Of models (runs, users, p); regularisers tell nothing and have no noise."""
        local, half = self._local, self._largest / 2
        runs, users, _ = models.shape
        predictions = np.einsum("umd,rud->rum", local.rows.x, models)
        values = (local.loss.value(predictions, local.rows.y) - half) * local.rows.present
        law = self._rows.mechanism.law
        stream = NoiseStream(law, users, self._seed, "personalised", "losses", self._run, phase)
        noise = stream.at(np.arange(runs), np.zeros(runs, dtype=np.int64)).reshape(-1, 1)
        everybody = np.tile(np.arange(users), runs)
        means = self._rows.released(
            values.reshape(runs * users, -1, 1), self._reaches[everybody], noise, everybody
        )
        found = np.where(local.rows.counts > 0, means.reshape(runs, users) + half, 0.0)
        return np.asarray(found + local.strong_curvature() / 2 * (models * models).sum(axis=-1))
