"""Trains a linear model by a token that takes a noisy gradient step with each user it visits."""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.calls import algorithm
from gopa.learning.checks import generator, number, whole
from gopa.learning.clipping import within
from gopa.learning.clocks import Clock, ClockLaw, Steps, constant, require_law
from gopa.learning.data import Table
from gopa.learning.data import Users as Problem
from gopa.learning.network_dp.counting import WALKED, claimed, outcome, require_supported
from gopa.learning.network_dp.laws import WalkLaw, central_sigma, graph_law, local_sigma, sgd_law
from gopa.learning.network_dp.walks import Flags, GraphWalk, Users, Walk, carry
from gopa.learning.objectives import LOGISTIC, LOSSES, Linear, RowLoss
from gopa.learning.outcome import AlgorithmRun, Outcome, Progress
from gopa.learning.privacy import Privacy
from gopa.learning.rows import AgentRows
from gopa.support.arrays import Floats

_LOOKS: Final = 20
"""So many rows has the history of a run."""

_BLOCK: Final = 512
"""Steps for which noise is drawn at a time."""

_Claim: TypeAlias = tuple[str, tuple[str, ...]]
_CENTRAL: Final[_Claim] = (
    "16-accounting, A11",
    ("all trust the curator, who alone knows the samples",),
)
_THEOREMS: Final[dict[ClockLaw, _Claim]] = {
    ClockLaw.UNIFORM: ("13-network-dp, theorem 3", WALKED),
    ClockLaw.MARKOV: ("13-network-dp, theorem 7", WALKED),
}


