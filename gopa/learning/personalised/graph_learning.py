"""How a graph is learned from models, and with which peers users compare theirs.

Specification: `specs/20-personalised.md`, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np

from gopa import UsageError
from gopa.graph import Graph, from_similarity
from gopa.learning.checks import generator, whole
from gopa.learning.clipping import finite
from gopa.learning.objectives import Linear
from gopa.learning.personalised.objective import Collaboration, Links, Places
from gopa.learning.personalised.release import Accounts, GridSums, Mechanism, Noise, NoiseStream
from gopa.learning.privacy import Privacy
from gopa.support.arrays import Floats

_NUMBER_BYTES: Final = 8
_BOLD: Final = 64
"""So many times longer than the curvature here suggests is the first step that is tried."""


class GraphLearner:
    """Weights (runs, users, users), symmetric, which take steps of (2.8).

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
    """The weights of a graph for every run, or no edge at all."""
    users = problem.users
    if start is None:
        return np.zeros((runs, users, users))
    problem.links(start)
    return np.repeat(start.weight_matrix().toarray()[None], runs, axis=0)


def graph_of(weights: Floats) -> Graph:
    """The graph of one matrix of weights."""
    return from_similarity(finite(weights, "weights"))


class PrivateLosses:
    """Each user's loss behind noise, `times` times; all of them are charged beforehand.

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
        local = problem.private
        if not isinstance(local, Linear):
            raise UsageError("losses of two classes are made private: Linear", "problem")
        self._local, self._largest, self._seed = local, largest, seed
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
        """The noisy losses of models (runs, users, p); regularisers have no noise."""
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


View: TypeAlias = dict[int, int]
"""The age of what is known of each peer."""

_ENTRY_BYTES: Final = 6


class Sampler(Protocol):
    """The peers drawn for one user of each run."""

    bytes: int
    """Sent in the first run so far, to find peers."""

    def draw(self, users: Places) -> Places:
        """Different peers of each of these users: (runs, count)."""


class Peers(Protocol):
    """How peers are found."""

    def begin(self, users: int, count: int, *, runs: int, seed: int) -> Sampler:
        """A sampler of so many peers at a time."""


@dataclass(frozen=True, slots=True)
class UniformPeers:
    """An oracle: every set of peers is equally likely, as theorem 2.1 needs."""

    def begin(self, users: int, count: int, *, runs: int, seed: int) -> Sampler:
        _require_enough(users, count)
        return _Uniform(users, count, runs, seed)


class _Uniform:
    def __init__(self, users: int, count: int, runs: int, seed: int) -> None:
        self._users, self._count, self.bytes = users, count, 0
        self._streams = [generator(seed, "peers", str(run)) for run in range(runs)]

    def draw(self, users: Places) -> Places:
        """Peers by Floyd's algorithm: the last candidate stands in for one drawn before."""
        uniform = np.stack([each.random(self._count) for each in self._streams])
        found = np.full((len(users), self._count), -1, dtype=np.int64)
        for place in range(self._count):
            last = self._users - 1 - self._count + place
            drawn = (uniform[:, place] * (last + 1)).astype(np.int64)
            again = (found == drawn[:, None]).any(axis=1)
            found[:, place] = np.where(again, last, drawn)
        return found + (found >= users[:, None])


@dataclass(frozen=True, slots=True)
class GossipPeers:
    """The peer sampling service of Jelasity et al. (2007): views that are shuffled in pairs.

    A user who acts sends half of its `view` to the peer it has heard of longest ago, and gets
    half of that one's. Of what is too much, up to `healing` of the oldest entries go first, then
    up to `swap` of those that were sent. Views begin as the next users around a ring, with `cycles`
    of shuffles.
    """

    view: int = 20
    healing: int = 1
    swap: int = 9
    cycles: int = 20

    def begin(self, users: int, count: int, *, runs: int, seed: int) -> Sampler:
        _require_enough(users, count)
        whole(self.view, "view", 2)
        if not count <= self.view or not users - 1 >= self.view:
            raise UsageError(f"from {count} to {users - 1} peers", "view")
        whole(self.healing, "healing", 0)
        whole(self.swap, "swap", 0)
        found = _Gossip(self, users, count, runs, seed)
        for _ in range(self.cycles):
            for user in range(users):
                found.shuffle(np.full(runs, user))
        return found


class _Gossip:
    def __init__(self, how: GossipPeers, users: int, count: int, runs: int, seed: int) -> None:
        self._how, self._count, self.bytes = how, count, 0
        self._streams = [generator(seed, "gossip", str(run)) for run in range(runs)]
        ring = range(1, how.view + 1)
        self.views: list[list[View]] = [
            [{(user + step) % users: 0 for step in ring} for user in range(users)]
            for _ in range(runs)
        ]

    def draw(self, users: Places) -> Places:
        """Peers from each user's view, after it was shuffled."""
        self.shuffle(users)
        found = []
        for run, user in enumerate(users.tolist()):
            known = list(self.views[run][user])
            chosen = self._streams[run].permutation(len(known))[: self._count]
            found.append([known[each] for each in chosen.tolist()])
        return np.array(found, dtype=np.int64)

    def shuffle(self, users: Places) -> None:
        """Lets each user exchange half of its view with the peer it heard of longest ago."""
        for run, user in enumerate(users.tolist()):
            views, rng = self.views[run], self._streams[run]
            other = max(views[user], key=views[user].__getitem__)
            mine, theirs = self._half(views[user], user, rng), self._half(views[other], other, rng)
            views[user] = self._merged(views[user], mine, theirs, user, rng)
            views[other] = self._merged(views[other], theirs, mine, other, rng)
            if run == 0:
                self.bytes += _ENTRY_BYTES * (len(mine) + len(theirs))

    def _half(self, view: View, user: int, rng: np.random.Generator) -> View:
        """The user itself, new, and some of its view, but the oldest only if it must."""
        order = [list(view)[each] for each in rng.permutation(len(view)).tolist()]
        old = sorted(order, key=view.__getitem__)[len(order) - self._how.healing :]
        young = [each for each in order if each not in old]
        sent = [*young, *old][: self._how.view // 2 - 1]
        return {user: 0, **{each: view[each] for each in sent}}

    def _merged(
        self, view: View, sent: View, got: View, user: int, rng: np.random.Generator
    ) -> View:
        found = dict(view)
        for peer, age in got.items():
            if peer != user:
                found[peer] = min(age, found.get(peer, age))
        size = self._how.view
        oldest = sorted(found, key=found.__getitem__, reverse=True)
        for peer in oldest[: min(self._how.healing, max(0, len(found) - size))]:
            del found[peer]
        swapped = [peer for peer in sent if peer in found and peer not in got]
        for peer in swapped[: min(self._how.swap, max(0, len(found) - size))]:
            del found[peer]
        listed = list(found)
        while len(found) > size:
            del found[listed.pop(int(rng.integers(len(listed))))]
        return {peer: age + 1 for peer, age in found.items()}


def _require_enough(users: int, count: int) -> None:
    if users < 2:
        raise UsageError("at least two users", "problem")
    whole(count, "peers", 1, users - 1)
