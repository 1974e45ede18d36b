"""Personal models: updates in processor time, of coordinate descent and of Frank-Wolfe."""

from __future__ import annotations

import math
import resource

import numpy as np

from bench.measure import Numbers, Scale, cpu_time, require
from gopa.graph import Graph, random_regular
from gopa.learning.objectives import LOGISTIC, Boosting, Linear
from gopa.learning.personalised import Collaboration, fit_descent, fit_jointly
from gopa.learning.rows import AgentRows

WIDTH, NEIGHBOURS, ROWS = 100, 16, 10


def run(scale: Scale) -> Numbers:
    """A thousand users, and with `--full` ten thousand."""
    numbers: Numbers = {"problem": f"{WIDTH} numbers, {NEIGHBOURS} neighbours, {ROWS} rows each"}
    for users in scale.of((100,), (1000,), (10_000, 1000)):
        rng = np.random.default_rng(1)
        rows = rng.uniform(-1, 1, (users, ROWS, WIDTH))
        labels = np.where(rows[:, :, 0] < 0, -1.0, 1.0)
        graph = random_regular(users, NEIGHBOURS, seed=1)
        data = AgentRows(rows, labels, np.full(users, ROWS)).clipped(2, 10.0)
        problem = Collaboration(Linear(LOGISTIC, data, ridge=0.2), pull=1.0)
        steps = scale.of(2_000, 20_000, 20_000)

        def descended(
            problem: Collaboration = problem, graph: Graph = graph, steps: int = steps
        ) -> float:
            found = fit_descent(problem, privacy=None, graph=graph, seed=1, steps=steps)
            columns = found.history["objective"]
            return float(columns[-1] / columns[0])

        timed = cpu_time(descended, repeat=1)
        require(timed.result < 1, "the objective went up")
        numbers[f"descent, {users} users: updates a second"] = round(steps / timed.seconds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        numbers[f"descent, {users} users: most memory in MB"] = round(peak / 1024)
    margins = AgentRows(np.sign(rows) * labels[..., None], labels, np.full(users, ROWS))
    boosting = Collaboration(Boosting(margins.clipped(math.inf, 1.0)), pull=1.0)

    def boosted() -> float:
        found = fit_jointly(
            boosting, privacy=None, graph=graph, seed=1, method="frank-wolfe", steps=steps
        )
        return float(found.bytes / found.messages)

    timed = cpu_time(boosted, repeat=1)
    require(timed.result < 6, "moves are longer than they should be")
    numbers["Frank-Wolfe: updates a second"] = round(steps / timed.seconds)
    numbers["Frank-Wolfe: bytes a message"] = round(timed.result, 2)
    return numbers
