"""Holds what learning algorithms share; these are clients of the library and use public names only.

An algorithm is a function `fit(problem, *, privacy, graph, clock, seed, progress)` that returns an
`Outcome`. `docs/learning/README.md` shows how the parts fit together.
"""

from gopa.learning.charges import Charge
from gopa.learning.checks import whole
from gopa.learning.data import Table, Users, dirichlet, iid, natural, stacked
from gopa.learning.datasets import DataNotFound, from_csv, from_sklearn, load
from gopa.learning.encoding import encoded
from gopa.learning.fitting import Fit, Progress, generator, require_neither, require_seed, told
from gopa.learning.history import History, Recorder
from gopa.learning.ledger import BudgetExceeded, LedgerEntry, PrivacyLedger
from gopa.learning.outcome import AuditedRounds, Outcome
from gopa.learning.privacy import Privacy, Spent, worst
from gopa.learning.synthetic import linear_models, moons, quadratics, ratings

__all__ = [
    "AuditedRounds",
    "BudgetExceeded",
    "Charge",
    "DataNotFound",
    "Fit",
    "History",
    "LedgerEntry",
    "Outcome",
    "Privacy",
    "PrivacyLedger",
    "Progress",
    "Recorder",
    "Spent",
    "Table",
    "Users",
    "dirichlet",
    "encoded",
    "from_csv",
    "from_sklearn",
    "generator",
    "iid",
    "linear_models",
    "load",
    "moons",
    "natural",
    "quadratics",
    "ratings",
    "require_neither",
    "require_seed",
    "stacked",
    "told",
    "whole",
    "worst",
]
