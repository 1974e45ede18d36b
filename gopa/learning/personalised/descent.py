"""Steps on personal models by coordinate descent and Frank-Wolfe, of many runs or one user's alone.

Steps that do not meet are taken at once. Specification: `specs/20-personalised.md`, sections 2, 4
and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import whole
from gopa.learning.clipping import finite
from gopa.learning.clocks import Clock, ClockLaw, Poisson, events
from gopa.learning.objectives import Linear, Softmax
from gopa.learning.personalised.objective import Collaboration, Links, Places
from gopa.learning.personalised.release import (
    Accounts,
    Allocation,
    GridSums,
    Mechanism,
    Noise,
    NoiseStream,
    plan,
    private_gradients,
)
from gopa.support.arrays import Floats, Integers

_MOST: Final = 64
"""Updates of one run that are computed at once, at most."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Updates that do not depend on each other: run, user and step of each."""

    runs: Places
    users: Places
    steps: Places

    def only(self, chosen: np.ndarray) -> Turns:
        """The chosen ones of these turns."""
        return Turns(self.runs[chosen], self.users[chosen], self.steps[chosen])


def schedule(clock: Clock | None, users: int, seed: int, *, steps: int, runs: int) -> Places:
    """Who acts, by run and step; by default at the ticks of equal Poisson clocks."""
    chosen = Poisson(users) if clock is None else clock
    if chosen.agents != users:
        raise UsageError(f"for {chosen.agents} users, and there are {users}", "clock")
    if chosen.law not in {
        ClockLaw.UNIFORM, ClockLaw.WEIGHTED, ClockLaw.IN_TURN, ClockLaw.REPLAYED
    }:  # fmt: skip
        raise UsageError("one user acts in each step: Poisson or InTurn", "clock")
    found = events(chosen, seed, steps=steps, runs=runs).actors
    if found.shape[-1] != 1:
        raise UsageError("one user acts in each step", "clock")
    return np.asarray(found[..., 0], dtype=np.int64)


def turns(actors: Places, links: Links, first: int, last: int) -> Iterator[Turns]:
    """Steps `first` to `last` of all runs, in an order that changes nothing.

    Several runs take a step each. One run takes steps of users who are no neighbours together:
    none of them reads what another one writes.
    """
    runs = len(actors)
    if runs > 1:
        everybody = np.arange(runs)
        for step in range(first, last):
            yield Turns(everybody, actors[:, step], np.full(runs, step))
        return
    near, listed = links.places[0], actors[0].tolist()
    met = np.full(links.users, -1, dtype=np.int64)
    begin = first
    for step in range(first, last):
        user = listed[step]
        if met[user] == begin or step - begin == _MOST:
            yield _together(actors, begin, step)
            begin = step
        # Padding leads to the user itself.
        met[near[user]] = begin
        met[user] = begin
    if begin < last:
        yield _together(actors, begin, last)


def _together(actors: Places, first: int, last: int) -> Turns:
    steps = np.arange(first, last)
    return Turns(np.zeros(len(steps), dtype=np.int64), actors[0, first:last], steps)


Look: TypeAlias = Callable[[Floats], dict[str, Floats]]
"""Says what else is noted of models (runs, users, p), by name."""

_NUMBER_BYTES: Final = 8
_CLOSE: Final = 1e-3
_BITS: Final = 7
"""Of a number in each byte of a Frank-Wolfe step."""


