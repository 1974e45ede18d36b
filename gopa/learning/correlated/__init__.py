"""Minimises the sum of private functions by descent on a network, behind noise that cancels.

Agents average what they hear, each follows the gradient of its own function, and what they send
carries noise that sums to zero. Specification: `specs/18-correlated-noise.md`.
"""

from gopa.learning.correlated.descent import descend, fit_correlated
from gopa.learning.correlated.disclosure import Disclosure, disclosure
from gopa.learning.correlated.disguises import METHODS, Method
from gopa.learning.correlated.optimum import optimum, spread_bound

__all__ = [
    "METHODS",
    "Disclosure",
    "Method",
    "descend",
    "disclosure",
    "fit_correlated",
    "optimum",
    "spread_bound",
]
