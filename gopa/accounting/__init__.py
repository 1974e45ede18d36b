"""What mechanisms tell of one row: alone, composed, and on samples.

`loss` is the exact account (distributions of privacy loss), `rdp` the looser one in closed form,
`gaussian` calibrates noise. Read `loss` first. Every number is an upper bound.

    >>> from gopa.accounting import Loss, gaussian_sigma
    >>> step = Loss.gaussian(sigma=1.1, sensitivity=1.0).subsampled(0.01)
    >>> round(step.repeated(1000).epsilon(1e-5), 2)
    1.52
    >>> round(gaussian_sigma(epsilon=1.0, delta=1e-5), 2)
    3.73

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