class ModelSteps:
    """Models (runs, users, p) that take steps towards their neighbours', and what was sent.

    `vectors` counts messages in each run, `bytes` how long they are together.
    """

    def __init__(self, problem: Collaboration, links: Links, models: Floats) -> None:
        self.problem, self.models = problem, models
        self.vectors = np.zeros(len(models), dtype=np.int64)
        self.bytes = np.zeros(len(models), dtype=np.int64)
        self.relink(links)

    def relink(self, links: Links) -> None:
        """Goes on with another graph."""
        self.links = links
        self._shares, self._counts, self._places = links.shares, links.counts, links.places

    def walk(self, actors: Places, begin: int, end: int) -> None:
        """Takes steps `begin` to `end` of a schedule (runs, steps)."""
        for now in turns(actors, self.links, begin, end):
            self(now)

    def __call__(self, now: Turns) -> None:
        """Take one step of each of these turns."""
        raise NotImplementedError

    def is_still(self) -> bool | None:
        """Whether models would hardly move any more; None where steps do not tell."""
        return None

    def _looked(self, now: Turns) -> tuple[Floats, Floats]:
        """The models of who acts, and what pulls them towards those of their neighbours."""
        graph = self._graph(now)
        own = self.models[now.runs, now.users]
        near = self.models[now.runs[:, None], self._places[graph, now.users]]
        heard = np.matmul(self._shares[graph, now.users][:, None, :], near)[:, 0]
        # Who has no neighbour learns alone.
        alone = self._counts[graph, now.users] == 0
        return own, self.problem.pull * (own - np.where(alone[:, None], own, heard))

    def _send(self, now: Turns, sizes: Places | int) -> None:
        """Counts a message of this size along each edge of who acted."""
        counts = self._counts[self._graph(now), now.users]
        np.add.at(self.vectors, now.runs, counts)
        np.add.at(self.bytes, now.runs, counts * sizes)

    def _graph(self, now: Turns) -> Places:
        return now.runs if len(self._places) > 1 else np.zeros_like(now.runs)


@dataclass(slots=True)
class GradientNoise:
    """What makes gradients private in a run: reaches by update, and the noise."""

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

    def gradient(self, local: Linear | Softmax, models: Floats, now: Turns) -> Floats:
        """The noisy gradient of each user's loss; regularisers tell nothing and have no noise."""
        reach = self.reaches[now.runs, now.users, self.taken[now.runs, now.users] - 1]
        rows = local.row_gradients(models, now.users)
        noise = self.noise.at(now.runs, now.steps)
        mean = self.rows.released(rows, reach, noise, now.users)
        return mean + local.strong_curvature()[now.users][:, None] * models


class ModelDescent(ModelSteps):
    """Steps of (2.3), or of (2.9) with a disguise."""

    def __init__(
        self,
        problem: Collaboration,
        links: Links,
        models: Floats,
        disguise: GradientNoise | None = None,
    ) -> None:
        super().__init__(problem, links, models)
        self._disguise, self._paces = disguise, problem.paces

    def __call__(self, now: Turns) -> None:
        if self._disguise is not None:
            now = now.only(self._disguise.due(now))
            if not len(now.users):
                return
        self.models[now.runs, now.users] -= self._steps(now, self._disguise)
        self._send(now, _NUMBER_BYTES * self.problem.dimension)

    def is_still(self) -> bool:
        """Whether no number of any model would still move by a thousandth in a step."""
        runs, users, _ = self.models.shape
        everybody = np.divmod(np.arange(runs * users), users)
        return bool(np.abs(self._steps(Turns(*everybody, everybody[0]), None)).max() < _CLOSE)

    def _steps(self, now: Turns, disguise: GradientNoise | None) -> Floats:
        local: Any = self.problem.local
        own, pulled = self._looked(now)
        if disguise is None:
            slope = local.gradient(own, now.users)
        else:
            slope = disguise.gradient(local, own, now)
        step = pulled + self.problem.confidences[now.users][:, None] * slope
        return np.asarray(self._paces[now.users][:, None] * step)


class FrankWolfe(ModelSteps):
    """Steps of (2.6) on models of l1 length `radius` at most, which travel in few bytes.

    `taken` steps went before, so that they are short from the beginning.
    """

    def __init__(
        self,
        problem: Collaboration,
        links: Links,
        models: Floats,
        radius: float,
        *,
        taken: int = 0,
    ) -> None:
        if not 0 < radius < math.inf:
            raise UsageError("above 0 and finite", "radius")
        if not (np.abs(models).sum(axis=-1) <= radius * (1 + 1e-9)).all():
            raise UsageError("models begin within the radius", "start")
        super().__init__(problem, links, models)
        self._radius, self._taken = radius, taken

    def __call__(self, now: Turns) -> None:
        own, pulled = self._looked(now)
        confidence = self.problem.confidences[now.users][:, None]
        slope = confidence * self.problem.local.gradient(own, now.users) + pulled
        index, batch = np.abs(slope).argmax(axis=1), np.arange(len(slope))
        steps = now.steps + self._taken
        share = pace(steps, self.problem.users)
        moved = (1 - share)[:, None] * own
        moved[batch, index] += share * np.where(
            slope[batch, index] < 0, self._radius, -self._radius
        )
        self.models[now.runs, now.users] = moved
        self._send(now, lengths(steps, index))


