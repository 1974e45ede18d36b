"""Runs coordinate descent on personal models, with or without privacy, many runs at once.

Specification: `specs/20-personalised.md`, sections 2 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import whole
from gopa.learning.clipping import finite
from gopa.learning.clocks import Clock
from gopa.learning.fitting import Progress, require_seed, told
from gopa.learning.history import Recorder
from gopa.learning.objectives import Linear
from gopa.learning.outcome import Outcome
from gopa.learning.personalised.accounts import Accounts
from gopa.learning.personalised.links import Floats, Links, Places
from gopa.learning.personalised.objective import Collaboration
from gopa.learning.personalised.plan import Allocation, plan
from gopa.learning.personalised.release import (
    GridSums,
    Integers,
    Mechanism,
    Noise,
    NoiseStream,
    private_gradients,
)
from gopa.learning.personalised.turns import Turns, schedule, turns
from gopa.learning.privacy import Privacy, Spent

_LOOKS: Final = 20
_NUMBER_BYTES: Final = 8
_CLOSE: Final = 1e-3


class ModelSteps(Protocol):
    """Holds models (runs, users, p), and how many vectors were sent in each run."""

    models: Floats
    vectors: Places


@dataclass(slots=True)
class GradientNoise:
    """Holds what makes gradients private in a run: reaches by update, and the noise."""

    rows: GridSums
    reaches: Integers
    noise: NoiseStream
    taken: Places
    """How many updates each user has had: (runs, users)."""

    def due(self, now: Turns) -> npt.NDArray[np.bool_]:
        """Whether these users may still tell something; counts their turns."""
        number = self.taken[now.runs, now.users]
        last = self.reaches.shape[-1] - 1
        reach = self.reaches[now.runs, now.users, np.minimum(number, last)]
        self.taken[now.runs, now.users] += 1
        return np.asarray((number <= last) & (reach > 0))

    def gradient(self, local: Linear, models: Floats, now: Turns) -> Floats:
        """The noisy gradient of each user's loss; regularisers tell nothing and have no noise."""
        reach = self.reaches[now.runs, now.users, self.taken[now.runs, now.users] - 1]
        rows = local.row_gradients(models, now.users)
        noise = self.noise.at(now.runs, now.steps)
        mean = self.rows.released(rows, reach, noise, now.users)
        return mean + local.strong_curvature()[now.users][:, None] * models


class ModelDescent:
    """Takes steps of (2.3), or of (2.9) with a disguise, on models (runs, users, p)."""

    def __init__(
        self,
        problem: Collaboration,
        links: Links,
        models: Floats,
        disguise: GradientNoise | None = None,
    ) -> None:
        self.models, self.vectors = models, np.zeros(len(models), dtype=np.int64)
        self._problem, self._disguise, self._paces = problem, disguise, problem.paces
        self.relink(links)

    @property
    def bytes(self) -> Places:
        """How long all vectors are that were sent, in each run."""
        return _NUMBER_BYTES * self._problem.dimension * self.vectors

    def relink(self, links: Links) -> None:
        """Goes on with another graph."""
        self._shares, self._counts, self._places = links.shares, links.counts, links.places
        self._own_graph, self._alone = len(links.places) > 1, links.counts == 0

    def __call__(self, now: Turns) -> None:
        """Takes these steps."""
        local, pull = self._problem.local, self._problem.pull
        if self._disguise is not None:
            now = now.only(self._disguise.due(now))
            if not len(now.users):
                return
        graph = now.runs if self._own_graph else np.zeros_like(now.runs)
        own = self.models[now.runs, now.users]
        near = self.models[now.runs[:, None], self._places[graph, now.users]]
        heard = np.matmul(self._shares[graph, now.users][:, None, :], near)[:, 0]
        # Who has no neighbour learns alone.
        heard = np.where(self._alone[graph, now.users][:, None], own, heard)
        if self._disguise is None:
            slope = local.gradient(own, now.users)
        else:
            slope = self._disguise.gradient(local, own, now)  # type: ignore[arg-type]
        confidence = self._problem.confidences[now.users][:, None]
        step = pull * (own - heard) + confidence * slope
        self.models[now.runs, now.users] = own - self._paces[now.users][:, None] * step
        np.add.at(self.vectors, now.runs, self._counts[graph, now.users])

    def is_still(self) -> bool:
        """Whether no number of any model would still move by a thousandth in a step."""
        shares, alone = self._shares, self._alone[..., None]
        heard = Links(self._places, shares).heard(self.models)
        heard = np.where(alone, self.models, heard)
        slope = self._problem.local.gradient(self.models)
        step = self._problem.pull * (self.models - heard)
        step = step + self._problem.confidences[:, None] * slope
        return bool(np.abs(self._paces[:, None] * step).max() < _CLOSE)


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
    look: Callable[[Floats], dict[str, Floats]] | None = None,
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
    begun = perf_counter()
    require_seed(seed)
    links = links_of(problem, graph)
    many = whole(runs, "runs")
    total = whole(50 * problem.users if steps is None else steps, "steps")
    models, _ = started(problem, start, many), problem.paces
    actors = schedule(clock, problem.users, seed, steps=total, runs=many)
    disguise = None
    if privacy is not None:
        kept = accounts or Accounts(privacy, problem.users)
        each = max(1, round(total / problem.users)) if releases is None else releases
        disguise = disguised(
            problem, links, kept, actors, seed=seed, noise=noise, allocation=allocation,
            releases=whole(each, "releases"), clipping=clipping,
        )  # fmt: skip
        spent = kept.spent()
    else:
        spent = Spent.nothing_hidden("record")
    descent, notes = ModelDescent(problem, links, models, disguise), Recorder()
    with told(progress) as advance:
        notes.note(**row(problem, links, descent, 0, look))
        for number in range(_LOOKS):
            first, last = number * total // _LOOKS, (number + 1) * total // _LOOKS
            if first < last:
                for now in turns(actors, links, first, last):
                    descent(now)
                notes.note(**row(problem, links, descent, last, look))
            advance("steps", last, total)
    return Outcome(
        algorithm="personal models by coordinate descent",
        model=descent.models[0] if many == 1 else descent.models,
        history=notes.history(),
        spent=spent,
        messages=int(descent.vectors[0]),
        bytes=int(descent.bytes[0]),
        seconds=perf_counter() - begun,
        seed=seed,
        converged=None if privacy else descent.is_still(),
    )


