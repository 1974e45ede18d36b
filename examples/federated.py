"""What federated models lose to privacy, for few and for many parties.

    python -m examples.federated cancer --out figures

Every party may have many rows, and all of them are hidden together (unit "user"). Rounds are those
of a session, in mode off: the same grid and noise without keys and proofs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from gopa.accounting import gaussian_sigma
from gopa.learning import History, Outcome, Privacy, Table, from_sklearn, generator, iid, load
from gopa.learning.clipping import clip
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.federated import Recipe, fedavg
from gopa.learning.objectives import LOGISTIC, Linear
from gopa.learning.rows import AgentRows

figures = FigureSet(__doc__.partition("\n")[0])
DELTA: Final = 1e-5
ROUNDS: Final = 5
PARTIES: Final = (10, 40, 400)
NEAR: Final = {"corrupt": 1, "dropout": 0.0, "charged": 0}
"""A plan for parties of whom none fails and no two collude."""

ONE_STEP: Final[dict[str, Any]] = {"local_steps": 1, "rate": 60.0, "clip": 8.0}
"""For parties with one row or two, whom further steps would lead to themselves alone."""

HOUSES_LOW: Final = (32, 1, 0, 0, 0, 0, 0, 0)
HOUSES_HIGH: Final = (42, 52, 8000, 1600, 4000, 1500, 12, 500_000)


def cancer_rows() -> Table:
    """Breast cancer: 30 numbers of 569 tumours, by the ranges that its documentation lists."""
    table = from_sklearn("breast_cancer")
    scaled = table.scaled(table.features.min(axis=0), table.features.max(axis=0))
    return _centred(scaled, 2 * scaled.labels - 1, 0.25)


def houses_rows() -> Table:
    """Californian blocks of houses: 8 numbers each, and whether they lie in the east."""
    table = load("houses").scaled(HOUSES_LOW, HOUSES_HIGH)
    return _centred(table, table.labels, 0.5)


def _centred(table: Table, labels: np.ndarray, middle: float) -> Table:
    return Table(table.features - middle, labels, table.source)


def accuracy(model: Mapping[str, Any], table: Table) -> float:
    """Which part of the rows is on its side of the model."""
    side = table.features @ model["coef"] + model["intercept"]
    return float(np.mean(np.where(side > 0, 1, -1) == table.labels))


def trained(
    rows: Table, parties: int, privacy: Privacy | None, seed: int, session: Mapping[str, Any]
) -> tuple[Outcome, Table]:
    """FedAvg on three quarters of the rows, dealt to the parties; and the other rows."""
    train, test = rows.split(0.75, seed)
    users, most = iid(train, parties, seed), -(-len(train) // parties)
    outcome = fedavg(
        users,
        privacy=privacy,
        seed=seed,
        rounds=ROUNDS,
        most_rows=most,
        mode="off",
        session=session,
        progress=False,
        **(ONE_STEP if most <= 2 else {}),
    )
    return outcome, test


def curator(rows: Table, privacy: Privacy, seed: int, steps: int = 30) -> float:
    """DP-SGD on all rows in one place, which hides one row from whoever sees the model."""
    train, test = rows.split(0.75, seed)
    recipe, bound = Recipe(), 1.0
    objective = Linear(LOGISTIC, AgentRows.of([(recipe.widened(train.features), train.labels)]))
    sigma = gaussian_sigma(privacy.epsilon, privacy.delta, 2 * bound * math.sqrt(steps))
    rng, model = generator(seed, "curator"), np.zeros(objective.dimension)
    for _ in range(steps):
        slopes = clip(objective.row_gradients(model[None])[0], 2, bound).sum(axis=0)
        model = model - 10 * (slopes + rng.normal(0, sigma, len(model))) / len(train)
    return accuracy(recipe.split(model), test)


def pooled(rows: Table, seed: int) -> float:
    """scikit-learn on all rows in one place, without privacy."""
    from sklearn.linear_model import LogisticRegression

    train, test = rows.split(0.75, seed)
    model = LogisticRegression(C=100, max_iter=5000).fit(train.features, train.labels)
    return float(model.score(test.features, test.labels))


def against_epsilon(run: FigureRun, rows: Table) -> None:
    """The curves of a data set, and the numbers of both plans."""
    run.uses(rows)
    seeds = range(run.seed, run.seed + (2 if run.quick else 20))
    epsilons = (2.0, 8.0) if run.quick else (0.5, 1.0, 2.0, 4.0, 8.0)

    def federated(parties: int, session: Mapping[str, Any], asked: Sequence[float]) -> History:
        found = [
            [accuracy(*_scored(trained(rows, parties, Privacy(each, DELTA), seed, session)))
             for seed in seeds]
            for each in asked
        ]  # fmt: skip
        return History({"epsilon": asked, f"{parties} parties": found})

    def central() -> History:
        found = [[curator(rows, Privacy(each, DELTA), seed) for seed in seeds] for each in epsilons]
        return History({"epsilon": epsilons, "DP SGD with a curator for one row": found})

    def together() -> History:
        return History({"run": list(seeds), "pooled": [pooled(rows, seed) for seed in seeds]})

    curves = {
        many: run.part(f"{many}-parties", partial(federated, many, NEAR, epsilons))
        for many in PARTIES
    }
    default = (2.0,) if run.quick else (1.0, 2.0, 8.0)
    beside = {
        many: run.part(f"{many}-parties-default-plan", partial(federated, many, {}, default))
        for many in PARTIES[:2]
    }
    curves[0] = run.part("curator", central)
    whole = float(run.part("pooled", together)["pooled"].mean())
    run.number("pooled, scikit-learn", whole)
    for what, parts in (("", curves), (", default plan", beside)):
        for history in parts.values():
            name = history.names[1]
            for epsilon, found in zip(history["epsilon"], history[name], strict=True):
                run.number(f"{name}, epsilon {epsilon:g}{what}", found.mean())
    with run.picture(f"{rows.source.partition(' from ')[0]}, {ROUNDS} rounds") as (axes,):
        for history in curves.values():
            history.plot(ax=axes)
        axes.axhline(whole, color="black", linestyle=":", label="pooled, without privacy")
        axes.set(
            xscale="log", ylabel="accuracy on other rows", xlabel="epsilon, for all of a party"
        )
        axes.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
        axes.set_xticks([], minor=True)
        axes.legend(loc="lower right")


def _scored(found: tuple[Outcome, Table]) -> tuple[Mapping[str, Any], Table]:
    return found[0].model, found[1]


@figures.figure("cancer")
def cancer(run: FigureRun) -> None:
    """Accuracy against epsilon, breast cancer, 31 numbers."""
    against_epsilon(run, cancer_rows())


@figures.figure("houses")
def houses(run: FigureRun) -> None:
    """Accuracy against epsilon, whether Californian houses lie in the east, 9 numbers."""
    against_epsilon(run, houses_rows())


if __name__ == "__main__":
    figures.main()
