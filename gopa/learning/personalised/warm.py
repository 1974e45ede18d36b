"""Models to begin with: spread from what users learned alone, with or without privacy.

Specification: `specs/20-personalised.md`, section 5.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gopa import UsageError
from gopa.learning.clipping import Norm
from gopa.learning.objectives import Linear, Quadratic
from gopa.learning.personalised.objective import Collaboration, Places
from gopa.learning.personalised.release import Accounts, Mechanism, Noise, NoiseStream
from gopa.learning.privacy import Privacy
from gopa.support.arrays import Floats

_CLOSE: Final = 1e-7
"""How far a model may be from the best one, by what one row moves that."""


_FAR: Final = 2.0
"""Above the root of 3, for roundings."""


def propagated(problem: Collaboration, centres: Floats) -> Collaboration:
    """The objective of model propagation, (15): models near those that users learned alone."""
    return Collaboration(
        Quadratic(centres, scale=0.5),
        pull=problem.pull,
        weight=problem.weight,
        regulariser=problem.regulariser,
        confidences=problem.confidences,
    )


def private_alone(
    problem: Collaboration, accounts: Accounts, *, seed: int, share: Privacy, noise: Noise
) -> Floats:
    """What users learn alone, told to everybody behind noise worth `share` of their accounts.

    A ridge r makes the best model move by 2 L / (m r) at most where one of m rows is replaced and
    gradients of rows are no longer than L. Users without rows tell zeros.

    Raises:
        UsageError: a user with rows has no ridge.
    """
    local, mechanism = problem.private, Mechanism.of(noise)
    present: Places = np.flatnonzero(local.rows.counts)
    trial = Accounts(share, 1)
    mechanism.charge_tables(trial, 0, local.dimension)
    reach = mechanism.most(trial, 1)
    unit = _units(_moved(local, present, accounts), local.dimension, mechanism.norm, reach)
    names = ("personalised", "alone", accounts.next_run())
    stream = NoiseStream(mechanism.law, local.dimension, seed, *names)
    drawn = stream.at(np.zeros(len(present), dtype=np.int64), present)
    for user in present.tolist():
        mechanism.charge_tables(accounts, user, local.dimension)
        accounts.charge(user, mechanism.charge(reach), 1, "a model learned alone")
    told = np.zeros((problem.users, problem.dimension))
    told[present] = (np.rint(_learned(local, present) / unit) + drawn) * unit
    return told


def _moved(local: Linear, present: Places, accounts: Accounts) -> Floats:
    """How far replacing what is hidden moves what these users find, in Euclidean length."""
    ridge, steep = local.strong_curvature()[present], local.row_gradient_bound(2)
    if not (ridge > 0).all():
        raise UsageError("models learned alone stay near each other by a ridge only", "ridge")
    if not (steep < math.inf and np.isfinite(local.smoothness()).all()):
        raise UsageError("gradients of rows have no bound, or jump: logistic loss", "problem")
    rows = local.rows.counts[present]
    many = rows if accounts.privacy.unit == "user" else np.ones_like(rows)
    return np.asarray(2 * steep * many / (rows * ridge) * (1 + _CLOSE))


def _learned(local: Linear, present: Places) -> Floats:
    """What these users learn alone, by Nesterov's descent, closer than `_CLOSE` to the best.

    What is declared says how many steps that takes. No step depends on rows of others, and none
    fails: what a user tells of its rows is the model, and nothing else tells of them.
    """
    bend = local.smoothness()[present, None]
    root = np.sqrt(local.strong_curvature()[present, None] / bend)
    momentum = (1 - root) / (1 + root)
    wanted = math.log(_FAR * float(local.rows.counts.max()) / _CLOSE)
    found = ahead = np.zeros((len(present), local.dimension))
    for _ in range(math.ceil(2 * wanted / -math.log1p(-min(root.min(initial=1.0), 0.999)))):
        last, found = found, ahead - local.gradient(ahead, present) / bend
        ahead = found + momentum * (found - last)
    return found


def _units(moved: Floats, width: int, norm: Norm, reach: int) -> Floats:
    """The grid of each user on which what moves so far moves 2 `reach` steps, in this norm."""
    widening, rounding = (math.sqrt(width), width) if norm == 1 else (1.0, math.sqrt(width))
    # Rounding moves what differs by one more step in each number.
    steps = 2 * reach - math.ceil(rounding)
    if not steps > 0:
        raise UsageError("too little for models of so many numbers", "epsilon")
    return np.asarray(moved * widening / steps)[:, None]
