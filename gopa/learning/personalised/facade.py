"""Personal models by any of the methods: fitting, predicting, and users who come and go.

How to use it: `docs/learning/personalised.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import generator, whole
from gopa.learning.clipping import finite, length
from gopa.learning.clocks import Clock
from gopa.learning.data import Users
from gopa.learning.ledger import BudgetExceeded
from gopa.learning.objectives import LOGISTIC, Boosting, Linear, RowLoss
from gopa.learning.outcome import Progress
from gopa.learning.personalised.alternating import BudgetShares, GraphSteps
from gopa.learning.personalised.graph_learning import GraphLearner, graph_of
from gopa.learning.personalised.methods import ROUNDS, MethodName, Task, method_for
from gopa.learning.personalised.objective import Collaboration, GraphRegulariser
from gopa.learning.personalised.release import Noise
from gopa.learning.privacy import Privacy
from gopa.learning.rows import AgentRows
from gopa.support.arrays import Floats

Pair: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]


Predictors: TypeAlias = Callable[[Floats], Floats]
"""Maps rows (rows, columns) to outputs (rows, predictors) from -1 to 1."""


class Personalised:
    """Learns a model of its own for each user: two classes, linear or of base predictors.

    `graph` is a `Graph` with weights, or "learn". With `predictors`, such as `stumps`, models are
    combinations of their outputs, and what users minimise is the loss of l1-Adaboost; without,
    models are linear, with an `intercept`, and the loss is `loss` with a `ridge`, by default 2 by
    the number of a user's rows. With `privacy` rows are shortened to `row_bound`.

    After `fit`: `models_` (users, p), `graph_`, `classes_`, `users_` (their numbers), `outcome_`,
    and `problem_`, the `Collaboration` that was minimised.
    """

    def __init__(  # noqa: PLR0913 - a method has many parts
        self,
        method: MethodName = "cd",
        *,
        privacy: Privacy | None = None,
        graph: Graph | Literal["learn"] = "learn",
        clock: Clock | None = None,
        pull: float = 1.0,
        weight: float | None = None,
        regulariser: GraphRegulariser | None = None,
        predictors: Predictors | None = None,
        radius: float = 10.0,
        loss: RowLoss = LOGISTIC,
        ridge: float | None = None,
        row_bound: float = 1.0,
        intercept: bool = True,
        steps: int | None = None,
        every: int | None = None,
        learning: GraphSteps | None = None,
        noise: Noise = "gaussian",
        shares: BudgetShares | None = None,
        seed: int = 0,
        progress: Progress = None,
    ) -> None:
        if not (graph == "learn" or isinstance(graph, Graph)):
            raise UsageError('a Graph, or "learn"', "graph")
        self._method = method_for(
            method, combines=predictors is not None, learns=not isinstance(graph, Graph),
            private=privacy is not None,
        )  # fmt: skip
        self.method, self.privacy, self.graph, self.clock = method, privacy, graph, clock
        self.predictors, self.radius, self.loss, self.ridge = predictors, radius, loss, ridge
        self.row_bound, self.steps, self.every, self.noise = row_bound, steps, every, noise
        self.learning, self.shares = learning or GraphSteps(), shares
        self.seed, self.progress, self.intercept = seed, progress, intercept
        self._parts: dict[str, Any] = {"pull": pull, "weight": weight, "regulariser": regulariser}
        self._pairs: list[tuple[Floats, Floats]] = []

    def fit(self, datasets: Users | Sequence[Pair]) -> Self:
        """Learns all models from each user's rows and labels."""
        pairs = datasets.pairs() if isinstance(datasets, Users) else list(datasets)
        if not pairs:
            raise UsageError("there is at least one user", "datasets")
        with self._changing():
            self._pairs = []
            labels = np.concatenate([np.asarray(each).ravel() for _, each in pairs])
            self.classes_ = np.unique(labels)
            if len(self.classes_) != 2:
                raise UsageError(f"two classes, and these are {len(self.classes_)}", "labels")
            self._pairs = [self._prepared(each, f"datasets[{u}]") for u, each in enumerate(pairs)]
            self.users_ = list(range(len(pairs)))
            self.problem_ = problem = self._problem(self._pairs)
            outcome = self._method.fit(self._task())
            model = outcome.model if isinstance(outcome.model, dict) else {"models": outcome.model}
            self.models_: Floats = model["models"]
            if isinstance(self.graph, Graph):
                self._weights: Floats = self.graph.weight_matrix().toarray()
            else:
                nobody = np.zeros((problem.users, problem.users))
                self._weights = np.array(model.get("weights", nobody))
            self.outcome_ = outcome
        return self

    @property
    def graph_(self) -> Graph:
        """Who collaborates with whom, by place in `users_`."""
        return graph_of(self._weights)

    def decision_function(self, user: int, rows: npt.ArrayLike) -> Floats:
        """A number for each row: above 0 for the second class."""
        place, seen = self._place(user), self._seen(rows, "rows")
        model = self.models_[place]
        if seen.shape[1] != len(model):
            raise UsageError("as many columns as in fit", "rows")
        return np.asarray(np.einsum("rk,k->r", seen, model))

    def predict(self, user: int, rows: npt.ArrayLike) -> npt.NDArray[Any]:
        """The classes of rows by the model of one user."""
        second = self.decision_function(user, rows) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def score(self, user: int, rows: npt.ArrayLike, labels: npt.ArrayLike) -> float:
        """The part of the rows that come out right."""
        found, given = self.predict(user, rows), np.asarray(labels)
        if given.shape != found.shape:
            raise UsageError("one for each row", "labels")
        return float((found == given).mean())

    def add_user(
        self, rows: npt.ArrayLike, labels: npt.ArrayLike, weights: Mapping[int, float] | None = None
    ) -> int:
        """Lets a user join, and gives its number; models go on from where they are.

        `weights` join it with others by their numbers; without, it looks for peers itself.

        Raises:
            BudgetExceeded: models are private, and everybody's budget is spent.
        """
        self._require_open()
        pair = self._prepared((rows, labels), "rows")
        places = {self._place(other): float(weight) for other, weight in (weights or {}).items()}
        if weights is None and isinstance(self.graph, Graph):
            raise UsageError(
                "the graph was given: say who collaborates with the newcomer", "weights"
            )
        if not all(0 < weight < math.inf for weight in places.values()):
            raise UsageError("above 0 and finite", "weights")
        number = max(self.users_) + 1
        with self._changing():
            self.users_, self._pairs = [*self.users_, number], [*self._pairs, pair]
            self._weights = np.pad(self._weights, (0, 1))
            for place, weight in places.items():
                self._weights[place, -1] = self._weights[-1, place] = weight
            self.problem_ = self._problem(self._pairs)
            self.models_ = np.vstack([self.models_, np.zeros((1, self.models_.shape[1]))])
            if weights is None:
                self._look_around()
            self._go_on()
        return number

    def remove_user(self, user: int) -> None:
        """Lets a user go; models of the others go on from where they are."""
        self._require_open()
        place = self._place(user)
        if len(self.users_) == 1:
            raise UsageError("the last user stays", "user")
        keep = [each for each in range(len(self.users_)) if each != place]
        with self._changing():
            self.users_ = [self.users_[each] for each in keep]
            self._pairs = [self._pairs[each] for each in keep]
            self._weights, self.models_ = self._weights[np.ix_(keep, keep)], self.models_[keep]
            self.problem_ = self._problem(self._pairs)
            self._go_on()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Puts everything back if users were being changed when something stopped it."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _prepared(self, pair: Pair, where: str) -> tuple[Floats, Floats]:
        """What models see of a user's rows, and signs."""
        rows, labels = pair
        given = np.asarray(labels)
        if given.ndim != 1 or len(given) != len(finite(np.atleast_1d(rows), where)):
            raise UsageError("a table of rows, and one label for each", where)
        if not np.isin(given, self.classes_).all():
            raise UsageError(f"labels are {self.classes_[0]} and {self.classes_[1]}", "labels")
        seen = self._seen(rows, where)
        if self._pairs and seen.shape[1] != self._pairs[0][0].shape[1]:
            raise UsageError("as many columns as all other users have", where)
        return seen, np.where(given == self.classes_[1], 1.0, -1.0)

    def _seen(self, rows: npt.ArrayLike, where: str) -> Floats:
        found = finite(rows, where)
        if found.ndim != 2:
            raise UsageError("a table of rows", where)
        if self.predictors is not None:
            return self.predictors(found)
        return with_one(found) if self.intercept else found

    def _problem(self, pairs: list[tuple[Floats, Floats]]) -> Collaboration:
        """What users minimise; without privacy, what is declared is what their rows are."""
        if self.predictors is not None:
            margins = AgentRows.of([(seen * signs[:, None], signs) for seen, signs in pairs])
            return Collaboration(Boosting(margins.clipped(math.inf, 1.0)), **self._parts)
        rows = AgentRows.of(pairs)
        if self.privacy is None:
            rows = rows.clipped(2, max(1.0, float(length(rows.x, 2).max())) * (1 + 1e-9))
        else:
            rows = rows.clipped(1 if self.noise == "laplace" else 2, self.row_bound)
        ridge = 2 / np.maximum(rows.counts, 1) if self.ridge is None else self.ridge
        local = Linear(self.loss, rows, ridge=ridge)
        return Collaboration(local, own_bends=self.privacy is None, **self._parts)

    def _task(self, graph: Graph | None = None) -> Task:
        """What the method learns of the users as they are; along this graph, or the one given."""
        given = self.graph if isinstance(self.graph, Graph) else None
        return Task(
            problem=self.problem_, pooled=self._pooled, combines=self.predictors is not None,
            privacy=self.privacy, graph=given if graph is None else graph, clock=self.clock,
            steps=self.steps, every=self.every, learning=self.learning, shares=self.shares,
            radius=self.radius, noise=self.noise, seed=self.seed, progress=self.progress,
        )  # fmt: skip

    def _pooled(self) -> Collaboration:
        """The problem of one user who has all rows."""
        seen, signs = zip(*self._pairs, strict=True)
        return self._problem([(np.concatenate(seen), np.concatenate(signs))])

    def _place(self, user: int) -> int:
        if not hasattr(self, "users_"):
            raise UsageError("call fit first", "fit")
        if user not in self.users_:
            raise UsageError(f"there is no user {user}", "user")
        return self.users_.index(user)

    def _require_open(self) -> None:
        self._place(self.users_[0] if hasattr(self, "users_") else -1)
        if self.privacy is not None and self._method.graphs != "none":
            message = "everybody's budget is spent, and to go on, or to fit anew, spends it again"
            raise BudgetExceeded(message, math.inf, 0)

    def _look_around(self) -> None:
        """Lets the newcomer, alone until now, compare itself with all others a few times."""
        problem = self.problem_
        users = problem.users
        if users < 2 or self._method.graphs == "none":
            return
        models = self.models_.copy()
        models[-1] = self._task().alone()[-1]
        learner = GraphLearner(problem, self._weights[None].copy(), models[None])
        peers = min(self.learning.peers, users - 1)
        rng = generator(self.seed, "newcomer", str(users))
        for _ in range(ROUNDS):
            order = rng.permutation(users - 1)
            for first in range(0, users - 1 - (users - 1) % peers, peers):
                learner(np.array([users - 1]), order[None, first : first + peers])
        learner.cut(self.learning.cut)
        self._weights = learner.weights[0]

    def _go_on(self) -> None:
        """A few more steps of everybody; who learns alone, or all as one, fits anew."""
        self.outcome_ = self._method.resume(self._task(self.graph_), self.models_)
        model = self.outcome_.model
        self.models_ = model["models"] if isinstance(model, dict) else model


def with_one(rows: Floats) -> Floats:
    """The rows with a one behind them, which gives linear models an intercept."""
    return np.hstack([rows, np.ones((len(rows), 1))])


def stumps(low: Floats, high: Floats, count: int) -> Predictors:
    """`count` stumps on every column: -1 below a threshold, 1 from it on, evenly between two ends.

    Ends that are taken from data tell something about them.
    """
    first, last = finite(np.atleast_1d(low), "low"), finite(np.atleast_1d(high), "high")
    if first.shape != last.shape or not (first <= last).all():
        raise UsageError("two ends for each column, the lower one first", "high")
    shares = np.arange(1, whole(count, "count") + 1) / (count + 1)
    thresholds = first[:, None] + shares * (last - first)[:, None]

    def outputs(rows: Floats) -> Floats:
        if rows.ndim != 2 or rows.shape[1] != len(thresholds):
            raise UsageError(f"rows of {len(thresholds)} numbers", "rows")
        return np.where(rows[:, :, None] >= thresholds, 1.0, -1.0).reshape(len(rows), -1)

    return outputs