def disguised(  # noqa: PLR0913 - privacy has many parts
    problem: Collaboration,
    links: Links,
    accounts: Accounts,
    actors: Places,
    *,
    seed: int,
    noise: Noise,
    allocation: Allocation,
    releases: int,
    clipping: float | None,
) -> GradientNoise:
    """Plans and charges private updates for a schedule, before anything is sent."""
    local = problem.local
    if not isinstance(local, Linear):
        raise UsageError("only a mean over rows is made private: Linear", "problem")
    if problem.own_bends:
        message = "steps that were measured on rows betray them: own_bends=False"
        raise UsageError(message, "problem")
    mechanism = Mechanism.of(noise)
    rows = private_gradients(local, mechanism, accounts.privacy.unit, clipping)
    shape = 1.0 if allocation == "equal" else problem.kept(links)
    reaches = plan(
        accounts, rows, actors, releases=releases, allocation=allocation, kept=shape,
        width=problem.dimension,
    )  # fmt: skip
    names = ("personalised", "gradients", accounts.next_run())
    stream = NoiseStream(mechanism.law, problem.dimension, seed, *names)
    return GradientNoise(rows, reaches, stream, np.zeros(reaches.shape[:2], dtype=np.int64))


def links_of(problem: Collaboration, graph: Graph) -> Links:
    """The neighbours of all users, if the graph is theirs."""
    if not isinstance(problem, Collaboration):
        raise UsageError("a Collaboration of users' losses", "problem")
    if not isinstance(graph, Graph) or graph.parties != problem.users:
        raise UsageError(f"a graph of all {problem.users} users", "graph")
    return Links.of(graph)


def started(problem: Collaboration, start: npt.ArrayLike, runs: int) -> Floats:
    """Models (runs, users, p) to begin with: one for all, or one for each."""
    given, shape = finite(np.atleast_1d(start), "start"), (runs, problem.users, problem.dimension)
    try:
        return np.array(np.broadcast_to(given, shape))
    except ValueError:
        raise UsageError("one model for all, or one for each user and run", "start") from None


def row(
    problem: Collaboration,
    links: Links,
    engine: ModelSteps,
    step: int,
    look: Callable[[Floats], dict[str, Floats]] | None,
) -> dict[str, npt.NDArray[Any]]:
    """What is noted of all runs, or of the only one."""
    noted: dict[str, npt.NDArray[Any]] = {
        "objective": problem.loss(engine.models, links),
        "vectors": engine.vectors.copy(),
        **({} if look is None else look(engine.models)),
    }
    single = len(engine.models) == 1
    rows = {name: values[0] if single else values for name, values in noted.items()}
    return {"step": np.asarray(step), **rows}
