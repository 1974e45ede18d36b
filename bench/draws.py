"""Exact noise: processor time of a million draws from each law, and of noise that cancels."""

from __future__ import annotations

import numpy as np

from bench.measure import Numbers, cpu_time, ms, require
from gopa import noise
from gopa.graph import ring

DRAWS = 10**6
PARTIES, DIMENSION, ROUNDS = 1000, 10, 100
SCALES = (8, 1000, 100_000, 2**32)
DEVIATIONS = (50, 5000, 2**16)


def run(full: bool) -> dict[str, object]:
    """Draws from tables that were made before; what making them takes stands beside it."""
    repeat = 9 if full else 3
    seed = noise.subseed(1, "bench")
    return _laws(seed, repeat) | _answers(seed, repeat) | _cancelling(seed, repeat)


def _laws(seed: bytes, repeat: int) -> Numbers:
    numbers: Numbers = {"draws": DRAWS, "unit": "ms of processor time for all draws"}
    laws = [noise.rounded_gaussian(deviation) for deviation in DEVIATIONS]
    laws += [noise.discrete_laplace(scale) for scale in SCALES]
    for law in laws:
        drawing = cpu_time(lambda law=law: law.draw(seed, DRAWS), repeat=repeat)  # type: ignore[misc]
        ratio = float(np.var(drawing.result.astype(float)) / float(law.variance))
        require(abs(ratio - 1) < 0.02, f"{law} has another variance")
        numbers[f"{law.name} ms"] = ms(drawing.seconds)
    return numbers


def _answers(seed: bytes, repeat: int) -> Numbers:
    truth = np.arange(DRAWS) % 16
    response, bit = noise.randomised_response(16, 1), noise.hadamard_bit(1)
    reporting = cpu_time(lambda: response.report(truth, seed), repeat=repeat)
    signing = cpu_time(lambda: bit.report(truth, 0, seed), repeat=repeat)
    kept = float(np.mean(reporting.result == truth)), float(np.mean(signing.result == 1))
    require(abs(kept[0] - float(response.keep)) < 0.005, "another chance of the true value")
    require(abs(kept[1] - float(bit.keep)) < 0.005, "another chance of the true sign")
    return {
        "randomised-response 16 ms": ms(reporting.seconds),
        "hadamard-bit ms": ms(signing.seconds),
    }


def _cancelling(seed: bytes, repeat: int) -> Numbers:
    graph, law = ring(PARTIES), noise.rounded_gaussian(50)
    several = cpu_time(lambda: noise.zero_sum(graph, law, DIMENSION * ROUNDS, seed), repeat=repeat)
    alone = cpu_time(lambda: noise.zero_sum(graph, law, DIMENSION, seed), repeat=repeat)
    require(not several.result.sum(axis=0).any(), "noise does not cancel")
    return {
        "zero-sum": f"ring of {PARTIES}, {DIMENSION} numbers, {law.name}",
        "zero-sum rounds a second, one by one": round(1 / alone.seconds),
        f"zero-sum rounds a second, {ROUNDS} in one call": round(ROUNDS / several.seconds),
    }
