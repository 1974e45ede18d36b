"""Trains a public model by visiting every row once, on digits and on forests.

`table2` is the second table of Jin, He and Dai on the ten thousand test images of MNIST, `fig3` its
third figure. `table1` does the same on Covertype, from a file that you name with COVERTYPE.

    python -m examples.without_replacement table2 --quick --out figures
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from gopa import UsageError
from gopa.learning import (
    History,
    Privacy,
    Table,
    Users,
    generator,
    load,
    stacked,
)
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.steps import constant
from gopa.learning.without_replacement import (
    ALWAYS,
    Coin,
    DeepQ,
    Policy,
    fit_with_replacement,
    fit_without_replacement,
)

figures = FigureSet(__doc__.partition("\n")[0])

COMPONENTS, BATCH = 50, 50
PUBLISHED = {
    "always public, noiseless": (0.7774, 0.8549, 0.8683, 0.8769),
    "always public": (0.6386, 0.7404, 0.7680, 0.7817),
    "deep Q-learning": (None, 0.7987, 0.8052, 0.8193),
}
NODES = (1, 5, 10, 20)
POLICIES: dict[str, Policy] = {
    "always public": ALWAYS,
    "public with chance 0.1": Coin(0.1),
    "deep Q-learning": DeepQ(annealed=80),
}


def published() -> dict[str, float]:
    """The second table of the paper."""
    return {
        f"{name}, {nodes} nodes": value
        for name, values in PUBLISHED.items()
        for nodes, value in zip(NODES, values, strict=True)
        if value is not None
    }


def digits(seed: int) -> tuple[Table, Table]:
    """Rows to train on and to test with: 50 principal components, of length 1."""
    table = load("mnist")
    centred = table.features - table.features.mean(axis=0)
    _, vectors = np.linalg.eigh(np.einsum("nd,ne->de", centred, centred))
    return split(table, np.einsum("nd,de->ne", centred, vectors[:, -COMPONENTS:]), seed)


def forests(seed: int) -> tuple[Table, Table]:
    """Covertype, from the file that COVERTYPE names: 54 numbers and the type in each line."""
    path = os.environ.get("COVERTYPE")
    if not path:
        raise UsageError("set COVERTYPE to a file of the data set: covtype.data", "data")
    rows = np.loadtxt(path, delimiter=",")
    table = Table(rows[:, :-1], rows[:, -1].astype(int), f"Covertype, {path}")
    features = table.features - table.features.mean(axis=0)
    return split(table, features / np.maximum(table.features.std(axis=0), 1e-12), seed)


def split(table: Table, features: np.ndarray, seed: int) -> tuple[Table, Table]:
    """Rows of length 1, a fifth of them to test with."""
    features = features / np.linalg.norm(features, axis=1, keepdims=True)
    whole = Table(features, table.labels, table.source)
    order = generator(seed, "split").permutation(len(whole))
    cut = len(whole) * 4 // 5
    return whole.take(order[:cut]), whole.take(order[cut:])


def drawn(table: Table, nodes: int, rows: int, seed: int) -> Users:
    """Every node draws its rows from the same table, as in the paper: nodes share rows."""
    rng = generator(seed, "rows of nodes")
    parts = [table.take(rng.permutation(len(table))[:rows]) for _ in range(nodes)]
    return stacked([(each.features, each.labels) for each in parts], table.source)


def table(run: FigureRun, data: tuple[Table, Table]) -> None:
    """Accuracy of the public model, for numbers of nodes and policies."""
    run.uses(data[0])
    runs, several = (2, (1, 5)) if run.quick else (5, NODES)
    asked = Privacy(1.0, min(8000, len(data[0])) ** -2.0, unit="record")

    def measured(nodes: int, policy: Policy, privacy: Privacy | None) -> History:
        users = drawn(data[0], nodes, min(8000, len(data[0])), run.seed)
        found = fit_without_replacement(
            users, privacy=privacy, seed=run.seed, policy=policy, steps=constant(0.1),
            batch=BATCH, calibration="classical", runs=runs, test=data[1],
        )  # fmt: skip
        for each in found.warnings:
            run.say(each)
        return History({"nodes": [nodes], "accuracy": [found.history["accuracy"][-1]]})

    with run.picture("accuracy of the public model, epsilon 1") as (axes,):
        settings: list[tuple[str, Policy, Privacy | None]] = [
            ("always public, noiseless", ALWAYS, None)
        ]
        settings += [(name, policy, asked) for name, policy in POLICIES.items()]
        for name, policy, privacy in settings:
            found = []
            for nodes in several:
                part = run.part(f"{name} {nodes}", partial(measured, nodes, policy, privacy))
                found.append(float(part["accuracy"][0].mean()))
                run.number(f"{name}, {nodes} nodes", found[-1])
            axes.plot(several, found, marker=".", label=name)
        axes.set(xlabel="nodes", ylabel="accuracy")
        axes.legend()


@figures.figure("table2", published=published())
def table2(run: FigureRun) -> None:
    """Digits: the public model's accuracy by nodes, for each policy."""
    table(run, digits(run.seed))


@figures.figure("table1")
def table1(run: FigureRun) -> None:
    """Forests: the same, from a local file."""
    table(run, forests(run.seed))


@figures.figure("fig3")
def fig3(run: FigureRun) -> None:
    """Digits: the public model's accuracy by epsilon, ten nodes, with the baseline."""
    data = digits(run.seed)
    run.uses(data[0])
    nodes, runs, epsilons = (2, 2, (1.0, 4.0)) if run.quick else (10, 5, (0.5, 1.0, 2.0, 4.0, 8.0))
    delta = 8000.0**-2

    def measured(name: str, epsilon: float) -> History:
        # The exact curve, because the classical one is no theorem above 1.
        how: dict[str, Any] = {"seed": run.seed, "batch": BATCH, "runs": runs}
        how |= {"test": data[1], "calibration": "each"}
        users, asked = drawn(data[0], nodes, 8000, run.seed), Privacy(epsilon, delta, unit="record")
        if name == "with replacement":
            found = fit_with_replacement(users, privacy=asked, **how)
        else:
            found = fit_without_replacement(
                users, privacy=asked, policy=POLICIES[name], steps=constant(0.1), **how
            )
        return History({"epsilon": [epsilon], "accuracy": [found.history["accuracy"][-1]]})

    with run.picture(f"accuracy of the public model, {nodes} nodes") as (axes,):
        for name in (*POLICIES, "with replacement"):
            found = []
            for epsilon in epsilons:
                part = run.part(f"{name} {epsilon:g}", partial(measured, name, epsilon))
                found.append(float(part["accuracy"][0].mean()))
                run.number(f"{name}, epsilon {epsilon:g}", found[-1])
            axes.plot(epsilons, found, marker=".", label=name)
        axes.set(xlabel="epsilon", ylabel="accuracy", xscale="log")
        axes.legend()


if __name__ == "__main__":
    figures.main()
