"""Exact noise: processor time of a million draws from each law, and of noise that cancels."""

from __future__ import annotations

import numpy as np

from bench.measure import Numbers, Scale, cpu_time, ms, require
from gopa import noise
from gopa.graph import ring

PARTIES, DIMENSION = 1000, 10
SCALES = (8, 1000, 100_000, 2**32)
DEVIATIONS = (50, 5000, 2**16)


def run(scale: Scale) -> dict[str, object]:
    """Draws from tables that were made before; what making them takes stands beside it."""
    draws, repeat = scale.of(10**5, 10**6, 10**6), scale.of(1, 3, 9)
    seed = noise.subseed(1, "bench")
    found = _laws(seed, draws, repeat) | _answers(seed, draws, repeat)
    return found | _cancelling(seed, scale.of(10, 100, 100), repeat)


def _laws(seed: bytes, draws: int, repeat: int) -> Numbers:
    numbers: Numbers = {"draws": draws, "unit": "ms of processor time for all draws"}
    laws = [noise.rounded_gaussian(deviation) for deviation in DEVIATIONS]
    laws += [noise.discrete_laplace(scale) for scale in SCALES]
    for law in laws:
        drawing = cpu_time(lambda law=law: law.draw(seed, draws), repeat=repeat)  # type: ignore[misc]
        ratio = float(np.var(drawing.result.astype(float)) / float(law.variance))
        require(abs(ratio - 1) < 0.02, f"{law} has another variance")
        numbers[f"{law.name} ms"] = ms(drawing.seconds)
    return numbers


def _answers(seed: bytes, draws: int, repeat: int) -> Numbers:
    truth = np.arange(draws) % 16
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


def _cancelling(seed: bytes, rounds: int, repeat: int) -> Numbers:
    graph, law = ring(PARTIES), noise.rounded_gaussian(50)
    several = cpu_time(lambda: noise.zero_sum(graph, law, DIMENSION * rounds, seed), repeat=repeat)
    alone = cpu_time(lambda: noise.zero_sum(graph, law, DIMENSION, seed), repeat=repeat)
    require(not several.result.sum(axis=0).any(), "noise does not cancel")
    return {
        "zero-sum": f"ring of {PARTIES}, {DIMENSION} numbers, {law.name}",
        "zero-sum rounds a second, one by one": round(1 / alone.seconds),
        f"zero-sum rounds a second, {rounds} in one call": round(rounds / several.seconds),
    }
