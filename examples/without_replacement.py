"""Trains a public model by visiting every row once, on digits and on forests.

The tables and figures of Jin, He and Dai. `table2`, `fig3` and `fig4` are on the ten thousand test
images of MNIST, `table1`, `fig1` and `fig2` on Covertype. They read `mnist` and `covertype` below
the folder `GOPA_DATA`.

    python -m examples.without_replacement table2 --quick --out figures
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gopa.learning import (
    History,
    Privacy,
    Table,
    Users,
    generator,
    load,
    stacked,
)
from gopa.learning.clocks import constant, harmonic
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.without_replacement import (
    ALWAYS,
    Coin,
    DeepQ,
    Policy,
    fit_with_replacement,
    fit_without_replacement,
    noise_for,
)

figures = FigureSet(__doc__.partition("\n")[0])

COMPONENTS, BATCH = 50, 50
ROWS = 60_000
"""Of a node as printed; of fewer to train on a node has all."""

NODES = (1, 5, 10, 20)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
CONVEX: dict[str, Any] = {"steps": constant(0.1)}
STRONGLY: dict[str, Any] = {"steps": constant(0.5), "ridge": 1e-4, "radius": 1e4}
"""The paper does not say the steps; these are half of 1 / smoothness as it counts that."""

FALLING: dict[str, Any] = {"steps": harmonic(200.0, 139.0), "ridge": 0.1, "radius": 10.0}
"""Steps 1 / (a ridge t) of Theorem 4 for chances of at least a = 1/20, from the first t on at which
they are as short as Lemma 4 wants. No ridge makes them so at t = 1."""

LOSSES = {"": CONVEX, ", ridge": STRONGLY, ", ridge 0.1": FALLING}
PRINTED = {
    1: {
        "always public, noiseless": (0.5624, 0.6190, 0.6283, 0.6410),
        "always public": (0.5421, 0.5863, 0.5982, 0.6022),
        "deep Q-learning": (None, 0.5922, 0.6065, 0.6123),
        "always public, noiseless, ridge": (0.6279, 0.6531, 0.6596, 0.6604),
        "always public, ridge": (0.5060, 0.5260, 0.5524, 0.5773),
        "deep Q-learning, ridge": (None, 0.5927, 0.6134, 0.6237),
    },
    2: {
        "always public, noiseless": (0.7774, 0.8549, 0.8683, 0.8769),
        "always public": (0.6386, 0.7404, 0.7680, 0.7817),
        "deep Q-learning": (None, 0.7987, 0.8052, 0.8193),
        "always public, noiseless, ridge": (0.8480, 0.8851, 0.8876, 0.8896),
        "always public, ridge": (0.5504, 0.6563, 0.6800, 0.7390),
        "deep Q-learning, ridge": (None, 0.7539, 0.8093, 0.8297),
    },
}


def published(number: int) -> dict[str, float]:
    """A table of the paper."""
    return {
        f"{name}, {nodes} nodes": value
        for name, values in PRINTED[number].items()
        for nodes, value in zip(NODES, values, strict=True)
        if value is not None
    }


def asked(epsilon: float, rows: int) -> Privacy:
    """What is asked for a row of one node, with the delta that is printed."""
    return Privacy(epsilon, float(rows) ** -2, unit="record")


def policies(rows: int) -> dict[str, Policy]:
    """The policies for nodes of so many rows: learnt ones explore in half of their steps."""
    learnt = DeepQ(annealed=max(1, rows // (2 * BATCH)))
    return {
        "always public": ALWAYS,
        "public with chance 0.1": Coin(0.1),
        "deep Q-learning": learnt,
    }


def digits(seed: int) -> tuple[Table, Table]:
    """Rows to train on and to test with: 50 principal components, of length 1."""
    table = load("mnist")
    centred = table.features - table.features.mean(axis=0)
    _, vectors = np.linalg.eigh(np.einsum("nd,ne->de", centred, centred))
    return split(table, np.einsum("nd,de->ne", centred, vectors[:, -COMPONENTS:]), seed)


def forests(seed: int) -> tuple[Table, Table]:
    """Covertype: 54 numbers, each by its mean and deviation, and rows of length 1."""
    table = load("covertype")
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


def account(run: FigureRun, delta: float, models: int, width: int) -> None:
    """Says what the published claim leaves out."""
    noise = noise_for(1.0, delta, models=models, width=width, calibration="classical")
    run.say(f"published claim: epsilon 1. It is that of one of {models} models at one node")
    for nodes in NODES:
        run.say(f"a row at {nodes} nodes, all models: epsilon {noise.epsilon(models * nodes):.3g}")
    run.say("deep Q-learning: decisions follow from private losses, and no epsilon covers them")


def trained(
    run: FigureRun, data: tuple[Table, Table], nodes: int, rows: int, policy: Policy | None,
    **how: Any,
) -> History:  # fmt: skip
    """The accuracy of public models in the end; without a policy those of the baseline."""
    fit: Any = partial(fit_without_replacement, policy=policy)
    if policy is None:
        fit, how = fit_with_replacement, {k: how[k] for k in how if k != "steps"}
    users = drawn(data[0], nodes, rows, run.seed)
    runs = 1 if run.quick else 5
    found = fit(users, seed=run.seed, batch=BATCH, runs=runs, **how)
    return History({"accuracy": [found.model.accuracy(data[1])[0]]})


def table(run: FigureRun, data: tuple[Table, Table]) -> None:
    """Accuracy of the public model, for numbers of nodes and policies."""
    run.uses(data[0])
    several, rows = ((1, 5), 1000) if run.quick else (NODES, ROWS)
    rows = min(rows, len(data[0]))
    models, width = len(np.unique(data[0].labels)), data[0].features.shape[1]
    account(run, asked(1.0, rows).delta, models, width)
    settings: list[tuple[str, Policy, Privacy | None]] = [
        ("always public, noiseless", ALWAYS, None)
    ]
    settings += [(name, policy, asked(1.0, rows)) for name, policy in policies(rows).items()]
    with run.picture("convex", "ridge 0.0001, as printed", "ridge 0.1, falling steps") as axes:
        for place, (loss, how) in zip(axes, LOSSES.items(), strict=True):
            for name, policy, privacy in settings:
                found = []
                for nodes in several:
                    make = partial(
                        trained, run, data, nodes, rows, policy, privacy=privacy,
                        calibration="classical", **how,
                    )  # fmt: skip
                    part = run.part(f"{name}{loss} {nodes}", make)
                    found.append(float(part["accuracy"][0].mean()))
                    run.number(f"{name}{loss}, {nodes} nodes", found[-1])
                place.plot(several, found, marker=".", label=name)
            place.set(xlabel="nodes", ylabel="accuracy of the public model")
            place.legend()


def by_epsilon(run: FigureRun, data: tuple[Table, Table], how: dict[str, Any]) -> None:
    """Accuracy of the public model, for policies and the baseline."""
    run.uses(data[0])
    nodes, epsilons, rows = (2, (1.0, 4.0), 500) if run.quick else (10, EPSILONS, ROWS)
    rows = min(rows, len(data[0]))
    chosen: dict[str, Policy | None] = {**policies(rows), "with replacement": None}
    with run.picture(f"accuracy of the public model, {nodes} nodes") as (axes,):
        for name, policy in chosen.items():
            found = []
            for epsilon in epsilons:
                # The exact curve, because the classical one is no theorem above 1.
                make = partial(
                    trained, run, data, nodes, rows, policy, privacy=asked(epsilon, rows),
                    calibration="each", **how,
                )  # fmt: skip
                part = run.part(f"{name} {epsilon:g}", make)
                found.append(float(part["accuracy"][0].mean()))
                run.number(f"{name}, epsilon {epsilon:g}", found[-1])
            axes.plot(epsilons, found, marker=".", label=name)
        axes.set(xlabel="epsilon", ylabel="accuracy", xscale="log")
        axes.legend()


@figures.figure("table1", published=published(1))
def table1(run: FigureRun) -> None:
    """Forests: the public model's accuracy by nodes, for each policy, from a local file."""
    table(run, forests(run.seed))


@figures.figure("table2", published=published(2))
def table2(run: FigureRun) -> None:
    """Digits: the public model's accuracy by nodes, for each policy."""
    table(run, digits(run.seed))


@figures.figure("fig1")
def fig1(run: FigureRun) -> None:
    """Forests: the public model's accuracy by epsilon, ten nodes, with the baseline."""
    by_epsilon(run, forests(run.seed), CONVEX)


@figures.figure("fig2")
def fig2(run: FigureRun) -> None:
    """Forests: the same with a ridge."""
    by_epsilon(run, forests(run.seed), STRONGLY)


@figures.figure("fig3")
def fig3(run: FigureRun) -> None:
    """Digits: the public model's accuracy by epsilon, ten nodes, with the baseline."""
    by_epsilon(run, digits(run.seed), CONVEX)


@figures.figure("fig4")
def fig4(run: FigureRun) -> None:
    """Digits: the same with a ridge."""
    by_epsilon(run, digits(run.seed), STRONGLY)


if __name__ == "__main__":
    figures.main()
