"""How long it takes to account for many steps, and how near the result is to the truth."""

from __future__ import annotations

import math

import numpy as np

from bench.measure import Scale, cpu_time, ms, require
from gopa.accounting import Loss, Rdp
from gopa.accounting.gaussian import gaussian_mu

DELTA = 1e-6


def run(scale: Scale) -> dict[str, object]:
    """Composes ten thousand steps; `full` a million."""
    count = scale.of(10**3, 10**4, 10**6)
    mu = gaussian_mu(1.0, DELTA)
    plain = Loss.gaussian(math.sqrt(count) / mu)
    sampled = Loss.gaussian(1.0).subsampled(0.001)
    replaced = Loss.gaussian(1.0).subsampled(0.001, "replace-one")
    repeat = scale.of(1, 3, 1)
    normal = cpu_time(lambda: plain.repeated(count).epsilon(DELTA), repeat=repeat)
    require(1 - 1e-9 <= normal.result <= 1.005, "epsilon of normal noise")
    on_samples = cpu_time(lambda: sampled.repeated(count).epsilon(DELTA), repeat=repeat)
    of_others = cpu_time(lambda: replaced.repeated(count).epsilon(DELTA), repeat=repeat)
    require(on_samples.result < of_others.result, "another row tells more than one row less")
    walk = cpu_time(lambda: _walk(3.2505), repeat=repeat)
    require(0.98 < walk.result < 1.01, "epsilon of a walk")
    return {
        "bench": "accounting",
        "steps": count,
        "delta": DELTA,
        "normal_ms": ms(normal.seconds),
        "normal_epsilon": normal.result,
        "normal_true_epsilon": 1.0,
        "samples": "normal noise of deviation 1, rate 0.001",
        "samples_ms": ms(on_samples.seconds),
        "samples_epsilon": on_samples.result,
        "samples_by_divergences_epsilon": Rdp.sampled_gaussian(1.0, 1.0, 0.001)
        .repeated(count)
        .epsilon(DELTA),
        "replaced_ms": ms(of_others.seconds),
        "replaced_epsilon": of_others.result,
        "walk": "12 visits of 2,000 users' token, horizon of 20,000 steps",
        "walk_ms": ms(walk.seconds),
        "walk_epsilon": walk.result,
    }


def _walk(sigma: float) -> float:
    steps, chance = np.arange(1, 20_001), 2 / 2000
    weights = chance * (1 - chance) ** (steps - 1.0)
    weights[-1] += (1 - chance) ** len(steps)
    return Rdp.gaussian(sigma, 0.8).over_horizon(weights, 1 / steps).repeated(12).epsilon(DELTA)
