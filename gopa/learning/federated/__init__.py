"""Learns from data that stays with its owners: all that they tell are verified sums.

`docs/learning/federated.md` shows how. Estimators for scikit-learn are in
`gopa.learning.federated.estimators`, which needs the extra `learning`.
"""

from gopa.learning.federated.rounds import (
    AdaptiveClip,
    FixedClip,
    RoundMean,
    RoundShape,
    mean_round,
)
from gopa.learning.federated.sums import Setting, SumSession

__all__ = [
    "AdaptiveClip",
    "FixedClip",
    "RoundMean",
    "RoundShape",
    "Setting",
    "SumSession",
    "mean_round",
]
