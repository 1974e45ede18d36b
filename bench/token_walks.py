"""Steps of tokens that walk from user to user, in processor time."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.measure import Numbers, Scale, cpu_time, require
from gopa.learning.clocks import Poisson, constant
from gopa.learning.network_dp import Visits, Walk, carry
from gopa.learning.network_dp.descent import Descent
from gopa.learning.objectives import LOGISTIC
from gopa.learning.rows import AgentRows

USERS, ROWS, COLUMNS, CAP, STEPS = 2000, 8, 8, 12, 20_000
STEEPEST, SIGMA, LENGTH = 0.4, 0.4, 0.1


def steps(scale: Scale) -> Numbers:
    """A logistic model by noisy gradient steps, path, caps and noise included."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((USERS, ROWS, COLUMNS))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    y = np.where(rng.random((USERS, ROWS)) < 0.5, -1.0, 1.0)
    rows = AgentRows(x, y, np.full(USERS, ROWS), {2: 1.0})
    numbers: Numbers = {
        "token_setting": f"{USERS} users, {ROWS} rows of {COLUMNS}, cap {CAP}, {STEPS} steps a run"
    }
    for runs in scale.of((1, 3), (1, 40), (1, 40)):
        timed = cpu_time(partial(_walked, rows, runs), repeat=scale.of(1, 2, 5))
        visits, models = timed.result
        require(bool(np.allclose(models[0], _again(rows, visits, runs))), "the model of a run")
        numbers[f"token_steps_per_second_{runs}_runs"] = round(runs * STEPS / timed.seconds)
    return numbers


def _walked(rows: AgentRows, runs: int) -> tuple[Visits, np.ndarray]:
    visits = Walk(Poisson(USERS), CAP).visits(1, steps=STEPS, runs=runs)
    update = Descent(
        LOGISTIC,
        rows,
        steepest=STEEPEST,
        sigma=SIGMA,
        steps=constant(LENGTH),
        rng=np.random.default_rng(2),
    )
    return visits, carry(visits, update, np.zeros((runs, COLUMNS)))


def _again(rows: AgentRows, visits: Visits, runs: int) -> np.ndarray:
    """The first run once more, step by step, from the same noise."""
    rng, block = np.random.default_rng(2), 512
    model = np.zeros(COLUMNS)
    for step in range(STEPS):
        if step % block == 0:
            noise = rng.standard_normal((block, runs, COLUMNS))[:, 0]
        user = visits.users[0, step]
        margins = rows.y[user] * (rows.x[user] @ model)
        slopes = -rows.y[user] * np.minimum(1 / (1 + np.exp(margins)), STEEPEST)
        gradient = slopes @ rows.x[user] / ROWS * visits.active[0, step]
        model = model - LENGTH * gradient + SIGMA * LENGTH * noise[step % block]
    return model
