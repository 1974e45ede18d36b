"""The one way in to all algorithms: data in any form, names of objects, keywords as people know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from inspect import Parameter, signature
from typing import Any, Final, Literal

import numpy as np

from gopa import UsageError
from gopa.graph import complete, path, ring, star
from gopa.learning.checks import fresh_seed
from gopa.learning.data import Users, class_numbers, users_of
from gopa.learning.outcome import Outcome, require_neither
from gopa.learning.privacy import CLASSES

GRAPHS: Final = {"ring": ring, "complete": complete, "path": path, "star": star}
"""Graphs that follow from the number of users."""

_ALSO: Final = {
    "random_state": ("seed",),
    "max_iter": ("rounds", "steps", "iterations"),
    "verbose": ("progress",),
}
"""Keywords that mean the first of these that an algorithm has."""

Named = Mapping[str, tuple[type, Mapping[str, Any]]]


def algorithm(  # noqa: PLR0913 - what an algorithm takes
    *,
    named: Named | None = None,
    more: Iterable[str] = (),
    labels: Literal["unread", "as they are", "signs"] = "as they are",
    points: bool = False,
    ready: str = "",
    alone: str = "",
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Makes a function of users one of data in whichever form people have them.

    Its data are those of `users_of`, with y, `groups` and `sample_weight`. Graphs may be named, and
    whatever `named` has names for, by keyword. `more` are keywords beyond the signature. With
    labels as "signs" two classes of any kind become -1 and 1, where the loss or the kernel reads
    signs. Of `points` only the first column counts: the outcome says so where there are others.
    What has a method of the name `ready` is no data, and stays as it is. `alone` says why an
    algorithm has neither graph nor clock: None is taken for both.
    """

    def made(fit: Callable[..., Outcome]) -> Callable[..., Outcome]:
        way = _WayIn(fit, named or {}, frozenset(more), labels, points, ready, alone)

        @wraps(fit)
        def called(problem: Any, y: Any = None, groups: Any = None, **asked: Any) -> Outcome:
            return way(problem, y, groups, asked)

        return called

    return made


@dataclass(frozen=True)
class _WayIn:
    """One algorithm, and what is done with its arguments and its outcome."""

    fit: Callable[..., Outcome]
    named: Named
    more: frozenset[str]
    labels: str
    points: bool
    ready: str
    alone: str

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """What the function takes by keyword."""
        found = signature(self.fit).parameters.items()
        return {name: each for name, each in found if each.kind is each.KEYWORD_ONLY}

    @cached_property
    def known(self) -> list[str]:
        """All keywords, and none where they go on to somebody who refuses those that are wrong."""
        others = [each.kind for each in signature(self.fit).parameters.values()]
        closed = self.more or Parameter.VAR_KEYWORD not in others
        return list(dict.fromkeys([*self.parameters, *self.more])) if closed else []

    def __call__(self, problem: Any, y: Any, groups: Any, asked: dict[str, Any]) -> Outcome:
        weights = asked.pop("sample_weight", None)
        if self.alone:
            require_neither(asked.pop("graph", None), asked.pop("clock", None), self.alone)
        _rename(self.fit.__name__, [*self.parameters, *self.more], asked)
        if self.known:
            refuse_unknown(self.fit.__name__, [*self.known, "groups", "sample_weight"], asked)
        for name, (kind, objects) in self.named.items():
            if name in asked:
                asked[name] = _object(name, asked[name], kind, objects)
        if self.ready and hasattr(problem, self.ready):
            if isinstance(asked.get("graph"), str):
                asked["graph"] = named_graph(asked["graph"], problem.agents)
            return self.fit(problem, **asked)
        users = users_of(problem, y, groups, weights, labelled=self.labels != "unread")
        if users.table.weights is not None and "class_weight" not in self.parameters:
            raise UsageError("all rows count alike here: fedavg weighs them", "sample_weight")
        if isinstance(asked.get("graph"), str):
            asked["graph"] = named_graph(asked["graph"], len(users))
        users, classes = self._as_signs(users, asked)
        return self._noted(self.fit(users, **asked), classes, users.table.features.shape[1])

    def _as_signs(self, users: Users, asked: Mapping[str, Any]) -> tuple[Users, Any]:
        """Users whose labels are -1 and 1 where signs are read, and the classes that they were."""
        kinds = len(np.unique(users.table.labels)) if self.labels == "signs" else 0
        if kinds < 2 or not self._reads_signs(asked):
            return users, None
        if kinds > 2:
            message = (
                f"two classes, and these are {kinds}: several are for fedavg, fit_correlated, "
                "Personalised and fit_without_replacement"
            )
            raise UsageError(message, "labels")
        return class_numbers(users)

    def _reads_signs(self, asked: Mapping[str, Any]) -> bool:
        """Whether labels are two kinds, by the loss or the kernel that is asked for."""
        for name, kind in (("loss", "signs"), ("kernel", "public")):
            if name in self.parameters:
                chosen = asked.get(name, self.parameters[name].default)
                return getattr(chosen, "labels", None) == kind
        return True

    def _noted(self, outcome: Outcome, classes: Any, columns: int) -> Outcome:
        if classes is not None:
            outcome = replace(outcome, classes=classes)
        spent = outcome.spent
        if outcome.classes is not None and spent.hides and CLASSES not in spent.assumptions:
            # They were looked up in the rows of all, which no noise hides.
            spent = replace(spent, assumptions=(*spent.assumptions, CLASSES))
            outcome = replace(outcome, spent=spent)
        if self.points and columns > 1:
            said = f"a point is the first of {columns} columns: the others do not count"
            outcome = replace(outcome, warnings=(*outcome.warnings, said))
        return outcome


