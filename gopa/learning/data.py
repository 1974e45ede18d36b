"""Tables of data whose rows are divided among users, and problems that are made up from a seed.

The problems are those of Bellet's thesis and of Gade and Vaidya; what these leave open is said
beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.learning.checks import generator, whole
from gopa.learning.clipping import finite, numbers
from gopa.support.arrays import Floats

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """Holds rows of features with a label each; `source` says where they come from.

    `groups` says whom a row belongs to by nature, where it belongs to somebody. Labels and groups
    are numbers or text. NaN and infinities are refused; a column that is constant is data like
    any other.
    """

    features: Floats
    labels: npt.NDArray[Any]
    source: str
    groups: npt.NDArray[Any] | None = None
    names: tuple[str, ...] = ()

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

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows, {self.features.shape[1]} features, {self.source}>"

    def take(self, rows: npt.ArrayLike) -> Table:
        """These rows alone, by their numbers or by a truth value for each row."""
        chosen = np.asarray(rows)
        if chosen.dtype.kind == "b" and chosen.shape == (len(self),):
            chosen = np.flatnonzero(chosen)
        chosen = _rows_of(chosen, len(self), "rows")
        groups = None if self.groups is None else self.groups[chosen]
        return replace(
            self, features=self.features[chosen], labels=self.labels[chosen], groups=groups
        )

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
    """Holds a table and which of its rows each user has. A user may have none.

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


def _check(table: Table, users: int) -> None:
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
