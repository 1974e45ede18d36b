"""The methods by which personal models are learned: `METHODS` has one entry for each.

A method takes a `Task` and gives an `Outcome`; what it cannot do is said by its fields, and refused
before anybody's rows are read. Adding one: a class here with its entry and its name, a row of the
table in `docs/learning/personalised.md`, and the settings with which `test_facade.py` tries it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.clocks import Clock
from gopa.learning.history import History
from gopa.learning.outcome import Outcome, Progress
from gopa.learning.personalised.admm import fit_admm
from gopa.learning.personalised.alternating import (
    BudgetShares,
    GraphSteps,
    fit_descent,
    fit_jointly,
)
from gopa.learning.personalised.graph_learning import graph_of
from gopa.learning.personalised.objective import Collaboration
from gopa.learning.personalised.release import ASSUMED, Accounts, Noise
from gopa.learning.personalised.warm import private_alone, propagated
from gopa.learning.privacy import Privacy, Spent
from gopa.support.arrays import Floats

MethodName: TypeAlias = Literal["cd", "frank-wolfe", "propagation", "admm", "local", "global"]

ROUNDS: Final = 20
"""Updates of each user after one came or went, as many as are expected."""
_ALONE: Final = 1000
"""Steps of Frank-Wolfe for one model of all, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What users learn, and how: the settings of `Personalised`, and users as they are now.

    Without a `graph` it is learned. `pooled` makes the problem of one user who has all rows.
    """

    problem: Collaboration
    pooled: Callable[[], Collaboration]
    combines: bool
    privacy: Privacy | None
    graph: Graph | None
    clock: Clock | None
    steps: int | None
    every: int | None
    learning: GraphSteps
    shares: BudgetShares | None
    radius: float
    noise: Noise
    seed: int
    progress: Progress

    @property
    def how(self) -> dict[str, Any]:
        """The keywords that all algorithms take."""
        return {
            "graph": self.graph, "clock": self.clock, "seed": self.seed, "steps": self.steps,
            "progress": self.progress,
        }  # fmt: skip

    @property
    def steps_taken(self) -> int:
        """The steps of a whole run."""
        return 50 * self.problem.users if self.steps is None else self.steps

    def alone(self, problem: Collaboration | None = None, most: float = math.inf) -> Floats:
        """What users learn alone, in so many steps of Frank-Wolfe at most."""
        of = self.problem if problem is None else problem
        if not self.combines:
            return of.alone(1e-7)
        steps = 50 * of.users if self.steps is None else self.steps
        found: Floats = fit_jointly(
            of, privacy=None, graph=graph_of(np.zeros((of.users, of.users))),
            method="frank-wolfe", radius=self.radius, seed=self.seed, progress=self.progress,
            steps=int(min(steps, most)),
        ).model["models"]  # fmt: skip
        return found


@dataclass(frozen=True, slots=True)
class PersonalMethod(ABC):
    """A way to learn personal models, and what it can do.

    `models` are linear ones or combinations of base predictors, or either; `graphs` says whether a
    graph can be learned, has to be given, or is of no use.
    """

    models: Literal["linear", "combined", "either"] = "linear"
    graphs: Literal["learned", "given", "none"] = "learned"
    private: bool = False

    @abstractmethod
    def fit(self, task: Task) -> Outcome:
        """The models, as "models" of a dict or alone, and "weights" where a graph was learned."""

    def resume(self, task: Task, models: Floats) -> Outcome:
        """Models after a few more steps of everybody, by descent from these."""
        return fit_jointly(task.problem, **self._resumed(task, models))

    @staticmethod
    def _resumed(task: Task, models: Floats) -> dict[str, Any]:
        return {
            "privacy": None, "graph": task.graph, "seed": task.seed, "progress": task.progress,
            "steps": ROUNDS * task.problem.users, "start": models,
        }  # fmt: skip


class CoordinateDescent(PersonalMethod):
    """Coordinate descent: algorithms 2.1 and 2.2."""

    name: Literal["cd", "frank-wolfe"] = "cd"

    def fit(self, task: Task) -> Outcome:
        """Models, in turn with the graph where it is learned."""
        learns = task.graph is None
        return fit_jointly(
            task.problem, method=self.name, privacy=task.privacy, every=task.every,
            radius=task.radius, noise=task.noise, learning=task.learning if learns else None,
            shares=task.shares, alone=task.alone() if learns and task.privacy is None else None,
            **task.how,
        )  # fmt: skip


class Combining(CoordinateDescent):
    """Frank-Wolfe on combinations of base predictors."""

    name = "frank-wolfe"

    def resume(self, task: Task, models: Floats) -> Outcome:
        """Steps as short as the last ones were: the first would throw models to a corner."""
        return fit_jointly(
            task.problem, method=self.name, radius=task.radius, taken=task.steps_taken,
            **self._resumed(task, models),
        )  # fmt: skip


class Propagation(PersonalMethod):
    """Model propagation: models near those that users learned alone, (15)."""

    def fit(self, task: Task) -> Outcome:
        """Models spread from those that users learned alone, which are told behind noise."""
        problem, kept = task.problem, None
        if task.privacy is None:
            told = problem.alone()
        else:
            kept = Accounts(task.privacy, problem.users)
            told = private_alone(
                problem, kept, seed=task.seed, share=task.privacy, noise=task.noise
            )
        found = fit_descent(propagated(problem, told), privacy=None, start=told, **task.how)
        spent = Spent.nothing_hidden("record") if kept is None else kept.spent()
        return replace(found, spent=spent, algorithm="propagation")

    def resume(self, task: Task, models: Floats) -> Outcome:
        """The same as the others, towards what users learn alone."""
        spread = propagated(task.problem, task.problem.alone())
        return fit_jointly(spread, **self._resumed(task, models))


class Meetings(PersonalMethod):
    """ADMM, with which the others are compared."""

    def fit(self, task: Task) -> Outcome:
        """Models that neighbours agree on."""
        return fit_admm(task.problem, **task.how)


class LearnedAlone(PersonalMethod):
    """A baseline: everybody learns alone."""

    algorithm = "models learned alone"

    def fit(self, task: Task) -> Outcome:
        """Models of which nobody tells anything."""
        spent = Spent.nothing_hidden("record")
        if task.privacy is not None:
            nothing = "nothing is sent"
            spent = Spent.of(task.privacy, 0.0, theorem=nothing, delta=0.0, assumptions=ASSUMED)
        return Outcome(
            model=self._models(task), history=History({"step": [0]}), spent=spent, messages=0,
            bytes=0, seconds=0.0, seed=task.seed, algorithm=self.algorithm,
        )  # fmt: skip

    def resume(self, task: Task, models: Floats) -> Outcome:
        """The same anew."""
        del models
        return self.fit(task)

    def _models(self, task: Task) -> Floats:
        return task.alone()


class Pooled(LearnedAlone):
    """A baseline: one model for all, from all rows in one place."""

    algorithm = "one model for all"

    def _models(self, task: Task) -> Floats:
        return np.repeat(task.alone(task.pooled(), _ALONE), task.problem.users, axis=0)


METHODS: Final[Mapping[str, PersonalMethod]] = MappingProxyType(
    {
        "cd": CoordinateDescent(private=True),
        "frank-wolfe": Combining("combined"),
        "propagation": Propagation(graphs="given", private=True),
        "admm": Meetings(graphs="given"),
        "local": LearnedAlone("either", "none", private=True),
        "global": Pooled("either", "none"),
    }
)


def method_for(name: str, *, combines: bool, learns: bool, private: bool) -> PersonalMethod:
    """The method of this name.

    Raises:
        UsageError: there is none, or it is not for base predictors, or needs them, a graph that is
            given, or to do without privacy.
    """
    if name not in METHODS:
        raise UsageError(f"one of {', '.join(METHODS)}", "method")
    found = METHODS[name]
    if found.models == "combined" and not combines:
        raise UsageError("base predictors, such as stumps(-1, 1, 10)", "predictors")
    if found.models == "linear" and combines:
        able = _named(lambda each: each.models != "linear")
        raise UsageError(f"of base predictors: {able}", "method")
    if found.graphs == "given" and learns:
        able = _named(lambda each: each.graphs == "learned")
        raise UsageError(f"only some learn one ({able}): give a Graph", "graph")
    if private and not found.private:
        raise UsageError(f"with privacy: {_named(lambda each: each.private)}", "method")
    return found


def _named(chosen: Callable[[PersonalMethod], bool]) -> str:
    return ", ".join(f'"{name}"' for name, each in METHODS.items() if chosen(each))