def _rename(caller: str, known: list[str], asked: dict[str, Any]) -> None:
    """Keywords by their own names, and a seed from the system where None is asked for."""
    for name, others in _ALSO.items():
        own = next((each for each in others if each in known), None)
        if name in asked and own is not None and name not in known:
            if own in asked:
                raise TypeError(f"{caller}() got {name!r} and {own!r}, which mean the same")
            value = asked.pop(name)
            asked[own] = bool(value) if name == "verbose" else value
    if "seed" in asked and asked["seed"] is None:
        asked["seed"] = fresh_seed()


def _object(name: str, value: Any, kind: type, objects: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value in objects:
        return objects[value]
    if not isinstance(value, kind):
        message = f"a {kind.__name__}(..) of your own, or one of {', '.join(map(repr, objects))}"
        raise UsageError(message, name)
    return value


def named_graph(name: str, users: int) -> Any:
    """The graph of so many users that has this name."""
    if name not in GRAPHS:
        listed = ", ".join(map(repr, GRAPHS))
        message = f"one of {listed}, or a Graph, such as from_edges(..) of gopa.graph"
        raise UsageError(message, "graph")
    return GRAPHS[name](users)


_ANEW: Final = (
    "no start: it begins anew. fedavg and fedsgd go on by start=, and "
    "FederatedLogisticRegression by warm_start=True"
)
_INSTEAD: Final = {
    "epsilon": ("privacy=Privacy(epsilon, delta)",),
    "delta": ("privacy=Privacy(epsilon, delta)",),
    "privacy": ("epsilon=, delta=, unit=",),
    "seed": ("random_state=",),
    "random_state": ("seed=",),
    "max_iter": ("rounds=", "steps=", "iterations="),
    "n_iter": ("rounds=", "steps=", "iterations="),
    "epochs": ("local_steps=", "rounds=", "steps="),
    "learning_rate": ("rate=", "step=", "steps=Steps(..)"),
    "lr": ("rate=", "step=", "steps=Steps(..)"),
    "eta0": ("rate=", "step=", "steps=Steps(..)"),
    "optimizer": ("rate= and local_steps=", "steps="),
    "solver": ("rate= and local_steps=", "method="),
    "C": ("ridge=1 / (C * rows)",),
    "alpha": ("ridge=",),
    "l2": ("ridge=",),
    "penalty": ("ridge=",),
    "verbose": ("progress=True",),
    "callbacks": ("callback=",),
    "early_stopping": (
        "callback=, which may raise StopIteration", "progress=f, which may raise StopIteration",
    ),
    "tol": ("callback=, which may raise StopIteration",),
    "start": ("centres=", _ANEW),
    "warm_start": ("start=", "centres=", _ANEW),
    "model": ("start=", "centres=", _ANEW),
    "init": ("start=", "centres=", _ANEW),
    "n_jobs": ('session={"jobs": n}',),
    "clients_per_round": ('session={"dropout": part}: everybody who is there takes part',),
    "fraction_fit": ('session={"dropout": part}: everybody who is there takes part',),
    "batch_size": ("batch=", "local_steps=: each takes all rows of a user"),
    "n_clusters": ("clusters=",),
    "n_components": ("components=",),
    "fit_intercept": ("intercept=0 for none",),
    "regularization": ("ridge=",),
}  # fmt: skip
"""Of these the first whose own keyword is there is named, or that is no keyword."""


def instead(name: str, known: Iterable[str]) -> str | None:
    """What stands for a keyword where these are known, or None."""
    there = set(known)
    for each in _INSTEAD.get(name, ()):
        if each == _ANEW or each.partition("=")[0] in there:
            return each
    return None


def refuse_unknown(caller: str, known: Iterable[str], asked: Iterable[str]) -> None:
    """Raises `TypeError` for the first keyword that is not known, and says what is."""
    listed = list(known)
    for name in asked:
        if name not in listed:
            found = instead(name, listed)
            hint = f"write {found}" if found else f"it has {', '.join(listed)}"
            raise TypeError(f"{caller}() got an unexpected keyword argument {name!r}: {hint}")