class Descent:
    """A noisy gradient step on the loss of the user's rows, and the way back into a ball.

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
        if not 0 <= step - self._first < len(self._lengths):
            self._draw(step, token.shape)
        length, x = self._lengths[step - self._first], self._x[users]
        # One order of adding on every processor, which matrix products do not have.
        slopes = self._slopes(np.einsum("rmd,rd->rm", x, token), users)
        slopes *= self._shares[users] * active[:, None]
        moved = np.einsum("rm,rmd->rd", slopes, x)
        moved *= -length
        moved += self._noise[step - self._first]
        if self._ridge:
            moved -= length * self._ridge * token
        if self._radius != math.inf:
            moved = within(token + moved, self._radius) - token
        return np.asarray(moved)

    def _slopes(self, z: Floats, users: Users) -> Floats:
        if self._is_logistic:
            # Labels are in the rows; where exp overflows the slope is 0.
            np.exp(z, out=z)
            z += 1.0
            found = np.divide(-1.0, z, out=z)
            return np.maximum(found, -self._steepest, out=found)
        return np.clip(self._loss.slope(z, self._y[users]), -self._steepest, self._steepest)

    def _draw(self, step: int, shape: tuple[int, ...]) -> None:
        """Noise and lengths for the block that begins with this step."""
        lengths = self._steps(np.arange(step + 1, step + 1 + _BLOCK))
        self._noise = self._rng.standard_normal((_BLOCK, *shape))
        self._noise *= (self._sigma * lengths)[:, None, None]
        self._first, self._lengths = step, lengths.tolist()


@algorithm(named={"loss": (RowLoss, LOSSES)}, labels="signs")
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
    run = AlgorithmRun(seed=seed, progress=progress, stops=False)
    require_supported(privacy)
    users = len(problem)
    schedule = step if isinstance(step, Steps) else constant(number(step, "step"))
    each = whole(steps, "steps", whole(tokens, "tokens")) // tokens
    if curator and not cap is edge_cap is None:
        raise UsageError("whom a curator takes is limited by nothing", "cap")
    most = math.ceil(1.2 * each / users) if cap is None else cap
    walk = Walk.on(users, graph, clock, cap=None if curator else most, edge_cap=edge_cap)
    # A curator's samples are uniform, or the claim for them is another one.
    require_law(walk.clock, ClockLaw.UNIFORM, *([] if curator else [ClockLaw.MARKOV]))
    rows = AgentRows.of(problem.pairs()).clipped(2, row_bound)
    if not rows.counts.all():
        raise UsageError("every user has at least one row", "problem")
    if not 0 < number(steepest, "steepest") < math.inf:
        raise UsageError("above 0 and finite", "steepest")
    objective = Linear(loss, rows, ridge=number(ridge, "ridge"))
    if held_out is not None:
        _require_signs(held_out, objective.dimension)
    _require_contraction(schedule, float(objective.smoothness().max()))
    sigma = 0.0
    if privacy is not None:
        moves = 2 * steepest * row_bound
        if curator:
            sigma = central_sigma(privacy.epsilon, privacy.delta, users, each * tokens, moves)
        elif privacy.view == "everything":
            sigma = local_sigma(privacy.epsilon, privacy.delta, most * tokens, moves)
        else:
            law = _law(walk, most, tokens, privacy.colluders, schedule)
            sigma = law.sigma(privacy.epsilon, privacy.delta, moves)
    update = Descent(
        loss, rows, steepest=steepest, sigma=sigma, steps=schedule, ridge=ridge, radius=radius,
        rng=generator(seed, "network dp", "noise"),
    )  # fmt: skip
    visits = walk.visits(seed, steps=each, runs=whole(runs, "runs") * tokens)
    models: Floats = np.zeros((runs * tokens, objective.dimension))
    with run, np.errstate(over="ignore"):
        for look in range(_LOOKS):
            first, last = look * each // _LOOKS, (look + 1) * each // _LOOKS
            models = carry(visits, update, models, first=first, last=last)
            means = models.reshape(runs, tokens, -1).mean(axis=1)
            values = objective.value(np.repeat(means[:, None], users, axis=1))
            noted = {"objective": values.mean(axis=-1)}
            if held_out is not None:
                noted["accuracy"] = _accuracy(means, held_out)
            run.note(step=last, **noted)
            run.advance("steps", last, each)
    theorem = _CENTRAL if curator else _THEOREMS[walk.clock.law]
    spent = claimed(privacy, *theorem, f"noise {sigma:.4g} in a gradient")
    means = models.reshape(runs, tokens, -1).mean(axis=1)
    messages = tokens * each + users - 2
    return outcome(run, "gradient descent by a random walk", means, spent, messages)


def _law(walk: Walk, cap: int, tokens: int, colluders: int, steps: Steps) -> WalkLaw:
    if walk.clock.law is ClockLaw.UNIFORM:
        return sgd_law(walk.clock.agents, cap * tokens, colluders, steps)
    if colluders > 1 or steps.power or tokens > 1:
        message = "on a graph: one curious user, one token, and steps of one length"
        raise UsageError(message, "graph")
    if not isinstance(walk.clock, GraphWalk):
        raise UsageError("give a graph", "clock")
    return graph_law(walk.clock.transitions, cap)


def _accuracy(models: Floats, table: Table) -> Floats:
    """The part of the signs that come out right, for each model."""
    signs = np.where(np.einsum("rd,md->rm", models, table.features) > 0, 1, -1)
    return np.asarray((signs == table.labels).mean(axis=1))


def _require_signs(table: Table, columns: int) -> None:
    """Refuses rows whose signs nothing here can foretell."""
    signs = len(table) and np.isin(table.labels, (-1, 1)).all()
    if not signs or table.features.shape[1] != columns:
        raise UsageError("rows labelled -1 or 1, with the columns of the problem", "held_out")


def _require_contraction(steps: Steps, smoothness: float) -> None:
    """What a step of more than 2 / smoothness spreads is no longer covered by its noise."""
    longest = float(steps(1))
    if not longest * smoothness <= 2:
        message = f"at most {2 / smoothness:g}, that is 2 / smoothness: longer ones spread models"
        raise UsageError(message, "step")
