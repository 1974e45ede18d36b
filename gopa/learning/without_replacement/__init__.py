"""Trains one public model and each node's own, visiting every row once.

Nodes mix their own model into the public one behind normal noise, by a policy that says when.
Specification: `specs/19-without-replacement.md`.
"""

from gopa.learning.without_replacement.deep_q import DeepQ
from gopa.learning.without_replacement.descent import fit_with_replacement, fit_without_replacement
from gopa.learning.without_replacement.models import OneVsAll, Trained
from gopa.learning.without_replacement.noise import Calibration, gap_bound, noise_for
from gopa.learning.without_replacement.policies import ALWAYS, NEVER, Coin, Policy

__all__ = [
    "ALWAYS",
    "NEVER",
    "Calibration",
    "Coin",
    "DeepQ",
    "OneVsAll",
    "Policy",
    "Trained",
    "fit_with_replacement",
    "fit_without_replacement",
    "gap_bound",
    "noise_for",
]
