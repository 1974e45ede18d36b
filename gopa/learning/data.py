"""Tables of data whose rows are divided among users, and problems that are made up from a seed.

The problems are those of Bellet's thesis and of Gade and Vaidya; what these leave open is said
beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import generator, whole
from gopa.learning.clipping import finite, numbers
from gopa.support.arrays import Floats

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Rows of features with a label each; `source` says where they come from.

    `groups` says whom a row belongs to by nature, where it belongs to somebody, and `weights` how
    much it counts, 1 if nobody says. Labels and groups are numbers or text. NaN and infinities are
    refused; a column that is constant is data like any other.
    """

    features: Floats
    labels: npt.NDArray[Any]
    source: str = "given"
    groups: npt.NDArray[Any] | None = None
    names: tuple[str, ...] = ()
    weights: Floats | None = None

    def __post_init__(self) -> None:
        found = numbers(self.features, "features")
        if found.ndim != 2:
            raise UsageError("features have a row for each record", "features")
        bad = np.argwhere(~np.isfinite(found))
        if len(bad):
            row, column = bad[0].tolist()
            raise UsageError("not a finite number", f"features[{row}, {column}]")
        object.__setattr__(self, "features", found)
        object.__setattr__(self, "labels", _column(self.labels, len(found), "labels"))
        if self.groups is not None:
            object.__setattr__(self, "groups", _column(self.groups, len(found), "groups"))
        if self.weights is not None:
            weights = finite(self.weights, "sample_weight")
            if weights.shape != (len(found),) or not (weights >= 0).all():
                raise UsageError("a number for each row, none negative", "sample_weight")
            object.__setattr__(self, "weights", weights)

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows, {self.features.shape[1]} features, {self.source}>"

    def take(self, rows: npt.ArrayLike) -> Table:
        """The chosen rows, by their numbers or by a truth value for each row."""
        chosen = np.asarray(rows)
        if chosen.dtype.kind == "b" and chosen.shape == (len(self),):
            chosen = np.flatnonzero(chosen)
        chosen = _rows_of(chosen, len(self), "rows")
        groups = None if self.groups is None else self.groups[chosen]
        weights = None if self.weights is None else self.weights[chosen]
        return replace(
            self, features=self.features[chosen], labels=self.labels[chosen], groups=groups,
            weights=weights,
        )  # fmt: skip

    def split(self, share: float, seed: int) -> tuple[Table, Table]:
        """A part to train on, and the rest, drawn at random."""
        if not 0 < share < 1:
            raise UsageError("above 0 and below 1", "share")
        order = generator(seed, "split").permutation(len(self))
        first = round(share * len(self))
        return self.take(np.sort(order[:first])), self.take(np.sort(order[first:]))

    def scaled(self, low: npt.ArrayLike, high: npt.ArrayLike) -> Table:
        """Features moved to [0, 1] by public ends of each column, and cut off there.

        Ends that are taken from the data tell something about the data. Where both are equal, the
        column becomes 0.
        """
        first, last = finite(np.atleast_1d(low), "low"), finite(np.atleast_1d(high), "high")
        if not {first.shape, last.shape} <= {(1,), self.features.shape[1:]}:
            raise UsageError("one number for all columns, or one for each", "low")
        if not np.all(first <= last):
            raise UsageError("no column ends before it begins", "high")
        width = np.where(last > first, last - first, 1.0)
        return replace(self, features=np.clip((self.features - first) / width, 0.0, 1.0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Users:
    """A table and which of its rows each user has. A user may have none.

    `truth` is what made-up problems know about their users; see each of them.
    """

    table: Table
    rows: tuple[Rows, ...]
    truth: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole = tuple(
            _rows_of(each, len(self.table), f"rows[{user}]") for user, each in enumerate(self.rows)
        )
        if not whole:
            raise UsageError("there is at least one user", "rows")
        everything = np.concatenate(whole)
        if len(np.unique(everything)) != len(everything):
            raise UsageError("a row belongs to one user", "rows")
        object.__setattr__(self, "rows", whole)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        least, most = self.counts.min(), self.counts.max()
        return f"<Users: {len(self)} with {least} to {most} rows, {self.table.source}>"

    @property
    def counts(self) -> Rows:
        """How many rows each user has."""
        return np.array([len(each) for each in self.rows])

    @property
    def weights(self) -> list[Floats] | None:
        """How much the rows of each user count, or None if all are alike."""
        weights = self.table.weights
        return None if weights is None else [weights[each] for each in self.rows]

    @property
    def masses(self) -> Floats:
        """How many rows each user has, counted by their weights."""
        weights = self.weights
        return np.array(self.counts if weights is None else [each.sum() for each in weights], float)

    def of(self, user: int) -> Table:
        """The rows of one user."""
        return self.table.take(self.rows[user])

    def pairs(self) -> list[tuple[Floats, npt.NDArray[Any]]]:
        """Features and labels of each user."""
        return [(each.features, each.labels) for each in map(self.of, range(len(self)))]


def iid(table: Table, users: int, seed: int) -> Users:
    """Every user has as many rows as every other one, within one, drawn at random."""
    _check(table, users)
    order = generator(seed, "iid").permutation(len(table))
    return Users(table, tuple(np.sort(each) for each in np.array_split(order, users)))


def dirichlet(table: Table, users: int, alpha: float, seed: int) -> Users:
    """The rows of each label are divided by shares from a Dirichlet law.

    A small `alpha` gives each user few labels, a large one all users the same mixture. Everybody
    has at least one row: who would have none gets one from whoever has most.
    """
    _check(table, users)
    if not 0 < alpha < np.inf:
        raise UsageError("above 0 and finite", "alpha")
    rng = generator(seed, "dirichlet")
    owner = np.empty(len(table), dtype=np.int64)
    for label in np.unique(table.labels):
        rows = rng.permutation(np.flatnonzero(table.labels == label))
        shares = rng.dirichlet(np.full(users, alpha))
        ends = np.rint(np.cumsum(shares) * len(rows)).astype(np.int64)
        owner[rows] = np.minimum(np.searchsorted(ends, np.arange(len(rows)), "right"), users - 1)
    counts = np.bincount(owner, minlength=users)
    for user in np.flatnonzero(counts == 0):
        richest = int(np.argmax(counts))
        given = np.flatnonzero(owner == richest)[0]
        owner[given] = user
        counts[richest] -= 1
        counts[user] += 1
    return Users(table, tuple(np.flatnonzero(owner == user) for user in range(users)))


def natural(table: Table, groups: npt.ArrayLike | None = None) -> Users:
    """Each user has the rows of one group, in the order of the groups' names."""
    given = table.groups if groups is None else groups
    if given is None:
        raise UsageError("no row says whom it belongs to: give a group for each", "groups")
    names, owner = np.unique(_column(given, len(table), "groups"), return_inverse=True)
    return Users(table, tuple(np.flatnonzero(owner == user) for user in range(len(names))))


def stacked(parts: Sequence[tuple[Floats, npt.NDArray[Any]]], source: str, **truth: Any) -> Users:
    """Users from their own features and labels, one pair for each."""
    widths = {np.shape(features)[1:] for features, _ in parts}
    if len(widths) != 1:
        raise UsageError(f"all users have the same columns, and these have {widths}", "parts")
    features = np.concatenate([each for each, _ in parts])
    labels = np.concatenate([each for _, each in parts])
    ends = np.cumsum([len(each) for each, _ in parts])
    rows = tuple(np.split(np.arange(len(features)), ends[:-1]))
    return Users(Table(features, labels, source), rows, truth)


def users_of(
    data: Any, labels: Any = None, groups: Any = None, weights: Any = None, *, labelled: bool = True
) -> Users:
    """The users of data in whichever form people have them.

    That is `Users`; a list or a dict of (features, labels), a pair for each user, and weights
    behind them if rows do not count alike; a `Table`, or features with `labels`, and `groups` that
    say whose each row is. Features may be a DataFrame, of which `labels` and `groups` may name
    columns. Where nothing is `labelled`, features alone will do.

    >>> from gopa.learning import users_of
    >>> users_of({"a": ([[0.0], [1.0]], ["no", "yes"]), "b": ([[2.0]], ["yes"])})
    <Users: 2 with 1 to 2 rows, given>

    Raises:
        UsageError: it is something else, or does not say whose each row is.
    """
    if isinstance(data, Users):
        if labels is not None or groups is not None:
            raise UsageError("users have their rows already: leave labels and groups out", "groups")
        return (
            data if weights is None else replace(data, table=replace(data.table, weights=weights))
        )
    if isinstance(data, Table):
        table = data if weights is None else replace(data, weights=weights)
        if groups is None and data.groups is None:
            message = "whose each row is: iid(table, users, seed), or natural(table, groups)"
            raise UsageError(message, "problem")
        return natural(table, groups)
    if labels is None and weights is None and groups is None:
        parts = list(data.values()) if isinstance(data, Mapping) else data
        if isinstance(parts, list | tuple) and parts and all(map(_is_part, parts)):
            names = list(data) if isinstance(data, Mapping) else None
            return _of_parts(parts, names)
        if isinstance(data, tuple) and 2 <= len(data) <= 4:
            return users_of(*data, labelled=labelled)
    return _of_columns(data, labels, groups, weights, labelled=labelled)


def _is_part(part: Any) -> bool:
    """Whether it is the features and labels of one user: a row of numbers is not."""
    if not isinstance(part, tuple | list) or len(part) not in {2, 3}:
        return False
    first = part[0]
    nested = isinstance(first, tuple | list) and (
        not first or isinstance(first[0], list | tuple | np.ndarray)
    )
    return nested or len(getattr(first, "shape", ())) == 2


def _of_parts(parts: Sequence[Any], names: list[Any] | None) -> Users:
    pairs, weights = [], []
    for user, (features, labels, *more) in enumerate(parts):
        x = numbers(features, f"problem[{user}]")
        y = np.asarray(labels)
        if x.ndim != 2 or y.shape != x.shape[:1]:
            raise UsageError("a table of rows, and one label for each", f"problem[{user}]")
        pairs.append((x, y))
        weights += [finite(more[0], "sample_weight") if more else np.ones(len(y))]
    if len({y.dtype.kind in "biuf" for _, y in pairs if len(y)}) > 1:
        raise UsageError("numbers for all users, or text for all", "labels")
    users = stacked(pairs, "given")
    if names is not None:
        owners = np.repeat(np.asarray(names), users.counts)
        users = replace(users, table=replace(users.table, groups=owners))
    if any(len(each) == 3 for each in parts):
        users = replace(users, table=replace(users.table, weights=np.concatenate(weights)))
    return users


def _of_columns(data: Any, labels: Any, groups: Any, weights: Any, *, labelled: bool) -> Users:
    """Users of a table, of which some columns may be named."""
    frame, given = data, []
    parts = {"labels": labels, "groups": groups, "sample_weight": weights}
    for name, each in parts.items():
        named = isinstance(each, str) and hasattr(frame, "columns")
        if named and each not in frame.columns:
            listed = ", ".join(map(str, frame.columns))
            raise UsageError(f"no column {each!r} beside others: there are {listed}", name)
        given.append(np.asarray(data[each]) if named else each)
        frame = frame.drop(columns=each) if named else frame
    labels, groups, weights = given
    x = numbers(frame, "problem")
    if x.ndim != 2:
        message = "Users, a list or dict of (features, labels), or features with y= and groups="
        raise UsageError(message, "problem")
    if labels is None and labelled:
        raise UsageError("a label for each row: give X, y and groups", "problem")
    if groups is None:
        message = (
            "say whose each row is: groups=parties, or groups=range(len(X)) if each row is a user "
            "of its own"
        )
        raise UsageError(message, "groups")
    names = tuple(map(str, getattr(frame, "columns", ())))
    table = Table(
        x, np.zeros(len(x)) if labels is None else labels, "given", groups, names, weights
    )
    return natural(table)


def class_numbers(
    users: Users, classes: npt.ArrayLike | None = None
) -> tuple[Users, npt.NDArray[Any]]:
    """Users whose labels are -1 and 1, or from 0 on for more than two classes; and all classes.

    Which classes there are is public. Labels -1 and 1 stay, whichever of them there are.
    """
    labels = users.table.labels
    found = np.unique(labels if classes is None else _column(classes, np.size(classes), "classes"))
    if found.dtype.kind in "iuf" and np.isin(found, (-1, 1)).all():
        found = np.array([-1, 1])
    if len(found) < 2:
        raise UsageError("rows of one class: nothing tells them apart", "labels")
    if not np.isin(labels, found).all():
        raise UsageError(f"of the classes {found.tolist()}", "labels")
    if found.tolist() == [-1, 1]:
        return users, found
    places = np.searchsorted(found, labels)
    coded = 2 * places - 1 if len(found) == 2 else places
    return replace(users, table=replace(users.table, labels=coded)), found


def likeliest(scores: Floats, classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The class of each row by its scores, one for each class, or of two by the one number it has.

    With one number the second class is that of numbers above 0.
    """
    single = scores.ndim == 1 or scores.shape[-1] == 1
    place = scores.reshape(len(scores)) > 0 if single else scores.argmax(axis=-1)
    return np.asarray(classes[place.astype(int)])


ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
"""How much rows of each class count; "balanced": as if all classes had equally many."""


def class_weighted(users: Users, asked: ClassWeight, *, may_count: bool) -> Users:
    """Users whose rows count by their classes, too.

    Raises:
        UsageError: it has no weight for a class, or counts would have to be hidden.
    """
    if asked is None:
        return users
    labels, own = users.table.labels, users.table.weights
    found, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if isinstance(asked, str):
        if asked != "balanced":
            raise UsageError('a dict of classes and their weights, or "balanced"', "class_weight")
        if not may_count:
            # Nobody charges for the counts of all labels, which such weights give away.
            message = (
                "counts of classes stay private here: give a dict of public weights, such as those "
                "that follow from a noisy `contingency_table`"
            )
            raise UsageError(message, "class_weight")
        each = len(labels) / (len(found) * counts)
    else:
        missing = [label for label in found.tolist() if label not in asked]
        if missing:
            raise UsageError(f"there is none for {missing[0]!r}", "class_weight")
        each = np.array([float(asked[label]) for label in found.tolist()])
    weights = each[places] * (1.0 if own is None else own)
    return replace(users, table=replace(users.table, weights=weights))


def _check(table: Table, users: int) -> None:
    if not isinstance(table, Table):
        raise UsageError("a Table, such as Table(X, y)", "table")
    if whole(users, "users") > len(table):
        message = f"there are {len(table)} rows, and everybody has one: ask for fewer"
        raise UsageError(message, "users")


def _column(values: npt.ArrayLike, many: int, field: str) -> npt.NDArray[Any]:
    """One number or text for each row, as an array that is indexed by places."""
    found = np.asarray(values)
    if found.dtype.kind == "O" and len({type(each) for each in found.flat}) == 1:
        found = np.array(found.tolist())
    if found.shape != (many,):
        raise UsageError(f"one for each of the {many} rows", field)
    if many and found.dtype.kind not in "biufU":
        raise UsageError("numbers, or text, in all rows", field)
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise UsageError("not a finite number", field)
    return found


def _rows_of(rows: npt.ArrayLike, many: int, field: str) -> Rows:
    found = np.asarray(rows)
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
        raise UsageError("numbers of rows", field)
    if len(found) and not (found.min() >= 0 and found.max() < many):
        raise UsageError(f"numbers below {many}", field)
    whole = found.astype(np.int64)
    whole.flags.writeable = False
    return whole


_GAMMA = 0.1
_FLIPPED = 0.05
_SPREAD = 0.1
_NOISE = 0.1


def linear_models(
    users: int = 100, columns: int = 100, *, seed: int, rows: tuple[int, int] = (10, 100)
) -> Users:
    """Every user has a linear separator of its own, in a plane that all of them share.

    Points are drawn uniformly from [-1, 1] in each column and labelled 1 or -1, and a twentieth of
    the labels is flipped. `truth` has the `targets`, and the `weights` of the graph between
    users, exp((cos(angle between the targets) - 1) / 0.1), 0 on the diagonal.
    """
    _check_size(users, columns, 2)
    rng = generator(seed, "linear models")
    targets = np.zeros((users, columns))
    targets[:, :2] = rng.standard_normal((users, 2))
    parts = []
    for target, many in zip(targets, _counts(users, rows, rng), strict=True):
        points = rng.uniform(-1, 1, (many, columns))
        parts.append((points, _flipped(np.where(points @ target < 0, -1, 1), rng)))
    directions = targets / np.linalg.norm(targets, axis=1, keepdims=True)
    weights = np.exp((directions @ directions.T - 1) / _GAMMA)
    np.fill_diagonal(weights, 0.0)
    source = f"made up: linear models of {users} users, seed {seed}"
    return stacked(parts, source, targets=targets, weights=weights)


def moons(
    clusters: Sequence[int] = (10, 20, 30, 40),
    columns: int = 20,
    *,
    seed: int,
    rows: tuple[int, int] = (3, 15),
) -> Users:
    """Two interleaved half circles, turned by an angle that users of a cluster nearly share.

    The centres of the clusters are spread evenly over a whole turn, and angles have a
    deviation of 0.1 around them; columns from the third on are noise. `truth` has `angles`,
    `clusters`, and the `weights` exp((cos(difference of angles) - 1) / 0.1) of the oracle's graph.
    """
    users = sum(clusters)
    _check_size(users, columns, 2)
    rng = generator(seed, "moons")
    cluster = np.repeat(np.arange(len(clusters)), clusters)
    turn = 2 * np.pi / len(clusters)
    angles = cluster * turn + rng.normal(0, _SPREAD, users)
    parts = []
    for angle, many in zip(angles, _counts(users, rows, rng), strict=True):
        labels = rng.choice([-1, 1], many)
        points = rng.normal(0, _NOISE, (many, columns))
        points[:, :2] += _on_moons(labels, rng.uniform(0, np.pi, many)) @ _turned(angle)
        parts.append((points, labels))
    weights = np.exp((np.cos(angles[:, None] - angles) - 1) / _GAMMA)
    np.fill_diagonal(weights, 0.0)
    source = f"made up: moons of {users} users in {len(clusters)} clusters, seed {seed}"
    return stacked(parts, source, angles=angles, clusters=cluster, weights=weights)


def ratings(users: int = 10_000, *, seed: int, agreement: float = 0.5) -> Users:
    """Every user rates two things from 0 to 5; the first is the feature, the second the label.

    With probability `agreement` both ratings are the same, else independent; high ones are more
    frequent. `truth` has the `law`, a table of 6 x 6 chances, and Kendall's `tau` in it.
    """
    _check_size(users, 1, 1)
    if not 0 <= agreement <= 1:
        raise UsageError("a probability", "agreement")
    single = np.array([1, 1, 2, 4, 8, 8]) / 24
    law = agreement * np.diag(single) + (1 - agreement) * np.outer(single, single)
    drawn = generator(seed, "ratings").choice(36, users, p=law.ravel())
    signs = np.sign(np.arange(6)[:, None] - np.arange(6))
    tau = float(np.einsum("ab,cd,ac,bd->", law, law, signs, signs))
    parts = [(np.array([[float(each // 6)]]), np.array([each % 6])) for each in drawn]
    return stacked(parts, f"made up: ratings of {users} users, seed {seed}", law=law, tau=tau)


def quadratics(users: int = 4) -> Users:
    """User i has the function (x - i)^2, for i from 1: its only row is i, and its label 0.

    Gade and Vaidya put four of them on a cycle. `truth` has the `minimum` of the sum.
    """
    _check_size(users, 1, 1)
    parts = [(np.array([[float(each)]]), np.array([0])) for each in range(1, users + 1)]
    return stacked(parts, f"made up: {users} quadratic functions", minimum=(users + 1) / 2)


def _on_moons(labels: np.ndarray, along: Floats) -> Floats:
    """The outer half circle for 1, the inner one for -1, around their common middle."""
    outer = np.stack([np.cos(along) - 0.5, np.sin(along) - 0.25], axis=1)
    return np.where(labels[:, None] == 1, outer, -outer)


def _turned(angle: float) -> Floats:
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def _flipped(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(labels)) < _FLIPPED, -labels, labels)


def _counts(users: int, rows: tuple[int, int], rng: np.random.Generator) -> list[int]:
    least, most = rows
    if not 0 <= least <= most:
        raise UsageError("the fewest and the most rows of a user", "rows")
    found: list[int] = rng.integers(least, most, users, endpoint=True).tolist()
    return found


def _check_size(users: int, columns: int, fewest: int) -> None:
    whole(users, "users")
    whole(columns, "columns", fewest)
