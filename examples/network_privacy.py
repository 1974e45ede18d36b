"""A model that a token learns from user to user: what it costs to hide from other users alone.

The first figure trains one model in three ways: with a trusted curator, with a token whose noise
hides users from each other, and with noise that hides them from whoever sees everything. The
second shows how much less noise tokens need. The third shows what groups are worth that meet in
verified sessions.

    python -m examples.network_privacy fig41 --quick --out figures
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gopa.learning import DataNotFound, History, Outcome, Privacy, Table, Users, iid, load, ratings
from gopa.learning.experiments import FigureRun, FigureSet
from gopa.learning.network_dp import fit_groups, fit_sgd, local_sigma, sgd_law, sum_law

figures = FigureSet(__doc__.partition("\n")[0])
DELTA = 1e-6
TRUST = ("central", "network", "local")


def houses(seed: int, users: int) -> tuple[Users, Table]:
    """Users with eight houses each, and houses to test on; made up where the file is missing.

    Columns have mean 0 and deviation 1, and rows length 1, as in the thesis.
    """
    try:
        found = load("houses")
    except DataNotFound as error:
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((20_640, 8))
        labels = np.where(features @ rng.standard_normal(8) > 0, 1, -1)
        found = Table(features, labels, f"made up, for want of {error.file}")
    features = (found.features - found.features.mean(axis=0)) / found.features.std(axis=0)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    train, test = Table(features, found.labels, found.source).split(0.8, seed)
    rows = np.random.default_rng(seed).permutation(len(train))[: 8 * users]
    return iid(train.take(rows), users, seed), test


def trained(  # noqa: PLR0913 - a line of the figure
    problem: Users, trust: str, epsilon: float, *, step: float, seed: int, runs: int, **more: Any
) -> Outcome:
    """A model with the noise of one kind of trust."""
    privacy = Privacy(epsilon, DELTA, view="everything" if trust == "local" else "neighbour")
    curator = trust == "central"
    return fit_sgd(
        problem, privacy=privacy, seed=seed, step=step, runs=runs, curator=curator, **more
    )


@figures.figure("fig41")
def fig41(run: FigureRun) -> None:
    """Figure 4.1 of the thesis: objective and accuracy, three kinds of trust, two budgets."""
    houses_of(run, *((100, 1000, 4) if run.quick else (2000, 20_000, 20)))


@figures.figure("fig41_500")
def fig41_500(run: FigureRun) -> None:
    """Figure 4.1 with 500 users, each visited as often: less noise of others to hide behind."""
    houses_of(run, *((50, 500, 4) if run.quick else (500, 5000, 20)))


def houses_of(run: FigureRun, users: int, steps: int, runs: int) -> None:
    """Three kinds of trust and two budgets, with houses of so many users."""
    problem, test = houses(run.seed, users)
    run.uses(problem)
    lengths = (0.03, 0.3) if run.quick else (3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)

    def line(trust: str, epsilon: float) -> History:
        def last(step: float) -> float:
            found = trained(
                problem, trust, epsilon, step=step, seed=run.seed + 1, runs=4, steps=steps
            )
            return float(found.history["objective"][-1].mean())

        best = min(lengths, key=last)
        found = trained(
            problem,
            trust,
            epsilon,
            step=best,
            seed=run.seed,
            runs=runs,
            steps=steps,
            held_out=test,
        )
        run.say(f"{trust}, epsilon {epsilon:g}: steps of {best:g}, {found.spent.theorem}")
        return found.history

    epsilons = (10.0, 1.0)
    titles = [
        f"{what}, epsilon {each:g}" for each in epsilons for what in ("objective", "accuracy")
    ]
    with run.picture(*titles) as axes:
        for place, epsilon in enumerate(epsilons):
            for trust in TRUST:
                history = run.part(f"{trust}-{epsilon:g}", partial(line, trust, epsilon))
                for offset, what in enumerate(("objective", "accuracy")):
                    one = History({"step": history["step"], trust: history[what]})
                    one.plot(ax=axes[2 * place + offset])
                mean = float(history["accuracy"][-1].mean())
                run.number(f"{trust}, epsilon {epsilon:g}: accuracy", mean)
            axes[2 * place].set_ylim(0.0, 0.8)
            axes[2 * place + 1].set_ylim(0.5, 1.0)


PUBLISHED = {5: 1.13, 20: 1.55, 100: 2.21, 500: 2.97, 2000: 3.60, 4000: 3.89}


@figures.figure(
    "gain", published={f"{users} users: by orders": gain for users, gain in PUBLISHED.items()}
)
def gain(run: FigureRun) -> None:
    """How many times less noise hides a user from one other user than from everybody."""
    counts, cap = (list(PUBLISHED)[1:2] if run.quick else list(PUBLISHED)), 12
    local = local_sigma(1.0, DELTA, cap)

    def measured(users: int) -> History:
        model = sgd_law(users, cap)
        return History(
            {
                "users": [users],
                "steps by orders": [local / model.sigma_by_orders(1.0, DELTA)],
                "steps": [local / model.sigma(1.0, DELTA)],
                "three colluders": [local / sgd_law(users, cap, 3).sigma(1.0, DELTA)],
                "sums": [local / sum_law(users, cap).sigma(1.0, DELTA)],
            }
        )

    parts = [run.part(f"users-{each}", partial(measured, each)) for each in counts]
    names = parts[0].names
    whole = History({name: np.concatenate([each[name] for each in parts]) for name in names})
    for users, by_orders, by_law in zip(
        counts, whole["steps by orders"], whole["steps"], strict=True
    ):
        run.number(f"{users} users: by orders", by_orders)
        run.number(f"{users} users: by the law", by_law)
    with run.picture("12 visits, epsilon 1, delta 1e-6") as (axes,):
        whole.plot(ax=axes)
        axes.set(xscale="log", ylabel="local noise / noise of a token", ylim=(1, 5.2))
        axes.axhline(1.0, color="grey", lw=0.8)


@figures.figure("groups")
def groups(run: FigureRun) -> None:
    """The error of a mean by groups of verified sessions, against the size of a group."""
    users, epsilon = (24, 4.0) if run.quick else (48, 4.0)
    sizes = (3, 6, 24) if run.quick else (3, 6, 12, 24, 48)
    problem = ratings(users, seed=run.seed)
    run.uses(problem)
    truth = float(problem.table.features.mean())

    def measured(size: int) -> History:
        found = [
            fit_groups(problem, privacy=Privacy(epsilon, 1e-5), seed=seed, size=size, high=5.0)
            for seed in range(run.seed, run.seed + (2 if run.quick else 8))
        ]
        stated = found[0].history["stderr"]
        missed = [each.model - truth for each in found]
        return History(
            {
                "size": [size],
                "measured": [math.sqrt(float(np.mean(np.square(missed))))],
                "stated": [5 * math.sqrt(float((stated**2).sum())) / len(stated)],
                "ideal": [5 * local_sigma(epsilon, 1e-5, 1) / math.sqrt(size * users)],
            }
        )

    parts = [run.part(f"size-{each}", partial(measured, each)) for each in sizes]
    names = parts[0].names
    whole = History({name: np.concatenate([each[name] for each in parts]) for name in names})
    for place, size in enumerate(sizes):
        run.number(f"groups of {size}: stated", whole["stated"][place])
        run.number(f"groups of {size}: measured", whole["measured"][place])
    with run.picture(f"{users} users, epsilon {epsilon:g}") as (axes,):
        whole.plot(ax=axes)
        axes.set(xscale="log", yscale="log", ylabel="root mean square error")
        axes.set_xticks(sizes, [str(each) for each in sizes])
        axes.set_xticks([], minor=True)


if __name__ == "__main__":
    figures.main()
