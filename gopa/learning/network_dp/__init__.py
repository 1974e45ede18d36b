"""Trains and counts by tokens that walk from user to user: privacy against other users.

A user sees only the tokens that it holds itself, so the noise of everybody in between hides what
one user added. Specification: `specs/13-network-dp.md`. How to use it:
`docs/learning/network_dp.md`.
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
