"""Decides before a run how much each user tells in each of its updates, and charges it.

Specification: `specs/20-personalised.md`, section 4.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from gopa import UsageError
from gopa.learning.personalised.accounts import Accounts
from gopa.learning.personalised.links import Floats, Places
from gopa.learning.personalised.release import GridSums, Integers

Allocation: TypeAlias = Literal["equal", "expected", "schedule"]
"""The same in all updates; more in later ones, by when they are expected, or known to be."""


def plan(  # noqa: PLR0913 - a plan has many parts
    accounts: Accounts,
    rows: GridSums,
    actors: Places,
    *,
    releases: int,
    allocation: Allocation,
    kept: float,
    width: int,
) -> Integers:
    """The reach of each update: (runs, users, releases), 0 where a user has stopped.

    Charges every user for the updates of the run in which it has most. `kept` is what a step
    leaves of the distance to the optimum: noise of step t is forgotten by kept^(T - 1 - t), so
    later steps deserve more of the budget.
    """
    if allocation not in get_args(Allocation):
        raise UsageError(f"one of {', '.join(get_args(Allocation))}", "allocation")
    runs, steps = actors.shape
    users, norm = len(rows.counts), rows.mechanism.norm
    when = np.full((runs, users, releases), -1, dtype=np.int64)
    taken = np.zeros((runs, users), dtype=np.int64)
    everyone = np.arange(runs)
    for step in range(steps):
        who = actors[:, step]
        number = taken[everyone, who]
        some = number < releases
        when[everyone[some], who[some], number[some]] = step
        taken[everyone, who] += 1
    taken = np.minimum(taken, releases)
    for user in np.flatnonzero(taken.any(axis=0)).tolist():
        # As many for all: users with equal accounts share one.
        rows.mechanism.charge_tables(accounts, user, releases * width)
    found = np.zeros_like(when)
    if allocation == "equal":
        most = rows.mechanism.most(accounts, releases)
        for user in range(users):
            reach, many = rows.reach_of(most, user), int(taken[:, user].max())
            found[:, user] = np.where(when[:, user] >= 0, reach, 0)
            if many:
                moved = int(rows.moved(np.array([reach]), user)[0])
                accounts.charge(user, rows.mechanism.charge(moved), many, f"{many} updates")
        return found
    most = rows.mechanism.most(accounts, 1)
    expected = np.broadcast_to((np.arange(releases) + 0.5) * steps / releases, when.shape)
    times = when if allocation == "schedule" else expected
    shape = np.exp(math.log(kept) * (steps - 1 - times) / (4 if norm == 2 else 3))
    used = np.where(when >= 0, shape, 0.0)
    total = _length(used if allocation == "schedule" else shape, norm)[..., None]
    for user in range(users):
        share = used[:, user] / np.maximum(total[:, user], 1e-300)
        found[:, user] = np.floor(rows.reach_of(most, user) * share)
        if not (found[:, user] > 0)[when[:, user] >= 0].all():
            raise UsageError("some updates would tell nothing: fewer releases", "allocation")
        worst = found[_length(found[:, user], norm).argmax(), user]
        if worst.any():
            charge = rows.mechanism.together(rows.moved(worst, user))
            accounts.charge(user, charge, 1, f"{(worst > 0).sum()} updates")
    return found


def _length(reaches: Floats | Integers, norm: float) -> Floats:
    squares = np.asarray(reaches, dtype=np.float64) ** norm
    return np.asarray(squares.sum(axis=-1) ** (1 / norm))
