"""Personal models by any of the methods: fitting, predicting, and users who come and go.

How to use it: `docs/learning/personalised.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.calls import named_graph
from gopa.learning.checks import generator
from gopa.learning.clipping import finite, length
from gopa.learning.clocks import Clock
from gopa.learning.data import Table, Users, class_numbers, likeliest, natural, users_of
from gopa.learning.estimators import Estimator, UnfitData, seed_of, validate_data, value_errors
from gopa.learning.ledger import BudgetExceeded
from gopa.learning.objectives import (
    LOSSES,
    Boosting,
    Objective,
    Predictors,
    RowLoss,
    mean_of_rows,
    with_one,
)
from gopa.learning.outcome import Progress
from gopa.learning.personalised.alternating import BudgetShares, GraphSteps
from gopa.learning.personalised.graph_learning import GraphLearner, graph_of
from gopa.learning.personalised.methods import (
    METHODS,
    ROUNDS,
    MethodName,
    PersonalMethod,
    Task,
    method_for,
)
from gopa.learning.personalised.objective import Collaboration, GraphRegulariser
from gopa.learning.personalised.release import Noise
from gopa.learning.privacy import Privacy
from gopa.learning.rows import AgentRows
from gopa.support.arrays import Floats
from gopa.support.extras import missing

try:
    from sklearn.base import ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
except ImportError:
    raise missing("learning") from None

Pair: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]


@dataclass(eq=False, repr=False)
class Personalised(ClassifierMixin, Estimator):  # type: ignore[misc]
    """A model of its own for each user: linear, or of base predictors for two classes.

    `graph` is a `Graph` with weights, the name of one, or "learn". With `predictors`, such as
    `stumps`, models are combinations of their outputs, and what users minimise is the loss of
    l1-Adaboost; without, models are linear, with an `intercept`, and the loss is `loss` with a
    `ridge`, by default 2 by the number of a user's rows; several classes are told apart by a
    softmax. With `privacy` rows are shortened to `row_bound`. `random_state` is another name of
    `seed`; without either the seed is 0, and with `privacy` a fresh one.

    After `fit`: `models_` (users, p), `graph_`, `classes_`, `users_` (their names, or numbers),
    `outcome_`, and `problem_`, the `Collaboration` that was minimised.
    """

    method: MethodName = "cd"
    _: KW_ONLY
    privacy: Privacy | None = None
    graph: Graph | str = "learn"
    clock: Clock | None = None
    pull: float = 1.0
    weight: float | None = None
    regulariser: GraphRegulariser | None = None
    predictors: Predictors | None = None
    radius: float = 10.0
    loss: RowLoss | str = "logistic"
    ridge: float | None = None
    row_bound: float = 1.0
    intercept: bool = True
    steps: int | None = None
    every: int | None = None
    learning: GraphSteps | None = None
    noise: Noise = "gaussian"
    shares: BudgetShares | None = None
    seed: int | None = None
    random_state: Any = None
    progress: Progress = None

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__decision_function: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Learns all models from the rows of each user, whose names `groups` has.

        Users may come as `users_of` takes them, too. Without groups all rows are one user's.
        """
        with value_errors(), self._changing():
            self._pairs: list[tuple[Floats, Floats]] = []
            users, names = self._users(X, y, groups)
            self.users_, self._graph = names, self._given_graph(len(users))
            self._seed: Any = self._drawn()
            method = self._method()
            if len(np.unique(users.table.labels)) < 2:
                raise UnfitData("rows of one class: nothing tells them apart", "labels")
            coded, self.classes_ = class_numbers(users)
            if len(self.classes_) > 2 and self.predictors is not None:
                raise UnfitData("two classes are told apart by base predictors", "labels")
            if len(self.classes_) > 2 and self.privacy is not None and self._graph is None:
                raise UnfitData("several classes with privacy take a given graph", "graph")
            self._pairs = [
                (self._seen(x, f"problem[{user}]"), np.asarray(y, dtype=np.float64))
                for user, (x, y) in enumerate(coded.pairs())
            ]
            self.problem_ = problem = self._problem(self._pairs)
            outcome = method.fit(self._task())
            model = outcome.model if isinstance(outcome.model, dict) else {"models": outcome.model}
            self.models_: Floats = model["models"]
            if self._graph is not None:
                self._weights: Floats = self._graph.weight_matrix().toarray()
            else:
                nobody = np.zeros((problem.users, problem.users))
                self._weights = np.array(model.get("weights", nobody))
            self.outcome_ = replace(outcome, classes=self.classes_)
            self.n_iter_ = len(outcome.history)
        return self

    def _drawn(self) -> Any:
        """The seed; where it makes noise, and nobody says, one that nobody knows beforehand."""
        if self.random_state is None and self.seed is not None:
            return self.seed
        plain = self.random_state is None and self.privacy is None
        return 0 if plain else seed_of(self.random_state)

    def _users(self, X: Any, y: Any, groups: Any) -> tuple[Users, list[Any]]:
        """The users, and what they are called."""
        if y is None and isinstance(X, Users | list | tuple | Mapping):
            users = users_of(X)
            names = list(X) if isinstance(X, Mapping) else list(range(len(users)))
            validate_data(self, users.table.features, ensure_min_samples=0)
        else:
            x, y = validate_data(self, X, y, dtype=np.float64)
            check_classification_targets(y)
            table, names = Table(x, y), [0]
            users = Users(table, (np.arange(len(x)),))
            if groups is not None:
                users, names = natural(table, groups), np.unique(np.asarray(groups)).tolist()
        if users.weights is not None:
            raise UnfitData("all rows of a user count alike", "sample_weight")
        return users, names

    def _given_graph(self, users: int) -> Graph | None:
        """The graph, or None where it is learned."""
        if isinstance(self.graph, Graph):
            return self.graph
        given: Any = self.graph
        if not isinstance(given, str):
            message = 'a Graph, such as from_edges(..) of gopa.graph, its name, or "learn"'
            raise UsageError(message, "graph")
        if self.graph == "learn":
            return None
        found: Graph = named_graph(self.graph, users)
        return found

    def _asked_method(self) -> PersonalMethod:
        return method_for(
            self.method, combines=self.predictors is not None, learns=self._graph is None,
            private=self.privacy is not None,
        )  # fmt: skip

    def _method(self) -> PersonalMethod:
        """The method of the users that there are: a single one has nobody to look for."""
        found = self._asked_method()
        alone = self._graph is None and len(self.users_) == 1 and found.graphs == "learned"
        return METHODS["local"] if alone else found

    @property
    def graph_(self) -> Graph:
        """Who collaborates with whom, by place in `users_`."""
        return graph_of(self._weights)

    def decision_function(self, X: Any, groups: Any = None) -> Floats:
        """A number for each row, above 0 for the second class; or one for each of more classes.

        `groups` says whose model each row is shown to, or whose all rows are; rows of nobody are
        shown to the mean of all models.
        """
        with value_errors():
            seen = self._seen(self._given(X), "X")
            if groups is None:
                own = self.models_.mean(axis=0, keepdims=True)
            elif np.ndim(groups) == 0:
                own = self.models_[[self._place(groups)]]
            else:
                listed = np.asarray(groups)
                if listed.shape != (len(seen),):
                    raise UnfitData("one user for each row", "groups")
                names, places = np.unique(listed, return_inverse=True)
                own = self.models_[[self._place(each) for each in names.tolist()]][places]
            each = own.reshape(len(own), -1, seen.shape[1])
            found = np.einsum(
                "rk,rck->rc", seen, np.broadcast_to(each, (len(seen), *each.shape[1:]))
            )
            return np.asarray(found[:, 0] if len(self.classes_) == 2 else found)

    def predict(self, X: Any, groups: Any = None) -> npt.NDArray[Any]:
        """The class of each row, by the models of `groups`."""
        return likeliest(self.decision_function(X, groups), self.classes_)

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """The part of the rows that come out right."""
        found, given = self.predict(X, groups), np.asarray(y)
        if given.shape != found.shape:
            raise UnfitData("one for each row", "y")
        return float((found == given).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.privacy is not None
        return tags

    def add_user(
        self, rows: npt.ArrayLike, labels: npt.ArrayLike, weights: Mapping[Any, float] | None = None
    ) -> int:
        """Lets a user join, and gives its number; models go on from where they are.

        `weights` join it with others by their numbers; without, it looks for peers itself.

        Raises:
            BudgetExceeded: models are private, and everybody's budget is spent.
        """
        self._require_open()
        pair = self._prepared((rows, labels), "rows")
        places = {self._place(other): float(weight) for other, weight in (weights or {}).items()}
        if weights is None and self._graph is not None:
            raise UsageError(
                "the graph was given: say who collaborates with the newcomer", "weights"
            )
        if not all(0 < weight < math.inf for weight in places.values()):
            raise UsageError("above 0 and finite", "weights")
        number = max((each for each in self.users_ if isinstance(each, int)), default=-1) + 1
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

    def remove_user(self, user: Any) -> None:
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
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _prepared(self, pair: Pair, where: str) -> tuple[Floats, Floats]:
        """What models see of a user's rows, and signs."""
        rows, labels = pair
        given = np.asarray(labels)
        if given.ndim != 1 or len(given) != len(finite(np.atleast_1d(rows), where)):
            raise UsageError("a table of rows, and one label for each", where)
        if not np.isin(given, self.classes_).all():
            raise UsageError(f"labels are {self.classes_.tolist()}", "labels")
        seen = self._seen(rows, where)
        if self._pairs and seen.shape[1] != self._pairs[0][0].shape[1]:
            raise UsageError("as many columns as all other users have", where)
        places = np.searchsorted(self.classes_, given)
        return seen, np.asarray(2.0 * places - 1 if len(self.classes_) == 2 else places, float)

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
            return self._together(Boosting(margins.clipped(math.inf, 1.0)))
        rows = AgentRows.of(pairs)
        if self.privacy is None:
            rows = rows.clipped(2, max(1.0, float(length(rows.x, 2).max())) * (1 + 1e-9))
        else:
            rows = rows.clipped(1 if self.noise == "laplace" else 2, self.row_bound)
        ridge = 2 / np.maximum(rows.counts, 1) if self.ridge is None else self.ridge
        loss = LOSSES.get(self.loss, self.loss) if isinstance(self.loss, str) else self.loss
        if not isinstance(loss, RowLoss):
            raise UsageError(f"a RowLoss, or one of {', '.join(map(repr, LOSSES))}", "loss")
        local = mean_of_rows(loss, rows, len(self.classes_), ridge=ridge)
        return self._together(local, own_bends=self.privacy is None)

    def _together(self, local: Objective, *, own_bends: bool = False) -> Collaboration:
        return Collaboration(
            local, own_bends=own_bends, pull=self.pull, weight=self.weight,
            regulariser=self.regulariser,
        )  # fmt: skip

    def _task(self, graph: Graph | None = None) -> Task:
        """What the method learns of the users as they are; along this graph, or the one given."""
        return Task(
            problem=self.problem_, pooled=self._pooled, combines=self.predictors is not None,
            privacy=self.privacy, graph=self._graph if graph is None else graph, clock=self.clock,
            steps=self.steps, every=self.every, learning=self.learning or GraphSteps(),
            shares=self.shares, radius=self.radius, noise=self.noise, seed=self._seed,
            progress=self.progress,
        )  # fmt: skip

    def _pooled(self) -> Collaboration:
        """The problem of one user who has all rows."""
        seen, signs = zip(*self._pairs, strict=True)
        return self._problem([(np.concatenate(seen), np.concatenate(signs))])

    def _place(self, user: Any) -> int:
        if not hasattr(self, "users_"):
            raise UsageError("call fit first", "fit")
        if user not in self.users_:
            raise UsageError(f"there is no user {user}", "user")
        return self.users_.index(user)

    def _require_open(self) -> None:
        self._place(self.users_[0] if hasattr(self, "users_") else -1)
        if self.privacy is not None and self._asked_method().graphs != "none":
            message = "everybody's budget is spent, and to go on, or to fit anew, spends it again"
            raise BudgetExceeded(message, math.inf, 0)

    def _look_around(self) -> None:
        """Lets the newcomer, alone until now, compare itself with all others a few times."""
        problem = self.problem_
        users = problem.users
        if users < 2 or self._method().graphs == "none":
            return
        models = self.models_.copy()
        models[-1] = self._task().alone()[-1]
        learner = GraphLearner(problem, self._weights[None].copy(), models[None])
        learning = self.learning or GraphSteps()
        peers = min(learning.peers, users - 1)
        rng = generator(self._seed, "newcomer", str(users))
        for _ in range(ROUNDS):
            order = rng.permutation(users - 1)
            for first in range(0, users - 1 - (users - 1) % peers, peers):
                learner(np.array([users - 1]), order[None, first : first + peers])
        learner.cut(learning.cut)
        self._weights = learner.weights[0]

    def _go_on(self) -> None:
        """A few more steps of everybody; who learns alone, or all as one, fits anew."""
        outcome = self._method().resume(self._task(self.graph_), self.models_)
        self.outcome_, model = replace(outcome, classes=self.classes_), outcome.model
        self.models_ = model["models"] if isinstance(model, dict) else model
