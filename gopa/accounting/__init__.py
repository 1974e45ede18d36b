"""Accounts for privacy: what mechanisms tell of one row, alone, composed and on samples.

Specification: `specs/16-accounting.md`.
"""

from gopa.accounting.checks import Relation
from gopa.accounting.composition import composed_epsilon, optimal_delta, optimal_epsilon
from gopa.accounting.gaussian import gaussian_sigma
from gopa.accounting.loss import Loss
from gopa.accounting.rdp import Rdp

__all__ = [
    "Loss",
    "Rdp",
    "Relation",
    "composed_epsilon",
    "gaussian_sigma",
    "optimal_delta",
    "optimal_epsilon",
]
