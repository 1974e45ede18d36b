"""What learning algorithms share; these are clients of the library and use public names only.

An algorithm is a function `fit(problem, *, privacy, graph, clock, seed, progress)` that returns an
`Outcome`. Read `privacy` (what is asked), `ledger` (what is spent), `data`, `outcome`, `calls` (the
way in), then `clocks` and `objectives`; the algorithms are in packages of their own below.

    >>> from gopa.learning import Charge, Privacy, PrivacyLedger
    >>> ledger = PrivacyLedger(Privacy(1.0, 1e-5))
    >>> entry = ledger.charge(Charge.gaussian(8.0, 1.0), note="a sum")  # before anything is sent
    >>> ledger.room(Charge.gaussian(8.0, 1.0)) > 0
    True
    >>> ledger.charge(Charge.exact(), note="a number without noise")
    Traceback (most recent call last):
    gopa.learning.ledger.BudgetExceeded: ...

`docs/learning/README.md` shows how the parts fit together; CONTRIBUTING has a checklist for
an algorithm.
"""

from gopa.learning.checks import encoded, generator, require_seed, whole
from gopa.learning.data import (
    Table,
    Users,
    dirichlet,
    iid,
    linear_models,
    moons,
    natural,
    quadratics,
    ratings,
    stacked,
    users_of,
)
from gopa.learning.datasets import DataNotFound, from_csv, from_sklearn, load
from gopa.learning.history import History, Recorder
from gopa.learning.ledger import BudgetExceeded, LedgerEntry, PrivacyLedger
from gopa.learning.outcome import AuditedRounds, Outcome, Progress, require_neither, told
from gopa.learning.privacy import Charge, Privacy, Spent, worst

__all__ = [
    "AuditedRounds",
    "BudgetExceeded",
    "Charge",
    "DataNotFound",
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
    "users_of",
    "whole",
    "worst",
]
