"""Trains a linear model by a token that takes a noisy gradient step with each user it visits."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Final

import numpy as np

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.clocks import Clock, ClockLaw, require_law
from gopa.learning.data import Table
from gopa.learning.data import Users as Problem
from gopa.learning.fitting import Progress, generator, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.network_dp.closed_forms import central_sigma, local_sigma
from gopa.learning.network_dp.counting import (
    WALKED,
    claimed,
    require_counts,
    require_supported,
)
from gopa.learning.network_dp.laws import WalkLaw, any_pair_law, sgd_law
from gopa.learning.network_dp.updates import Descent
from gopa.learning.network_dp.walks import Floats, GraphWalk, Walk, carry
from gopa.learning.objectives import LOGISTIC, Linear, RowLoss
from gopa.learning.outcome import Outcome
from gopa.learning.privacy import Privacy
from gopa.learning.rows import AgentRows
from gopa.learning.steps import Steps, constant

_LOOKS: Final = 20
"""So many rows has the history of a run."""

_CENTRAL: Final = ("16-accounting, A11", ("all trust the curator, who alone knows the samples",))
_THEOREMS: Final = {
    ClockLaw.UNIFORM: ("13-network-dp, theorem 3", WALKED),
    ClockLaw.MARKOV: ("13-network-dp, theorem 7", WALKED),
}


def fit_sgd(  # noqa: PLR0913 - every algorithm is called like this
    problem: Problem,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Clock | None = None,
    seed: int,
    progress: Progress = None,
    steps: int = 20_000,
    step: float | Steps = 0.1,
    cap: int | None = None,
    edge_cap: int | None = None,
    loss: RowLoss = LOGISTIC,
    row_bound: float = 1.0,
    steepest: float = 0.4,
    ridge: float = 0.0,
    radius: float = math.inf,
    curator: bool = False,
    held_out: Table | None = None,
    tokens: int = 1,
    runs: int = 1,
) -> Outcome:
    """A linear model for all users, by a token that walks at random (algorithm 4.5).

    Rows are shortened to `row_bound` and the slope of each row's loss is cut off at `steepest`.
    A user adds data in `cap` of its visits, by default 1.2 times as many as are expected, and
    noise only in the others. Several `tokens` share the steps, and the model is their mean.
    With a trusted `curator` steps are the same, and nobody else knows who was taken: the usual
    baseline. The history has the objective over all rows, and the accuracy on rows `held_out`.
    """
    require_seed(seed)
    require_supported(privacy)
    start, users = perf_counter(), len(problem)
    schedule = step if isinstance(step, Steps) else constant(step)
    require_counts(steps=steps, tokens=tokens, runs=runs)
    each = steps // tokens
    if not each:
        raise UsageError(f"at least one for each of {tokens} tokens", "steps")
    most = math.ceil(1.2 * each / users) if cap is None else cap
    walk = Walk.on(users, graph, clock, cap=None if curator else most, edge_cap=edge_cap)
    # A curator's samples are uniform, or the claim for them is another one.
    require_law(walk.clock, ClockLaw.UNIFORM, *([] if curator else [ClockLaw.MARKOV]))
    rows = AgentRows.of(problem.pairs()).clipped(2, row_bound)
    if not rows.counts.all():
        raise UsageError("every user has at least one row", "problem")
    if not 0 < steepest < math.inf:
        raise UsageError("above 0 and finite", "steepest")
    objective = Linear(loss, rows, ridge=ridge)
    _require_contraction(schedule, float(objective.smoothness().max()))
    sigma = 0.0
    if privacy is not None:
        moves = 2 * steepest * row_bound
        if curator:
            sigma = central_sigma(privacy.epsilon, privacy.delta, users, each * tokens, moves)
        elif privacy.view == "everything":
            sigma = local_sigma(privacy.epsilon, privacy.delta, most * tokens, moves)
        else:
            law = _law(walk, most * tokens, privacy.colluders, schedule)
            sigma = law.sigma(privacy.epsilon, privacy.delta, moves)
    update = Descent(
        loss,
        rows,
        steepest=steepest,
        sigma=sigma,
        steps=schedule,
        ridge=ridge,
        radius=radius,
        rng=generator(seed, "network dp", "noise"),
    )
    visits = walk.visits(seed, steps=each, runs=runs * tokens)
    models: Floats = np.zeros((runs * tokens, objective.dimension))
    notes, whole = Recorder(), models
    with told(progress) as advance, np.errstate(over="ignore"):
        for look in range(_LOOKS):
            first, last = look * each // _LOOKS, (look + 1) * each // _LOOKS
            models = carry(visits, update, models, first=first, last=last)
            whole = models.reshape(runs, tokens, -1).mean(axis=1)
            values = objective.value(np.repeat(whole[:, None], users, axis=1))
            noted = {"objective": values.mean(axis=-1)}
            if held_out is not None:
                noted["accuracy"] = _accuracy(whole, held_out)
            notes.note(step=last, **noted)
            advance("steps", last, each)
    return Outcome(
        algorithm="gradient descent by a random walk",
        model=whole[0] if runs == 1 else whole,
        history=notes.history(),
        spent=claimed(
            privacy,
            _CENTRAL if curator else _THEOREMS[walk.clock.law],
            f"noise {sigma:.4g} in a gradient",
        ),
        messages=tokens * each + users - 1,
        bytes=8 * objective.dimension * (tokens * each + users - 1),
        seconds=perf_counter() - start,
        seed=seed,
    )


def _law(walk: Walk, cap: int, colluders: int, steps: Steps) -> WalkLaw:
    if walk.clock.law is ClockLaw.UNIFORM:
        return sgd_law(walk.clock.agents, cap, colluders, steps if steps.power else None)
    if colluders > 1 or steps.power:
        raise UsageError("on a graph: one curious user, and steps of one length", "graph")
    if not isinstance(walk.clock, GraphWalk):
        raise UsageError("give a graph", "clock")
    return any_pair_law(walk.clock.transitions, cap)


def _accuracy(models: Floats, table: Table) -> Floats:
    """The part of the signs that come out right, for each model."""
    signs = np.where(np.einsum("rd,md->rm", models, table.features) > 0, 1, -1)
    return np.asarray((signs == table.labels).mean(axis=1))


def _require_contraction(steps: Steps, smoothness: float) -> None:
    """What a step of more than 2 / smoothness spreads is no longer covered by its noise."""
    longest = float(steps(1))
    if not longest * smoothness <= 2:
        message = f"at most {2 / smoothness:g}, that is 2 / smoothness: longer ones spread models"
        raise UsageError(message, "step")
