"""The adversary's whole view, enumerated: the oracle for small cases.

Positive sums only. The view of a graph lives on a box of Z^n that wraps around; masks
and noise are added one after the other, edge by edge.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gopa.graph import Graph

Floats = npt.NDArray[np.float64]


def noise_view(law: Floats, parties: int, width: int) -> Floats:
    """The law of independent noise on the box; `law` is centred and odd in length."""
    line = np.zeros(width)
    radius = len(law) // 2
    for value, mass in enumerate(law, -radius):
        line[value % width] += mass
    view = np.ones(())
    for _ in range(parties):
        view = np.multiply.outer(view, line)
    return view


def with_masks(view: Floats, graph: Graph, masks: dict[int, float]) -> Floats:
    """Each edge adds its mask at the smaller end and takes it at the larger."""
    for first, second in zip(*graph.edges(), strict=True):
        masked = np.zeros_like(view)
        for value, mass in masks.items():
            masked += mass * np.roll(view, (value, -value), axis=(int(first), int(second)))
        view = masked
    return view


def uniform_masks(width: int) -> dict[int, float]:
    return dict.fromkeys(range(width), 1 / width)


def gaussian_masks(deviation: float) -> dict[int, float]:
    """The rounded Gaussian, out to where less than 1e-13 is left; the rest sits at the ends."""
    reach = int(np.ceil(7.5 * deviation))
    edges = np.concatenate(([-np.inf], np.arange(-reach, reach) + 0.5, [np.inf]))
    masses = np.diff(ndtr(edges / deviation))
    return dict(zip(range(-reach, reach + 1), map(float, masses), strict=True))


def delta_of_view(view: Floats, party: int, shift: int, epsilon: float) -> float:
    """The hockey-stick divergence when this party's input moves by `shift`."""
    other = np.roll(view, shift, axis=party)
    return float(np.maximum(view - np.exp(epsilon) * other, 0).sum())
