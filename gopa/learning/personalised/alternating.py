"""Learns models and their graph in turn: algorithm 2.1, with the thesis's schedule.

Specification: `specs/20-personalised.md`, sections 6 to 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import number, whole
from gopa.learning.clocks import Clock, Poisson
from gopa.learning.fitting import Progress, generator, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.outcome import Outcome
from gopa.learning.personalised.accounts import Accounts
from gopa.learning.personalised.descent import ModelDescent, disguised, links_of, row, started
from gopa.learning.personalised.frank_wolfe import FrankWolfe
from gopa.learning.personalised.graph_learning import (
    GraphLearner,
    PrivateLosses,
    learned,
    started_weights,
)
from gopa.learning.personalised.links import Floats, Links
from gopa.learning.personalised.objective import Collaboration
from gopa.learning.personalised.peers import Peers, UniformPeers
from gopa.learning.personalised.release import Noise
from gopa.learning.personalised.turns import schedule, turns
from gopa.learning.personalised.warm import private_alone
from gopa.learning.privacy import Privacy, Spent

Method: TypeAlias = Literal["cd", "frank-wolfe"]
_Tell: TypeAlias = Callable[[Floats, int], Floats | None]

_UNIFORM: Final = UniformPeers()


@dataclass(frozen=True, slots=True)
class GraphSteps:
    """Says how a graph is learned: by how many steps at first and then, from how many peers.

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
    """Says which part of epsilon is for models learned alone, and for losses; steps get the rest.

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
    """Keeps the links of all runs, and learns them anew from models."""

    def __init__(
        self, problem: Collaboration, graph: Graph | None, learning: GraphSteps | None,
        *, runs: int, seed: int,
    ) -> None:  # fmt: skip
        self._seed, self._learning = seed, learning
        self.messages = self.bytes = 0
        self.weights: Floats | None = None
        if learning is None and graph is not None:
            self.links = links_of(problem, graph)
        if learning is not None:
            weights = started_weights(problem, graph, runs)
            self.links = Links.of_weights(weights)
            self._learner = GraphLearner(
                problem, weights, np.zeros((runs, problem.users, problem.dimension)),
                nearest=learning.nearest,
            )  # fmt: skip
            fewer = min(learning.peers, problem.users - 1)
            self._sampler = learning.sampler.begin(problem.users, fewer, runs=runs, seed=seed)

    def learn(self, models: Floats, losses: Floats | None, phase: int) -> Links:
        """The links after more steps from these models; the same ones if they are given."""
        if self._learning is not None:
            learner, steps = self._learner, self._learning.then if phase else self._learning.first
            learner.renew(models.copy(), losses)
            who = _askers(learner.weights.shape[1], self._seed, phase, steps, len(models))
            self.links = learned(learner, self._sampler, who, cut=self._learning.cut)
            self.weights, self.messages = learner.weights, learner.messages
            self.bytes = learner.bytes + self._sampler.bytes
        return self.links


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
    releases: int | None = None,
    clipping: float | None = None,
    shares: BudgetShares | None = None,
    accounts: Accounts | None = None,
    look: Callable[[Floats], dict[str, Floats]] | None = None,
) -> Outcome:
    """Models and graph in turn: from models learned alone, then after every `every` steps.

    Without `learning` the `graph` stays as it is; with it `graph` is where it begins, by default
    without edges. `alone` are the models to learn the first graph from, by default those of least
    loss; with privacy they are told behind noise. `taken` steps of Frank-Wolfe went before. The
    model has "models" (users, p) and, if learned, "weights" (users, users), or one of each for
    every run.

    Raises:
        BudgetExceeded: not even the coarsest release is within what was asked for.
    """
    begun, many = perf_counter(), whole(runs, "runs")
    require_seed(seed)
    _require_fitting(problem, privacy, graph, learning, method)
    total = whole(50 * problem.users if steps is None else steps, "steps")
    period = total
    if learning is not None:
        period = whole(max(1, total // 5) if every is None else every, "every")
    phases = -(-total // period)
    actors = schedule(clock, problem.users, seed, steps=total, runs=many)
    models = started(problem, start, many)
    relations = _Graph(problem, graph, learning, runs=many, seed=seed)
    kept = None if privacy is None else accounts or Accounts(privacy, problem.users)
    tell: _Tell = _nothing
    if learning is not None and kept is not None:
        alone, tell = _told(problem, kept, shares or BudgetShares(), phases, noise=noise, seed=seed)
    if learning is not None:
        first = started(problem, problem.alone(1e-7) if alone is None else alone, many)
        relations.learn(first, tell(first, 0), 0)
    engine: ModelDescent | FrankWolfe
    if method == "cd":
        disguise = None
        if kept is not None:
            each = max(1, round(total / problem.users)) if releases is None else releases
            disguise = disguised(
                problem, relations.links, kept, actors, seed=seed, noise=noise, allocation="equal",
                releases=whole(each, "releases"), clipping=clipping,
            )  # fmt: skip
        engine = ModelDescent(problem, relations.links, models, disguise)
    else:
        engine = FrankWolfe(
            problem, relations.links, models, radius, taken=whole(taken, "taken", 0)
        )
    notes = Recorder()
    with told(progress) as advance:
        notes.note(**row(problem, relations.links, engine, 0, look))
        for phase in range(phases):
            if phase:
                losses = tell(engine.models, phase)
                engine.relink(relations.learn(engine.models, losses, phase))
            last = min(total, (phase + 1) * period)
            for now in turns(actors, relations.links, phase * period, last):
                engine(now)
            notes.note(**row(problem, relations.links, engine, last, look))
            advance("steps", last, total)
    model = {"models": engine.models}
    if relations.weights is not None:
        model["weights"] = relations.weights
    return Outcome(
        algorithm=f"personal models ({method}, graph {'learned' if learning else 'given'})",
        model={name: each[0] if many == 1 else each for name, each in model.items()},
        history=notes.history(),
        spent=Spent.nothing_hidden("record") if kept is None else kept.spent(),
        messages=int(engine.vectors[0]) + relations.messages,
        bytes=int(engine.bytes[0]) + relations.bytes,
        seconds=perf_counter() - begun,
        seed=seed,
        converged=engine.is_still() if kept is None and isinstance(engine, ModelDescent) else None,
    )


def _require_fitting(
    problem: Collaboration,
    privacy: Privacy | None,
    graph: Graph | None,
    learning: GraphSteps | None,
    method: str,
) -> None:
    if not isinstance(problem, Collaboration):
        raise UsageError("a Collaboration of users' losses", "problem")
    if method not in get_args(Method):
        raise UsageError(f"one of {', '.join(get_args(Method))}", "method")
    if learning is None and graph is None:
        raise UsageError("a graph, or GraphSteps to learn one", "graph")
    if privacy is not None and method != "cd":
        raise UsageError('only "cd" is private', "method")


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


def _nothing(models: Floats, phase: int) -> None:
    """Losses are the true ones."""
    del models, phase


def _part(privacy: Privacy, share: float) -> Privacy:
    return Privacy(privacy.epsilon * share, privacy.delta * share, unit=privacy.unit)


def _askers(users: int, seed: int, phase: int, steps: int, runs: int) -> npt.NDArray[np.int64]:
    """Who compares itself with peers in each step, at the ticks of clocks of its own."""
    if not steps:
        return np.empty((runs, 0), dtype=np.int64)
    named = int(generator(seed, "graph", str(phase)).integers(2**62))
    return schedule(Poisson(users), users, named, steps=steps, runs=runs)
