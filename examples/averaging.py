"""Averages that hide everybody's number: by verified aggregation, and by gossip without noise.

The first figure shows what privacy costs: the error of a verified average against epsilon, beside
a curator whom everybody trusts and beside users who trust nobody. The second shows how fast
gossip comes to the mean on three graphs.

    python -m examples.averaging error --quick --out figures
"""

from __future__ import annotations

import math
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import gopa
from gopa.accounting import gaussian_sigma
from gopa.graph import Graph, complete, k_out_graph, ring
from gopa.learning import (
    Charge,
    History,
    Outcome,
    Privacy,
    PrivacyLedger,
    Progress,
    Recorder,
    Spent,
    Users,
    generator,
    ratings,
    require_neither,
    require_seed,
    told,
)
from gopa.learning.experiments import FigureRun, FigureSet

figures = FigureSet(__doc__.partition("\n")[0])
DELTA = 1e-5


def fit_mean(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None,
    graph: Graph | None = None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
) -> Outcome:
    """The mean of everybody's first rating, in one verified session. It needs no graph or clock."""
    if privacy is None:
        raise gopa.UsageError("this mean has noise: say how much it may tell", "privacy")
    if privacy.relation != "replace-one":
        message = "a session hides a user's number, and not that the user takes part"
        raise gopa.UsageError(message, "privacy")
    require_neither(graph, clock, "a session makes its own: leave graph and clock out")
    if (problem.counts != 1).any():
        raise gopa.UsageError("every user has one row", "problem")
    require_seed(seed)
    start, notes = perf_counter(), Recorder()
    ledger = PrivacyLedger(privacy, assumptions=["one party of the session colludes at most"])
    values = problem.table.features[:, 0] / 5
    ledger.charge(Charge.guarantee(privacy.epsilon, privacy.delta), note="mean")
    with told(progress) as advance:
        advance("sessions", 0, 1)
        result = gopa.average(
            values,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            mode="signed",
            corrupt=1,
            seed=seed,
        )
        advance("sessions", 1, 1)
    notes.note(session=1, mean=float(result), stderr=result.stderr)
    log = result.transcript.log()
    return Outcome(
        algorithm="verified mean",
        model=float(result),
        history=notes.history(),
        spent=ledger.spent(),
        messages=log.size,
        bytes=sum(map(len, log.entries())),
        seconds=perf_counter() - start,
        seed=seed,
        transcript=(result.transcript,),
    )


def fit_gossip(  # noqa: PLR0913 - every algorithm is called like this
    problem: Users,
    *,
    privacy: Privacy | None = None,
    graph: Graph | None,
    clock: Any = None,
    seed: int,
    progress: Progress = None,
    steps: int = 60,
    runs: int = 20,
) -> Outcome:
    """Everybody takes the mean of its neighbours' numbers and its own, over and over.

    Several runs, on numbers dealt anew to the users, go side by side as columns of one matrix.
    """
    if privacy is not None:
        raise gopa.UsageError("gossip hides nothing: privacy=None says so", "privacy")
    if clock is not None:
        raise gopa.UsageError("all act at once: leave the clock out", "clock")
    if (problem.counts != 1).any():
        raise gopa.UsageError("every user has one row", "problem")
    if graph is None or graph.parties != len(problem) or not graph.is_connected():
        raise gopa.UsageError("a connected graph of all users", "graph")
    start, notes, rng = perf_counter(), Recorder(), generator(seed, "gossip")
    values = np.stack([rng.permutation(problem.table.features[:, 0]) for _ in range(runs)], axis=1)
    mean = values.mean(axis=0)
    # Every edge has the same weight, so the matrix is doubly stochastic and keeps the mean.
    mixing = np.eye(len(problem)) - graph.laplacian().toarray() / (1 + graph.degrees.max())
    with told(progress) as advance:
        for step in range(steps + 1):
            notes.note(step=step, error=np.sqrt(np.mean((values - mean) ** 2, axis=0)))
            values = mixing @ values
            advance("steps", step, steps)
    history = notes.history()
    sent = steps * int(graph.degrees.sum())
    return Outcome(
        algorithm="gossip",
        model=values.mean(axis=1),
        history=history,
        spent=Spent.nothing_hidden(),
        messages=sent,
        bytes=8 * sent,
        seconds=perf_counter() - start,
        seed=seed,
        converged=bool(history["error"][-1].max() < 0.01),
    )


@figures.figure("error")
def error(run: FigureRun) -> None:
    """The error of a private mean against epsilon."""
    users, repeats = (12, 2) if run.quick else (60, 20)
    problem = ratings(users, seed=run.seed)
    run.uses(problem)
    truth = float(problem.table.features.mean() / 5)
    epsilons = (1.0, 8.0) if run.quick else (0.5, 1.0, 2.0, 4.0, 8.0)

    def measured(epsilon: float) -> History:
        seeds = range(run.seed, run.seed + repeats)
        found = [fit_mean(problem, privacy=Privacy(epsilon, DELTA), seed=seed) for seed in seeds]
        missed = [abs(each.model - truth) for each in found]
        stderr = [float(each.history["stderr"][0]) for each in found]
        return History({"epsilon": [epsilon], "missed": [missed], "stderr": [np.mean(stderr)]})

    parts = [run.part(f"epsilon-{each:g}", partial(measured, each)) for each in epsilons]
    central = np.array([gaussian_sigma(each, DELTA, 1.0) for each in epsilons])
    whole = History(
        {
            "epsilon": epsilons,
            "verified": [math.sqrt(np.mean(each["missed"] ** 2)) for each in parts],
            "verified predicted": [float(each["stderr"][0]) for each in parts],
            "trusted curator": central / users,
            "each user alone": central / math.sqrt(users),
        }
    )
    for place, epsilon in enumerate(epsilons):
        for name in whole.names[1:]:
            run.number(f"{name}, epsilon {epsilon:g}", whole[name][place])
    with run.picture(f"mean of {users} numbers from 0 to 1") as (axes,):
        whole.plot(ax=axes)
        axes.set(xscale="log", yscale="log", ylabel="root mean square error")
        axes.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
        axes.set_xticks([], minor=True)


@figures.figure("gossip", published={"ring: what a step leaves of the error": 0.96737})
def gossip(run: FigureRun) -> None:
    """How far the numbers of a network are from their mean, step by step.

    On a ring of 20 users a step leaves 1 - 2/3 (1 - cos(2 pi/20)) of the slowest part.
    """
    problem = ratings(20, seed=run.seed)
    run.uses(problem)
    steps = 150 if run.quick else 260
    graphs = {
        "ring": ring(20),
        "two random neighbours": k_out_graph(bytes(32), 20, 2),
        "complete": complete(20),
    }

    def spread(graph: Graph) -> History:
        return fit_gossip(problem, graph=graph, seed=run.seed, steps=steps).history

    with run.picture("20 users, 20 runs") as (axes,):
        for name, graph in graphs.items():
            history = run.part(name, partial(spread, graph))
            error = history["error"].mean(axis=1)
            run.number(f"{name}: steps to a hundredth", int(np.argmax(error < 0.01 * error[0])))
            if name == "ring":
                left = error[140] / error[139]
                run.number("ring: what a step leaves of the error", left)
            History({"step": history["step"], name: history["error"]}).plot(ax=axes)
        axes.set(yscale="log", ylim=(1e-4, 10), ylabel="root mean square error")


if __name__ == "__main__":
    figures.main()
