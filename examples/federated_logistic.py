"""Federated logistic regression: forty clinics train one model, and nobody sees their data.

Each clinic improves the current model on its own patients and gives in the difference,
shortened to a public length. Only the private average of the differences becomes known, and
with it the next model. Every round is checked from the public log. Features are moved to
[-0.3, 0.7] by the ranges that the data set's documentation lists.

    python examples/federated_logistic.py [signed | full]
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import gopa

CLINICS, ROUNDS, LENGTH = 40, 5, 3.0

data = load_breast_cancer()
low, high = data.data.min(axis=0), data.data.max(axis=0)
features = np.hstack([(data.data - low) / (high - low) - 0.3, np.full((len(data.data), 1), 0.5)])
labels = 2.0 * data.target - 1
order = np.random.default_rng(1).permutation(len(labels))
train, test = order[:420], order[420:]
clinics = np.array_split(train, CLINICS)


def improved(model: np.ndarray, patients: np.ndarray) -> np.ndarray:
    """Fifty steps of gradient descent on the logistic loss of these patients."""
    own, answers = features[patients], labels[patients]
    for _ in range(50):
        wrong = answers / (1 + np.exp(answers * (own @ model)))
        model = model + 3 * wrong @ own / len(patients)
    return model


plan = gopa.plan(
    n=CLINICS, epsilon=2, delta="1e-5", dropout=0.01, rounds=ROUNDS, charged=0, steps=300,
    dimension=31, range=(-LENGTH, LENGTH), norm=LENGTH, noise="irwin-hall",
    least_chance=0,
)  # fmt: skip
model = np.zeros(plan.terms.dimension)
with gopa.LocalAggregator(
    plan, mode="full" if "full" in sys.argv else "signed", clip=True, seed=1
) as aggregator:
    for _ in range(ROUNDS):
        result = aggregator.average([improved(model, own) - model for own in clinics])
        model = model + result.mean
findings = result.transcript.check()
if not findings.complete or findings.faults:
    sys.exit("the log does not hold")
pooled = LogisticRegression(C=100, max_iter=5000).fit(features[train], labels[train])
print(f"{len(findings.rounds)} rounds checked; this is the last one:", result, sep="\n")
print(f"accuracy {np.mean(np.sign(features[test] @ model) == labels[test]):.3f}, ", end="")
print(f"of a model that sees all data {pooled.score(features[test], labels[test]):.3f}")