def pace(step: Integers, users: int) -> Floats:
    """2n / (t + 2n) for the t-th step of all, from 0 on."""
    return np.asarray(2 * users / (step + 2 * users))


def lengths(steps: Integers, indices: Integers) -> Integers:
    """How many bytes steps have: which predictor and its sign as one number, and the step."""
    # A sign never makes it longer: 2 index and 2 index + 1 are equally long.
    return _groups(2 * indices) + _groups(steps)


def _groups(numbers: Integers) -> Integers:
    found = np.ones_like(numbers)
    for bits in range(_BITS, 63, _BITS):
        found += numbers >= 1 << bits
    return found


def disguised(  # noqa: PLR0913 - privacy has many parts
    problem: Collaboration,
    links: Links,
    accounts: Accounts,
    actors: Places,
    *,
    seed: int,
    noise: Noise,
    allocation: Allocation,
    releases: int | None,
    clipping: float | None,
) -> GradientNoise:
    """Plans and charges private updates for a schedule, before anything is sent."""
    each = max(1, round(actors.shape[1] / problem.users)) if releases is None else releases
    mechanism = Mechanism.of(noise)
    rows = private_gradients(problem.private, mechanism, accounts.privacy.unit, clipping)
    shape = 1.0 if allocation == "equal" else problem.kept(links)
    reaches = plan(
        accounts, rows, actors, releases=whole(each, "releases"), allocation=allocation, kept=shape,
        width=problem.dimension,
    )  # fmt: skip
    names = ("personalised", "gradients", accounts.next_run())
    stream = NoiseStream(mechanism.law, problem.dimension, seed, *names)
    return GradientNoise(rows, reaches, stream, np.zeros(reaches.shape[:2], dtype=np.int64))


def started(problem: Collaboration, start: npt.ArrayLike, runs: int) -> Floats:
    """Models (runs, users, p) to begin with: one for all, or one for each."""
    if not isinstance(problem, Collaboration):
        raise UsageError("a Collaboration of users' losses", "problem")
    given, shape = finite(np.atleast_1d(start), "start"), (runs, problem.users, problem.dimension)
    try:
        return np.array(np.broadcast_to(given, shape))
    except ValueError:
        raise UsageError("one model for all, or one for each user and run", "start") from None


def row(step: int, **noted: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """What is noted of all runs, or of the only one."""
    rows = {
        name: values[0] if len(values) == 1 else values.copy() for name, values in noted.items()
    }
    return {"step": np.asarray(step), **rows}


class Member:
    """One user of coordinate descent; what it does is what `fit_descent` does, bit for bit.

    `problem` has as many rows as each user has, which is public, and of others' nothing else: zeros
    in their place. `start` is everybody's.
    """

    def __init__(
        self, problem: Collaboration, graph: Graph, user: int, *, start: npt.ArrayLike = 0.0
    ) -> None:
        models = started(problem, start, 1)
        self._descent = ModelDescent(problem, problem.links(graph), models)
        self.user = whole(user, "user", 0, problem.users - 1)
        self.neighbours = tuple(graph.neighbours(self.user))

    @property
    def model(self) -> Floats:
        """The model of this user."""
        return np.array(self._descent.models[0, self.user])

    def hear(self, other: int, model: npt.ArrayLike) -> None:
        """Takes the model that a neighbour has told.

        Raises:
            UsageError: it is told by somebody else, or is no model.
        """
        found = finite(model, "model")
        if other not in self.neighbours or found.shape != self.model.shape:
            raise UsageError(f"{len(self.model)} numbers, from a neighbour", "model")
        self._descent.models[0, other] = found

    def step(self) -> Floats:
        """Takes a step, and gives the model to tell all neighbours."""
        now = np.zeros(1, dtype=np.int64)
        self._descent(Turns(now, now + self.user, now))
        return self.model
