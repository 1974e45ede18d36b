"""Descent behind noise that cancels: rounds of a network in processor time."""

from __future__ import annotations

from itertools import islice

import numpy as np

from bench.measure import Numbers, cpu_time, require
from gopa.graph import random_regular
from gopa.learning.correlated import descend
from gopa.learning.objectives import Quadratic

AGENTS, DEGREE, DIMENSION, ROUNDS = 1000, 4, 10, 200


def rounds(full: bool) -> Numbers:
    """Without noise, with the same for all neighbours, and with something else for each."""
    return _descent(3 if full else 1)


def _descent(repeat: int) -> Numbers:
    centres = np.random.default_rng(1).normal(size=(AGENTS, DIMENSION))
    objective, graph = Quadratic(centres, scale=0.5), random_regular(AGENTS, DEGREE, seed=1)
    numbers: Numbers = {"descent": f"{AGENTS} agents, {DEGREE} neighbours, {DIMENSION} numbers"}
    for method in ("dgd", "rss", "rss-lb"):

        def walked(method: str = method) -> float:
            walk = descend(objective, graph, method=method, seed=1)  # type: ignore[arg-type]
            last = next(islice(walk, ROUNDS, None))
            return float(np.abs(last.average[0] - centres.mean(axis=0)).max())

        timed = cpu_time(walked, repeat=repeat)
        require(timed.result < 1e-3, f"{method} went elsewhere")
        numbers[f"{method} rounds a second"] = round(ROUNDS / timed.seconds)
    return numbers
