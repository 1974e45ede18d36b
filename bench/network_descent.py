"""Descent behind noise that cancels: rounds of a network in processor time."""

from __future__ import annotations

from itertools import islice

import numpy as np

from bench.measure import Numbers, Scale, cpu_time, require
from gopa.graph import random_regular
from gopa.learning.correlated import descend
from gopa.learning.objectives import Quadratic

DEGREE, DIMENSION, ROUNDS = 4, 10, 200


def rounds(scale: Scale) -> Numbers:
    """Without noise, with the same for all neighbours, and with something else for each."""
    return _descent(scale.of(100, 1000, 1000), scale.of(1, 1, 3))


def _descent(agents: int, repeat: int) -> Numbers:
    centres = np.random.default_rng(1).normal(size=(agents, DIMENSION))
    objective, graph = Quadratic(centres, scale=0.5), random_regular(agents, DEGREE, seed=1)
    numbers: Numbers = {"descent": f"{agents} agents, {DEGREE} neighbours, {DIMENSION} numbers"}
    for method in ("dgd", "rss", "rss-lb"):

        def walked(method: str = method) -> float:
            walk = descend(objective, graph, method=method, seed=1)  # type: ignore[arg-type]
            last = next(islice(walk, ROUNDS, None))
            return float(np.abs(last.average[0] - centres.mean(axis=0)).max())

        timed = cpu_time(walked, repeat=repeat)
        require(timed.result < 1e-3, f"{method} went elsewhere")
        numbers[f"{method} rounds a second"] = round(ROUNDS / timed.seconds)
    return numbers
