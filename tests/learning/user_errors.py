"""What users get wrong, and how every algorithm answers: one table.

An algorithm registers with `register`: how it is called rightly, and an answer to every mistake.
A mistake is made by changing the right call; who needs another change brings it along. A mistake
that an algorithm cannot be confronted with is answered by a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, TypeAlias

import numpy as np

from gopa.graph import from_edges
from gopa.learning import Outcome, Privacy, Table, Users, stacked


class Mistake(Enum):
    """Names what is wrong."""

    NOT_CONNECTED = "a graph that is not connected"
    OTHER_GRAPH = "a graph of more users than there are"
    UNEQUAL_WIDTHS = "users with different numbers of columns"
    NAN = "a feature that is not a number"
    INFINITE = "a feature that is infinite"
    NO_EPSILON = "an epsilon of 0"
    ONE_USER = "one user"
    NO_ROWS = "a user without rows"
    ONE_CLASS = "labels of one class"
    UNSEEN = "a label that was not there in fit"
    CONSTANT = "columns that are constant"
    SEED = "a seed that is no number"
    INTERRUPTED = "an interrupted fit"


@dataclass(frozen=True, slots=True)
class Refused:
    """Answers with a typed error whose `field` names what to change."""

    error: type[BaseException]
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Works:
    """Answers with an outcome, of which `holds` says what is documented."""

    documented: str
    holds: Callable[[Outcome], bool]


@dataclass(frozen=True, slots=True)
class DoesNotArise:
    """Says why nobody can make this mistake here."""

    why: str


Answer: TypeAlias = Refused | Works | DoesNotArise
Call: TypeAlias = dict[str, Any]
"""The arguments of a `fit`, the problem among them."""


@dataclass(frozen=True, slots=True)
class Registered:
    """Holds an algorithm, a right call of it, its answers, and mistakes made in another way."""

    name: str
    fit: Callable[..., Outcome]
    right: Callable[[], Call]
    answers: Mapping[Mistake, Answer]
    mistakes: Mapping[Mistake, Callable[[Call], Any]] = field(default_factory=dict)

    def run(self, call: Call) -> Outcome:
        return self.fit(**call)

    def mistaken(self, mistake: Mistake) -> Any:
        """Makes the mistake."""
        change = self.mistakes.get(mistake)
        call = self.right()
        if change is not None:
            return change(call)
        return self.run({**call, **_CHANGES[mistake](call)})


REGISTERED: Final[list[Registered]] = []


def register(algorithm: Registered) -> Registered:
    """Adds an algorithm to the table."""
    REGISTERED.append(algorithm)
    return algorithm


def _users(call: Call) -> Users:
    users: Users = call["problem"]
    return users


def _with_feature(call: Call, value: float) -> Call:
    users = _users(call)
    features = users.table.features.copy()
    features[0, 0] = value
    return {"problem": replace(users, table=replace(users.table, features=features))}


def _with_labels(call: Call) -> Call:
    users = _users(call)
    labels = np.full_like(users.table.labels, users.table.labels[0])
    return {"problem": replace(users, table=replace(users.table, labels=labels))}


def _constant(call: Call) -> Call:
    users = _users(call)
    table = replace(users.table, features=np.full_like(users.table.features, 2.0))
    return {"problem": replace(users, table=table)}


def _wider(call: Call) -> Call:
    pairs = _users(call).pairs()
    features, labels = pairs[0]
    pairs[0] = (np.hstack([features, features]), labels)
    return {"problem": stacked(pairs, "made up")}


def _alone(call: Call) -> Call:
    users = _users(call)
    table: Table = users.of(0)
    return {"problem": Users(table, (np.arange(len(table)),), users.truth)}


def _without_rows(call: Call) -> Call:
    users = _users(call)
    return {"problem": replace(users, rows=(np.array([], dtype=np.int64), *users.rows[1:]))}


def _interrupted(_: Call) -> Call:
    def stop(_what: str, done: int, _total: int) -> None:
        if done:
            raise KeyboardInterrupt

    return {"progress": stop}


_CHANGES: Final[dict[Mistake, Callable[[Call], Call]]] = {
    Mistake.NOT_CONNECTED: lambda call: {"graph": from_edges(len(_users(call)), [(0, 1)])},
    Mistake.OTHER_GRAPH: lambda call: {"graph": from_edges(len(_users(call)) + 1, [(0, 1)])},
    Mistake.UNEQUAL_WIDTHS: _wider,
    Mistake.NAN: lambda call: _with_feature(call, np.nan),
    Mistake.INFINITE: lambda call: _with_feature(call, np.inf),
    Mistake.NO_EPSILON: lambda _: {"privacy": Privacy(0.0, 1e-6)},
    Mistake.ONE_USER: _alone,
    Mistake.NO_ROWS: _without_rows,
    Mistake.ONE_CLASS: _with_labels,
    Mistake.CONSTANT: _constant,
    Mistake.SEED: lambda _: {"seed": "seven"},
    Mistake.INTERRUPTED: _interrupted,
}
"""`UNSEEN` has no change of its own: it is about what is asked of a model afterwards."""
