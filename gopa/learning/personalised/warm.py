"""Gives models to begin with: spread from what users learned alone, with or without privacy.

Specification: `specs/20-personalised.md`, section 5.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gopa import UsageError
from gopa.learning.clipping import Norm
from gopa.learning.objectives import Linear, Quadratic
from gopa.learning.personalised.accounts import Accounts
from gopa.learning.personalised.links import Floats, Places
from gopa.learning.personalised.objective import Collaboration
from gopa.learning.personalised.release import Mechanism, Noise, NoiseStream
from gopa.learning.privacy import Privacy

_CLOSE: Final = 1e-10


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
    local = problem.local
    if not isinstance(local, Linear):
        raise UsageError("only a mean over rows is made private: Linear", "problem")
    mechanism, counts = Mechanism.of(noise), local.rows.counts
    moved = _moved(local, accounts)
    found = problem.alone(_CLOSE)
    # How far a model may be from the best one, for it is found up to a gradient this long.
    slack = 2 * 100 * _CLOSE * math.sqrt(local.dimension)
    moved = moved + slack / local.strong_curvature()
    widening = math.sqrt(local.dimension) if noise == "laplace" else 1.0
    trial = Accounts(share, 1)
    mechanism.charge_tables(trial, 0, local.dimension)
    reach = mechanism.most(trial, 1)
    rounding = _rounding(mechanism.norm, local.dimension)
    steps = 2 * reach - rounding
    if not steps > 0:
        raise UsageError("too little for models of so many numbers", "epsilon")
    unit = (moved * widening / steps)[:, None]
    present: Places = np.flatnonzero(counts)
    names = ("personalised", "alone", accounts.next_run())
    stream = NoiseStream(mechanism.law, local.dimension, seed, *names)
    drawn = stream.at(np.zeros(len(present), dtype=np.int64), present)
    for user in present.tolist():
        mechanism.charge_tables(accounts, user, local.dimension)
        accounts.charge(user, mechanism.charge(reach), 1, "a model learned alone")
    told = np.zeros_like(found)
    told[present] = (np.rint(found[present] / unit[present]) + drawn) * unit[present]
    return told


def _moved(local: Linear, accounts: Accounts) -> Floats:
    """How far replacing what is hidden moves each user's best model, in Euclidean length."""
    ridge = local.strong_curvature()
    if not (ridge[local.rows.counts > 0] > 0).all():
        raise UsageError("models learned alone stay near each other by a ridge only", "ridge")
    rows = np.maximum(local.rows.counts, 1)
    many = rows if accounts.privacy.unit == "user" else np.ones_like(rows)
    steep = local.row_gradient_bound(2)
    return np.asarray(2 * steep * many / (rows * np.where(ridge > 0, ridge, 1.0)))


def _rounding(norm: Norm, width: int) -> int:
    """Rounding moves what differs by one more step in each number."""
    return math.ceil(math.sqrt(width)) if norm == 2 else width
