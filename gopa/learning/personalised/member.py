"""Takes the steps of one user of a run whose users are apart, by the rows of that user alone.

Specification: `specs/20-personalised.md`, section 2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gopa import UsageError
from gopa.graph import Graph
from gopa.learning.checks import whole
from gopa.learning.clipping import finite
from gopa.learning.personalised.descent import ModelDescent, started
from gopa.learning.personalised.links import Floats
from gopa.learning.personalised.objective import Collaboration
from gopa.learning.personalised.turns import Turns


class Member:
    """Is one user of coordinate descent; what it does is what `fit_descent` does, bit for bit.

    `problem` has as many rows as each user has, which is public, and of others' nothing else: zeros
    in their place. `start` is everybody's.
    """

    def __init__(
        self, problem: Collaboration, graph: Graph, user: int, *, start: npt.ArrayLike = 0.0
    ) -> None:
        models = started(problem, start, 1)
        self._descent = ModelDescent(problem, problem.links(graph), models)
        self.user = whole(user, "user", 0, problem.users - 1)
        self.neighbours = tuple(graph.neighbours(self.user))

    @property
    def model(self) -> Floats:
        """The model of this user."""
        return np.array(self._descent.models[0, self.user])

    def hear(self, other: int, model: npt.ArrayLike) -> None:
        """Takes the model that a neighbour has told.

        Raises:
            UsageError: it is told by somebody else, or is no model.
        """
        found = finite(model, "model")
        if other not in self.neighbours or found.shape != self.model.shape:
            raise UsageError(f"{len(self.model)} numbers, from a neighbour", "model")
        self._descent.models[0, other] = found

    def step(self) -> Floats:
        """Takes a step, and gives the model to tell all neighbours."""
        now = np.zeros(1, dtype=np.int64)
        self._descent(Turns(now, now + self.user, now))
        return self.model
