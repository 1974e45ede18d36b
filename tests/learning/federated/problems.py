"""Problems and sessions that tests of federated learning share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np

from gopa.learning import Privacy, Table, Users, iid

NEAR: Final[dict[str, Any]] = {"corrupt": 1, "dropout": 0.0}
"""Nobody fails and no two collude: the smallest plans."""

OFF: Final[dict[str, Any]] = {"mode": "off", "session": NEAR}
USER: Final = Privacy(8.0, 1e-5)
RECORD: Final = Privacy(8.0, 1e-5, unit="record")


def two_sides(users: int = 8, rows: int = 60, seed: int = 0) -> Users:
    """Two columns, and on which side of a line a row lies."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (rows, 2))
    labels = np.where(features @ [2.0, -1.0] + 0.2 > 0, 1, -1)
    return iid(Table(features, labels, "two sides"), users, seed)


def uneven() -> Users:
    """Users with 0, 1, 2, .. rows."""
    whole = two_sides(1, 10)
    ends = np.cumsum([0, 0, 1, 2, 3, 4])
    rows = tuple(np.arange(first, last) for first, last in pairwise(ends))
    return Users(whole.table, rows)
