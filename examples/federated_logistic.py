"""Federated logistic regression: forty clinics train one model, and nobody sees their data.

Each clinic improves the current model on its own patients and gives in the difference,
shortened to a public length. Only the private average of the differences becomes known, and
with it the next model. Every round is checked from the public log. Features are moved to
[-0.25, 0.75] by the ranges that the data set's documentation lists.

    python examples/federated_logistic.py [signed | full]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from gopa.learning.federated import FederatedLogisticRegression

CLINICS, ROUNDS, PATIENTS = 40, 5, 11

data = load_breast_cancer()
low, high = data.data.min(axis=0), data.data.max(axis=0)
features = (data.data - low) / (high - low) - 0.25
train, test, labels, answers = train_test_split(
    features, data.target, train_size=CLINICS * PATIENTS - 20, random_state=0
)
clinics = np.arange(len(train)) % CLINICS

model = FederatedLogisticRegression(
    epsilon=2,
    delta=1e-5,
    rounds=ROUNDS,
    most_rows=PATIENTS,
    mode="full" if "full" in sys.argv else "signed",
    session={"corrupt": 1, "dropout": 0.01, "charged": 0},
    random_state=1,
)
model.fit(train, labels, groups=clinics)
print(model.outcome_)

# Whoever audits has these anchors from somebody they trust, and not from the log.
with tempfile.TemporaryDirectory() as folder:
    first, *_ = model.outcome_.transcript or ()
    anchors = first.anchors(Path(folder) / "anchors").read_bytes()
audited = model.outcome_.audit(anchors)
print(audited)
# Mode signed proves the sums, and neither inputs nor noise: its best verdict says so.
best = "VALID" if "full" in sys.argv else "SIGNED-ONLY"
if audited.missing or any(
    not each.anchored or each.verdict.value != best for each in audited.reports
):
    sys.exit("the log does not hold")
pooled = LogisticRegression(C=100, max_iter=5000).fit(train, labels)
print(f"accuracy {model.score(test, answers):.3f}, ", end="")
print(f"of a model that sees all data {pooled.score(test, answers):.3f}")
