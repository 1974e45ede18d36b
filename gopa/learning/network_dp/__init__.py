"""Tokens that walk from user to user and train or count: privacy against other users.

A user sees only the tokens that it holds itself, so the noise of everybody in between hides what
one user added. Read `walks`, `laws` (what a walk costs), then `counting`, `descent` and `gossip`.

    >>> from gopa.learning.network_dp import fit_sum
    >>> from gopa.graph import ring
    >>> from gopa.learning import Privacy, ratings
    >>> near = Privacy(1.0, 1e-5, view="neighbour")
    >>> found = fit_sum(ratings(200, seed=1), privacy=near, graph=ring(200), high=5, seed=4)
    >>> found.spent.within(near)
    True

Specification: `specs/13-network-dp.md`; how to use it: `docs/learning/network_dp.md`.
"""

from gopa.learning.network_dp.counting import fit_histogram, fit_sum
from gopa.learning.network_dp.descent import fit_sgd
from gopa.learning.network_dp.gossip import fit_gossip, fit_groups, gossip_shifts
from gopa.learning.network_dp.laws import (
    WalkLaw,
    any_path_epsilon,
    central_sigma,
    graph_law,
    local_sigma,
    ring_epsilon,
    sgd_law,
    sum_law,
)
from gopa.learning.network_dp.responses import ring_histogram, walk_histogram
from gopa.learning.network_dp.walks import GraphWalk, Visits, Walk, carry

__all__ = [
    "GraphWalk",
    "Visits",
    "Walk",
    "WalkLaw",
    "any_path_epsilon",
    "carry",
    "central_sigma",
    "fit_gossip",
    "fit_groups",
    "fit_histogram",
    "fit_sgd",
    "fit_sum",
    "gossip_shifts",
    "graph_law",
    "local_sigma",
    "ring_epsilon",
    "ring_histogram",
    "sgd_law",
    "sum_law",
    "walk_histogram",
]
