"""One public model and each node's own, trained by visiting every row once.

Nodes mix their own model into the public one behind normal noise, by a policy that says when. Read
`descent`, `policies`, `noise` (how much, and why), then `models`; `deep_q` is a policy that learns.

    >>> from gopa.learning.without_replacement import fit_without_replacement
    >>> from gopa.learning import Privacy, Table, generator, iid
    >>> from gopa.learning.clocks import constant
    >>> rows = generator(1, "rows").normal(size=(400, 2))
    >>> problem = iid(Table(rows, (rows[:, 0] > 0).astype(int), "made up"), users=4, seed=1)
    >>> asked = Privacy(1.0, 1e-6, unit="record")
    >>> found = fit_without_replacement(problem, privacy=asked, seed=1, batch=20,
    ...                                 steps=constant(1.0))
    >>> found.spent.within(asked)
    True

Specification: `specs/19-without-replacement.md`; how to use it:
`docs/learning/without-replacement.md`.
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
