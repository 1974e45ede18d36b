"""Enters the algorithms of tokens into the table of what users get wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from gopa import UsageError
from gopa.graph import complete, ring
from gopa.learning import Privacy, Users, iid, ratings
from gopa.learning.data import Table
from gopa.learning.network_dp import fit_gossip, fit_groups, fit_histogram, fit_sgd, fit_sum
from tests.learning.user_errors import (
    Answer,
    DoesNotArise,
    Mistake,
    Refused,
    Registered,
    Works,
    register,
)

NEAR = Privacy(4.0, 1e-3, view="neighbour")
NO_LABELS = DoesNotArise("labels are not looked at")
NO_MODEL = DoesNotArise("nothing is predicted")

SHARED: dict[Mistake, Answer] = {
    Mistake.NOT_CONNECTED: Refused(UsageError, "graph"),
    Mistake.OTHER_GRAPH: Refused(UsageError, "graph"),
    Mistake.UNEQUAL_WIDTHS: Refused(UsageError, "parts"),
    Mistake.NAN: Refused(UsageError, "features[0, 0]"),
    Mistake.INFINITE: Refused(UsageError, "features[0, 0]"),
    Mistake.NO_EPSILON: Refused(UsageError, "epsilon"),
    Mistake.ONE_USER: Refused(UsageError, "problem"),
    Mistake.NO_ROWS: Refused(UsageError, "problem"),
    Mistake.ONE_CLASS: NO_LABELS,
    Mistake.UNSEEN: NO_MODEL,
    Mistake.CONSTANT: Works("a mean with noise", lambda found: np.isfinite(found.model).all()),
    Mistake.SEED: Refused(UsageError, "seed"),
    Mistake.INTERRUPTED: Refused(KeyboardInterrupt),
}


def _rated(**more: Any) -> dict[str, Any]:
    return {"problem": ratings(6, seed=1), "privacy": NEAR, "graph": ring(6), "seed": 1, **more}


def _points() -> Users:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((24, 2))
    labels = np.where(features[:, 0] > 0, 1, -1)
    return iid(Table(features, labels, "made up"), 6, 1)


register(Registered("sum by a token", fit_sum, lambda: _rated(high=5.0), SHARED))
register(
    Registered(
        "histogram by a token",
        fit_histogram,
        lambda: _rated(values=6),
        {
            **SHARED,
            Mistake.ONE_CLASS: Works(
                "all of them in one place", lambda found: abs(found.model.sum() - 1) < 1e-9
            ),
            Mistake.UNEQUAL_WIDTHS: Refused(UsageError, "parts"),
        },
    )
)
register(
    Registered(
        "descent by a token",
        fit_sgd,
        lambda: {
            "problem": _points(),
            "privacy": NEAR,
            "graph": complete(6),
            "seed": 1,
            "steps": 40,
        },
        {
            **SHARED,
            Mistake.ONE_CLASS: Works(
                "a model of noise", lambda found: np.isfinite(found.model).all()
            ),
            Mistake.UNSEEN: DoesNotArise("a linear model has a sign for everything"),
            Mistake.CONSTANT: Works("nothing is learned", lambda found: len(found.model) == 2),
        },
    )
)
register(
    Registered(
        "gossip of noisy numbers",
        fit_gossip,
        lambda: _rated(high=5.0),
        {**SHARED, Mistake.ONE_USER: Refused(UsageError, "graph")},
    )
)
register(
    Registered(
        "sessions of groups",
        fit_groups,
        lambda: _rated(graph=None, privacy=Privacy(40.0, 1e-5), size=3, high=5.0),
        {
            **SHARED,
            Mistake.NOT_CONNECTED: Refused(UsageError, "privacy"),
            Mistake.OTHER_GRAPH: Refused(UsageError, "privacy"),
            Mistake.ONE_USER: Refused(UsageError, "size"),
        },
    )
)
