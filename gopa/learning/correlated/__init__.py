"""Descent on a network that minimises a sum of private functions, behind noise that cancels.

Agents average what they hear, each follows the gradient of its own function, and what they send
carries noise that sums to zero. Read `descent`, `disguises` (the noise), `disclosure` (what a
neighbour learns), then `optimum`.

    >>> from gopa.learning.correlated import descend
    >>> from itertools import islice
    >>> from gopa.graph import ring
    >>> from gopa.learning.objectives import Quadratic
    >>> points = Quadratic([[1.0], [2.0], [3.0], [4.0]])  # agent i wants the model near point i
    >>> walk = descend(points, ring(4), method="rss", radius=10.0, seed=1)
    >>> last = list(islice(walk, 200))[-1]
    >>> bool(abs(last.models - 2.5).max() < 0.2)
    True

Specification: `specs/18-correlated-noise.md`; how to use it: `docs/learning/correlated.md`.
"""

from gopa.learning.correlated.descent import descend, fit_correlated
from gopa.learning.correlated.disclosure import Disclosure, disclosure
from gopa.learning.correlated.disguises import METHODS, Method
from gopa.learning.correlated.optimum import (
    DescentBound,
    descent_bound,
    disguised_bound,
    gradient_heterogeneity,
    optimum,
    spread_bound,
)

__all__ = [
    "METHODS",
    "DescentBound",
    "Disclosure",
    "Method",
    "descend",
    "descent_bound",
    "disclosure",
    "disguised_bound",
    "fit_correlated",
    "gradient_heterogeneity",
    "optimum",
    "spread_bound",
]
