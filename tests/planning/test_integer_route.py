"""Exact discrete Gaussians on one grid, certified by integers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from gopa.graph import complete, from_edges, k_out_graph, ring
from tests.planning.continuous import worst_theta
from tests.planning.exact import delta_of_view, noise_view, with_masks
from tests.planning.integer_noise import (
    best_certificate,
    integer_delta,
    theta_bound,
    worst_theta_integer,
)
from wire.errors import UsageError


def discrete_gaussian(variance: float) -> np.ndarray:
    reach = math.ceil(9 * math.sqrt(variance)) + 1
    values = np.arange(-reach, reach + 1)
    law = np.exp(-(values**2) / (2 * variance))
    return np.asarray(law / law.sum())


@pytest.mark.parametrize(("noise", "mask", "steps"), [(0.6, 0.8, 1), (1.0, 0.4, 2), (0.5, 0.5, 2)])
def test_the_bound_holds_on_an_enumerated_pair(noise: float, mask: float, steps: int) -> None:
    graph = from_edges(2, [(0, 1)])
    law, masks = discrete_gaussian(noise), discrete_gaussian(mask)
    width = len(law) + len(masks) + 2 * steps
    table = dict(zip(range(-(len(masks) // 2), len(masks) // 2 + 1), masks.tolist(), strict=True))
    view = with_masks(noise_view(law, 2, width), graph, table)
    theta = worst_theta_integer(graph, steps, noise, mask)
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        for move in range(1, steps + 1):
            exact = delta_of_view(view, 0, move, epsilon)
            assert exact <= integer_delta(epsilon, theta) + 1e-12


@pytest.mark.parametrize("steps", [1, 3, 20])
def test_rounding_costs_at_most_a_quarter_of_each_weight(steps: int) -> None:
    graph = k_out_graph(bytes(32), 12, 3)
    noise, mask = 3.0, 7.0
    real = worst_theta(graph, noise, mask)
    integer = worst_theta_integer(graph, steps, noise, mask)
    assert steps**2 * real * (1 - 1e-6) <= integer
    assert integer <= theta_bound(real, graph, steps, noise, mask)


def test_certificates_are_checked() -> None:
    graph = ring(5)
    certificate = best_certificate(graph, 2, 4, 1.0, 2.0)
    certificate.check(graph)
    wrong = dataclasses.replace(certificate, steps=5)
    with pytest.raises(UsageError):
        wrong.check(graph)
    with pytest.raises(UsageError):
        certificate.check(complete(5))
