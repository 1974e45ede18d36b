"""Learns models, for a graph that is given or in turn with it: algorithms 2.1 and 2.2.

Specification: `specs/20-personalised.md`, sections 2, 4 and 6 to 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import generator, number, whole
from gopa.learning.clocks import Clock, Poisson
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.personalised.descent import (
    FrankWolfe,
    Look,
    ModelDescent,
    ModelSteps,
    disguised,
    row,
    schedule,
    started,
)
from gopa.learning.personalised.graph_learning import (
    GraphLearner,
    Peers,
    PrivateLosses,
    UniformPeers,
    learned,
    started_weights,
)
from gopa.learning.personalised.objective import Collaboration, Links
from gopa.learning.personalised.release import Accounts, Allocation, Noise
from gopa.learning.personalised.warm import private_alone
from gopa.learning.privacy import Privacy, Spent
from gopa.support.arrays import Floats

Method: TypeAlias = Literal["cd", "frank-wolfe"]

_LOOKS: Final = 20
_UNIFORM: Final = UniformPeers()


@dataclass(frozen=True, slots=True)
class GraphSteps:
    """How a graph is learned: by how many steps at first and then, from how many peers.

    Edges of weight below `cut` are taken away afterwards; with `nearest`, a user keeps edges to
    those of the nearest models alone.
    """

    first: int = 2000
    then: int = 500
    peers: int = 5
    sampler: Peers = _UNIFORM
    cut: float = 1e-3
    nearest: int | None = None

    def __post_init__(self) -> None:
        for name in ("first", "then"):
            whole(getattr(self, name), name, 0)
        whole(self.peers, "peers")
        if not 0 <= number(self.cut, "cut") < math.inf:
            raise UsageError("finite and not negative", "cut")
        if self.nearest is not None:
            whole(self.nearest, "nearest")


@dataclass(frozen=True, slots=True)
class BudgetShares:
    """Which part of epsilon is for models learned alone, and for losses; steps get the rest.

    `largest` is where a row's loss is cut off.
    """

    alone: float = 0.2
    losses: float = 0.1
    largest: float = 2.0

    def __post_init__(self) -> None:
        if not (min(self.alone, self.losses) > 0 and self.alone + self.losses < 1):
            raise UsageError("parts above 0 that leave something for steps", "shares")
        if not 0 < self.largest < math.inf:
            raise UsageError("above 0 and finite", "largest")


class _Graph:
    """The weights of all runs, and learns them anew from models; losses may be private."""

    def __init__(  # noqa: PLR0913 - what a graph is learned from
        self, problem: Collaboration, graph: Graph | None, learning: GraphSteps,
        losses: PrivateLosses | None, *, runs: int, seed: int,
    ) -> None:  # fmt: skip
        self._seed, self._learning, self._losses = seed, learning, losses
        nothing = np.zeros((runs, problem.users, problem.dimension))
        self.learner = GraphLearner(
            problem, started_weights(problem, graph, runs), nothing, nearest=learning.nearest
        )
        fewer = min(learning.peers, problem.users - 1)
        self.sampler = learning.sampler.begin(problem.users, fewer, runs=runs, seed=seed)

    def learn(self, models: Floats, phase: int) -> Links:
        """The links after more steps from these models."""
        told = None if self._losses is None else self._losses(models, phase)
        self.learner.renew(models.copy(), told)
        steps = self._learning.then if phase else self._learning.first
        runs, users, _ = models.shape
        who = np.empty((runs, 0), dtype=np.int64)
        if steps:
            named = int(generator(self._seed, "graph", str(phase)).integers(2**62))
            who = schedule(Poisson(users), users, named, steps=steps, runs=runs)
        return learned(self.learner, self.sampler, who, cut=self._learning.cut)


def fit_descent(  # noqa: PLR0913 - every algorithm is called like this
    problem: Collaboration,
    *,
    privacy: Privacy | None,
    graph: Graph,
    clock: Clock | None = None,
    seed: int,
    progress: Progress = None,
    steps: int | None = None,
    start: npt.ArrayLike = 0.0,
    runs: int = 1,
    noise: Noise = "gaussian",
    allocation: Allocation = "equal",
    releases: int | None = None,
    clipping: float | None = None,
    accounts: Accounts | None = None,
    look: Look | None = None,
) -> Outcome:
    """Personal models for one graph, by coordinate descent (algorithm 2.2).

    In each of `steps`, by default 50 for each user, one user moves its model towards those of its
    neighbours and down its own loss, and sends it to them. With `privacy` rows' gradients
    are cut to `clipping`, put on a grid and hidden by exact integer noise; a user stops after
    `releases` updates, by default the number that it expects. The start must tell nothing, or
    have been charged to the same `accounts`. Losses |w - a|^2 / 2 make it model propagation, (15).

    Raises:
        BudgetExceeded: not even the coarsest release is within what was asked for.
    """
    found = fit_jointly(
        problem, privacy=privacy, graph=graph, clock=clock, seed=seed, progress=progress,
        steps=steps, start=start, runs=runs, noise=noise, allocation=allocation,
        releases=releases, clipping=clipping, accounts=accounts, look=look,
    )  # fmt: skip
    name = "personal models by coordinate descent"
    return replace(found, model=found.model["models"], algorithm=name)


def fit_jointly(  # noqa: PLR0913 - every algorithm is called like this
    problem: Collaboration,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Clock | None = None,
    seed: int,
    progress: Progress = None,
    steps: int | None = None,
    every: int | None = None,
    learning: GraphSteps | None = None,
    method: Method = "cd",
    radius: float = 10.0,
    taken: int = 0,
    start: npt.ArrayLike = 0.0,
    alone: Floats | None = None,
    runs: int = 1,
    noise: Noise = "gaussian",
    allocation: Allocation = "equal",
    releases: int | None = None,
    clipping: float | None = None,
    shares: BudgetShares | None = None,
    accounts: Accounts | None = None,
    look: Look | None = None,
) -> Outcome:
    """Models and graph in turn: from models learned alone, then after every `every` steps.

    Without `learning` the `graph` stays as it is; with it `graph` is where it begins, by default
    without edges. `alone` are the models to learn the first graph from, by default those of least
    loss; with privacy they are told behind noise. `taken` steps of Frank-Wolfe went before. The
    model has "models" (users, p) and, if learned, "weights" (users, users), or one of each for
    every run. All else is as in `fit_descent`.

    Raises:
        BudgetExceeded: not even the coarsest release is within what was asked for.
    """
    many, loop = whole(runs, "runs"), AlgorithmRun(seed=seed, progress=progress)
    if method not in (get_args(Method) if privacy is None else {"cd"}):
        raise UsageError(f"one of {', '.join(get_args(Method))}; only cd is private", "method")
    models = started(problem, start, many)
    total = whole(50 * problem.users if steps is None else steps, "steps")
    marks = _marks(total, every, learning)
    actors = schedule(clock, problem.users, seed, steps=total, runs=many)
    kept = Accounts.of(privacy, problem.users, accounts)
    relations = losses = None
    if learning is None:
        links = problem.links(graph)
    else:
        if kept is not None:
            alone, losses = _told(
                problem, kept, shares or BudgetShares(), len(marks), noise=noise, seed=seed
            )
        first = started(problem, problem.alone(1e-7) if alone is None else alone, many)
        relations = _Graph(problem, graph, learning, losses, runs=many, seed=seed)
        links = relations.learn(first, 0)
    engine: ModelSteps
    if method == "cd":
        disguise = None if kept is None else disguised(
            problem, links, kept, actors, seed=seed, noise=noise, allocation=allocation,
            releases=releases, clipping=clipping,
        )  # fmt: skip
        engine = ModelDescent(problem, links, models, disguise)
    else:
        engine = FrankWolfe(problem, links, models, radius, taken=whole(taken, "taken", 0))

    def note(step: int) -> None:
        more = {} if look is None else look(models)
        objective = problem.loss(models, engine.links)
        loop.note(**row(step, objective=objective, vectors=engine.vectors, **more))

    with loop:
        note(0)
        for phase, (begin, end) in enumerate(pairwise([0, *marks])):
            if phase and relations is not None:
                engine.relink(relations.learn(models, phase))
            engine.walk(actors, begin, end)
            note(end)
            loop.advance("steps", end, total)
            if loop.stopped:
                break
    model, messages, sent = {"models": models}, int(engine.vectors[0]), int(engine.bytes[0])
    if relations is not None:
        model["weights"] = relations.learner.weights
        messages += relations.learner.messages
        sent += relations.learner.bytes + relations.sampler.bytes
    return loop.outcome(
        f"personal models ({method}, graph {'learned' if learning else 'given'})",
        {name: each[0] if many == 1 else each for name, each in model.items()},
        spent=Spent.nothing_hidden("record") if kept is None else kept.spent(),
        messages=messages,
        bytes=sent,
        converged=None if kept is not None else engine.is_still(),
    )


def _marks(total: int, every: int | None, learning: GraphSteps | None) -> list[int]:
    """After which steps the graph is learned anew, or at least looked at what was reached."""
    if learning is None:
        return sorted({place * total // _LOOKS for place in range(1, _LOOKS + 1)} - {0})
    period = whole(max(1, total // 5) if every is None else every, "every")
    return [*range(period, total, period), total]


def _told(  # noqa: PLR0913 - privacy has many parts
    problem: Collaboration, accounts: Accounts, shares: BudgetShares, phases: int,
    *, noise: Noise, seed: int,
) -> tuple[Floats, PrivateLosses]:  # fmt: skip
    """Models that users learned alone, and their losses in each phase, all behind noise."""
    part = {name: _part(accounts.privacy, getattr(shares, name)) for name in ("alone", "losses")}
    alone = private_alone(problem, accounts, seed=seed, share=part["alone"], noise=noise)
    losses = PrivateLosses(
        problem, accounts, share=part["losses"], times=phases, largest=shares.largest,
        noise=noise, seed=seed,
    )  # fmt: skip
    return alone, losses


def _part(privacy: Privacy, share: float) -> Privacy:
    return replace(privacy, epsilon=privacy.epsilon * share, delta=privacy.delta * share)
