"""Runs the asynchronous ADMM that coordinate descent is compared with.

The algorithm is that of Vanhaesebrouck, Bellet and Tommasi (2017), which is not private.
Specification: `specs/20-personalised.md`, section 3.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import number, whole
from gopa.learning.clocks import Clock, ClockLaw, EdgeClock, events, require_law
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress, require_neither
from gopa.learning.personalised.descent import Look, row, started
from gopa.learning.personalised.objective import Collaboration, Links, Places
from gopa.learning.privacy import Privacy, Spent
from gopa.support.arrays import Floats

_LOOKS: Final = 20
_SENT: Final = 4
"""Vectors for each meeting: both ends send what they have of both models."""


class _Meetings:
    """For each user and neighbour the agreed models and the prices of leaving them."""

    def __init__(
        self, problem: Collaboration, links: Links, models: Floats, penalty: float, inner: int
    ) -> None:
        self.models, self._problem, self._penalty, self._inner = models, problem, penalty, inner
        self._places, weights = links.places[0], links.weights[0]
        self._near = weights > 0
        self._half = problem.pull * weights / 2
        self._firm = self._half * penalty / (self._half + penalty)
        self._scale = links.degrees[0] * problem.confidences
        self._bend = (
            self._scale * problem.bends + self._firm.sum(axis=1) + penalty * self._near.sum(axis=1)
        )
        shape = (*models.shape[:2], self._places.shape[1], models.shape[2])
        # What was agreed about a user's own model, and about that of the neighbour.
        self._own = np.broadcast_to(models[:, :, None], shape).copy()
        self._other = models[:, self._places].copy()
        self._own_price, self._other_price = np.zeros(shape), np.zeros(shape)

    def meet(self, runs: Places, first: Places, second: Places) -> None:
        """Lets the ends of an edge agree anew, in each run."""
        rho = self._penalty
        ends = [(first, self._slot(first, second)), (second, self._slot(second, first))]
        kept = []
        for user, slot in ends:
            model = self._solved(runs, user)
            half = self._half[user, slot][:, None]
            at = runs, user, slot
            pulled = half * model + rho * self._other[at] - self._other_price[at]
            kept.append((at, model, pulled / (half + rho)))
        for mine, theirs in (kept, kept[::-1]):
            at, model, _ = mine
            there, _, copy = theirs
            prices = self._own_price[at] + self._other_price[there]
            agreed = (prices / rho + model + copy) / 2
            self._own_price[at] += rho * (model - agreed)
            self._other_price[there] += rho * (copy - agreed)
            self._own[at] = self._other[there] = agreed
            self.models[at[0], at[1]] = model

    def _slot(self, user: Places, other: Places) -> Places:
        return np.asarray((self._places[user] == other[:, None]).argmax(axis=1))

    def _solved(self, runs: Places, users: Places) -> Floats:
        """Nearly the best model for the user, given what was agreed: some gradient steps."""
        rho, near = self._penalty, self._near[users][..., None]
        firm = self._firm[users][..., None]
        towards = firm * (self._other[runs, users] - self._other_price[runs, users] / rho)
        towards = towards + near * (rho * self._own[runs, users] - self._own_price[runs, users])
        target = towards.sum(axis=1)
        weight = firm.sum(axis=1) + rho * near.sum(axis=1)
        model, scale = self.models[runs, users], self._scale[users][:, None]
        for _ in range(self._inner):
            slope = scale * self._problem.local.gradient(model, users) + weight * model - target
            model = model - slope / self._bend[users][:, None]
        return model


def fit_admm(  # noqa: PLR0913 - every algorithm is called like this
    problem: Collaboration,
    *,
    privacy: Privacy | None = None,
    graph: Graph,
    clock: Clock | None = None,
    seed: int,
    progress: Progress = None,
    steps: int | None = None,
    start: npt.ArrayLike = 0.0,
    runs: int = 1,
    penalty: float = 1.0,
    inner: int = 10,
    look: Look | None = None,
) -> Outcome:
    """Personal models for one graph, by ADMM: in each step the ends of an edge agree.

    A user takes `inner` gradient steps towards its best model. By default all edges are equally
    likely.
    """
    if privacy is not None:
        require_neither(privacy, None, "ADMM is not private here: None")
    loop = AlgorithmRun(seed=seed, progress=progress)
    many = whole(runs, "runs")
    models = started(problem, start, many)
    links = problem.links(graph)
    if not 0 < number(penalty, "penalty") < math.inf:
        raise UsageError("above 0 and finite", "penalty")
    if not graph.edge_count:
        raise UsageError("nobody has a neighbour", "graph")
    total = whole(50 * graph.edge_count if steps is None else steps, "steps")
    chosen = EdgeClock(graph, np.ones(graph.edge_count)) if clock is None else clock
    require_law(chosen, ClockLaw.UNIFORM_EDGES, ClockLaw.WEIGHTED_EDGES)
    actors = events(chosen, seed, steps=total, runs=many).actors.astype(np.int64)
    _ = problem.paces
    meetings = _Meetings(problem, links, models, penalty, whole(inner, "inner"))
    everybody, last = np.arange(many), 0

    def note(step: int) -> None:
        more = {} if look is None else look(meetings.models)
        objective, sent = problem.loss(meetings.models, links), np.full(many, _SENT * step)
        loop.note(**row(step, objective=objective, vectors=sent, **more))

    with loop:
        note(0)
        for number_ in range(_LOOKS):
            first, last = number_ * total // _LOOKS, (number_ + 1) * total // _LOOKS
            for step in range(first, last):
                meetings.meet(everybody, *actors[:, step].T)
            if first < last:
                note(last)
            loop.advance("steps", last, total)
            if loop.stopped:
                break
    return loop.outcome(
        "personal models by ADMM",
        meetings.models[0] if many == 1 else meetings.models,
        spent=Spent.nothing_hidden("record"),
        messages=2 * last,
        bytes=8 * problem.dimension * _SENT * last,
    )
