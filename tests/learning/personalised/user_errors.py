"""Enters personalised models into the table of what users get wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from gopa import UsageError
from gopa.graph import ring
from gopa.learning import Outcome, Privacy, Users, linear_models
from gopa.learning.personalised import GraphSteps, Personalised
from tests.learning.user_errors import (
    Answer,
    DoesNotArise,
    Mistake,
    Refused,
    Registered,
    Works,
    register,
)


def fitted(problem: Users, **how: Any) -> Outcome:
    return Personalised(**how).fit(problem).outcome_


ANSWERS: dict[Mistake, Answer] = {
    Mistake.NOT_CONNECTED: Works("each piece learns by itself", lambda found: found.spent.hides),
    Mistake.OTHER_GRAPH: Refused(UsageError, "graph"),
    Mistake.UNEQUAL_WIDTHS: Refused(UsageError, "parts"),
    Mistake.NAN: Refused(UsageError, "features[0, 0]"),
    Mistake.INFINITE: Refused(UsageError, "features[0, 0]"),
    Mistake.NO_EPSILON: Refused(UsageError, "epsilon"),
    Mistake.ONE_USER: Refused(UsageError, "graph"),
    Mistake.NO_ROWS: Works("it gets its neighbours' model", lambda found: found.spent.hides),
    Mistake.ONE_CLASS: Refused(UsageError, "labels"),
    Mistake.UNSEEN: DoesNotArise("rows have no labels; `add_user` refuses such a label"),
    Mistake.CONSTANT: Works(
        "models are found", lambda found: np.isfinite(found.model["models"]).all()
    ),
    Mistake.SEED: Refused(UsageError, "seed"),
    Mistake.INTERRUPTED: Refused(KeyboardInterrupt),
}

register(
    Registered(
        "personal models",
        fitted,
        lambda: {
            "problem": linear_models(6, 3, seed=1),
            "privacy": Privacy(4.0, 1e-5, unit="record"),
            "graph": ring(6),
            "seed": 1,
            "steps": 30,
        },
        ANSWERS,
        {
            Mistake.INTERRUPTED: lambda call: fitted(**{
                **call, "privacy": None, "graph": "learn", "every": 10, "progress": _stop,
                "learning": GraphSteps(first=10, then=5),
            }),
        },
    )
)  # fmt: skip


def _stop(_what: str, done: int, _total: int) -> None:
    if done:
        raise KeyboardInterrupt
