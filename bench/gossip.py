"""Gossip: processor time of exchanges about pairs, runs side by side."""

from __future__ import annotations

import numpy as np

from bench.measure import Numbers, Scale, cpu_time, require
from gopa.graph import random_regular
from gopa.learning import Table, Users
from gopa.learning.pairwise import (
    AUC,
    RANKING,
    OpenRows,
    Pairs,
    area_under_curve,
    dual_averages,
    estimates,
)


def run(scale: Scale) -> dict[str, object]:
    """Statistics of pairs by three ways of gossip, and dual averaging."""
    repeat = scale.of(1, 1, 3)
    count, runs = scale.of(1_000, 10_000, 10_000), scale.of(5, 50, 50)
    steps, rounds = 6 * count, count
    rng = np.random.default_rng(1)
    labels = np.where(rng.random(count) < 0.5, 1, -1)
    scores = rng.normal(0.5 * labels, 1.0)
    users = Users(Table(scores[:, None], labels, "made up"), tuple(np.arange(count)[:, None]))
    pairs, graph = Pairs(AUC, users), random_regular(count, 10, seed=1)
    goal = area_under_curve(scores, labels)
    numbers: Numbers = {"gossip": f"{count} users, {runs} runs, {steps} steps"}
    for method in ("gosta", "gosta-sync", "u2"):

        def gossiped(method: str = method) -> float:
            walk = estimates(pairs, graph, method=method, steps=steps, seed=1, runs=runs)  # type: ignore[arg-type]
            return float(next(walk)[1].mean())

        timed = cpu_time(gossiped, repeat=repeat)
        require(abs(timed.result - goal) < 0.3 * goal, f"{method} went elsewhere")
        copies = 2 if method == "u2" else 1
        numbers[f"{method} exchanges a second"] = round(copies * steps * runs / timed.seconds)
    rows = np.column_stack([rng.normal(labels[:, None] / 3, 1, (count, 10)), labels])

    def averaged() -> float:
        walk = dual_averages(OpenRows(RANKING, rows), graph, steps=rounds, seed=1, runs=runs // 5)
        return float(next(walk).averaged.mean())

    timed = cpu_time(averaged, repeat=repeat)
    require(timed.result > 0, "dual averaging went elsewhere")
    numbers["dual averaging exchanges a second, 10 features"] = round(
        rounds * (runs // 5) / timed.seconds
    )
    return numbers
