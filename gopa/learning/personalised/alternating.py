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
from gopa.learning.personalised.descent import Descent, disguised, row, started
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
_NUMBER_BYTES: Final = 8


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
class Shares:
    """Says which part of epsilon is for models learned alone, and for losses; the rest is for steps.

    `largest` is where a row's loss is cut off.
    """

    alone: float = 0.2
    losses: float = 0.1
    largest: float = 2.0

    def __post_init__(self) -> None:
        if not (0 < self.alone and 0 < self.losses and self.alone + self.losses < 1):
            raise UsageError("parts above 0 that leave something for steps", "shares")
        if not 0 < self.largest < math.inf:
            raise UsageError("above 0 and finite", "largest")


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
    start: npt.ArrayLike = 0.0,
    alone: Floats | None = None,
    runs: int = 1,
    noise: Noise = "gaussian",
    releases: int | None = None,
    clipping: float | None = None,
    shares: Shares | None = None,
    accounts: Accounts | None = None,
    look: Callable[[Floats], dict[str, Floats]] | None = None,
) -> Outcome:
    """Models and graph in turn: the graph from models learned alone, then after every `every` steps.

    Without `learning` the `graph` stays as it is; with it `graph` is where it begins, by default
    without edges. `alone` are the models to learn the first graph from, by default those of least loss. The
    model has "models" (users, p) and "weights" (users, users), or one of each for every run.

    Raises:
        BudgetExceeded: not even the coarsest release is within what was asked for.
    """
    begun, many = perf_counter(), whole(runs, "runs")
    require_seed(seed)
    if not isinstance(problem, Collaboration):
        raise UsageError("a Collaboration of users' losses", "problem")
    if method not in get_args(Method):
        raise UsageError(f"one of {', '.join(get_args(Method))}", "method")
    if learning is None and graph is None:
        raise UsageError("a graph, or GraphSteps to learn one", "graph")
    if privacy is not None and method != "cd":
        raise UsageError('only "cd" is private', "method")
    total = whole(50 * problem.users if steps is None else steps, "steps")
    period = (
        total
        if learning is None
        else whole(max(1, total // 5) if every is None else every, "every")
    )
    actors = schedule(clock, problem.users, seed, steps=total, runs=many)
    weights, models = started_weights(problem, graph, many), started(problem, start, many)
    phases = -(-total // period)
    kept = None if privacy is None else accounts or Accounts(privacy, problem.users)
    tell: _Tell = _nothing
    if privacy is not None and kept is not None and learning is not None:
        spending = shares or Shares()
        alone = private_alone(
            problem, kept, seed=seed, share=_part(privacy, spending.alone), noise=noise
        )
        tell = PrivateLosses(
            problem, kept, share=_part(privacy, spending.losses), times=phases,
            largest=spending.largest, noise=noise, seed=seed,
        )  # fmt: skip
    links, learner, sampler = Links.of_weights(weights[:1]), None, None
    if learning is not None:
        first = started(problem, problem.alone(1e-7) if alone is None else alone, many)
        learner = GraphLearner(problem, weights, first, tell(first, 0), nearest=learning.nearest)
        fewer = min(learning.peers, problem.users - 1)
        sampler = learning.sampler.begin(problem.users, fewer, runs=many, seed=seed)
        who = _askers(problem.users, seed, 0, learning.first, many)
        links = learned(learner, sampler, who, cut=learning.cut)
    disguise = None
    if kept is not None:
        each = max(1, round(total / problem.users)) if releases is None else releases
        disguise = disguised(
            problem, links, kept, actors, seed=seed, noise=noise, allocation="equal",
            releases=whole(each, "releases"), clipping=clipping,
        )  # fmt: skip
    notes = Recorder()
    engine = (
        Descent(problem, links, models, disguise)
        if method == "cd"
        else FrankWolfe(problem, links, models, radius)
    )
    with told(progress) as advance:
        for phase in range(phases):
            if phase and learner is not None and sampler is not None and learning is not None:
                learner.renew(engine.models.copy(), tell(engine.models, phase))
                who = _askers(problem.users, seed, phase, learning.then, many)
                links = learned(learner, sampler, who, cut=learning.cut)
                engine.relink(links)
            if not phase:
                notes.note(**row(problem, links, engine, 0, look))
            last = min(total, (phase + 1) * period)
            for now in turns(actors, links, phase * period, last):
                engine(now)
            notes.note(**row(problem, links, engine, last, look))
            advance("steps", last, total)
    sent = int(engine.vectors[0])
    carried = _NUMBER_BYTES * problem.dimension * sent
    if isinstance(engine, FrankWolfe):
        carried = int(engine.bytes[0])
    if learner is not None and sampler is not None:
        weights, sent = learner.weights, sent + learner.messages
        carried += learner.bytes + sampler.bytes
    return Outcome(
        algorithm=f"personal models ({method}, graph {'given' if learning is None else 'learned'})",
        model={
            "models": engine.models[0] if many == 1 else engine.models,
            "weights": weights[0] if many == 1 else weights,
        },
        history=notes.history(),
        spent=Spent.nothing_hidden("record") if kept is None else kept.spent(),
        messages=sent,
        bytes=carried,
        seconds=perf_counter() - begun,
        seed=seed,
    )


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
