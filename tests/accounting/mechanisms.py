"""Mechanisms that our accountant and dp-accounting both know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gopa.accounting import Loss, Rdp

ORDERS: Final = (1.5, 2.0, 4.0, 16.0, 40.0)
DELTAS: Final = (1e-3, 1e-5, 1e-8)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One mechanism in both accounts; `wrong` is it with half the noise, twice the sensitivity."""

    loss: Callable[[], Loss]
    wrong: Callable[[], Loss]
    rdp: Callable[[], Rdp] | None = None


def discrete_laplace(scale: float, reach: int) -> list[float]:
    """The law on [-reach, reach]; what is cut off is negligible."""
    masses = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return list((masses / masses.sum()).tolist())


def discrete_gaussian(sigma: float, reach: int) -> list[float]:
    masses = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * sigma * sigma))
    return list((masses / masses.sum()).tolist())


def moved(law: Sequence[float], by: int) -> Loss:
    """A law against itself moved; outcomes that only one of them has are infinite loss."""
    return Loss.of_tables([*law, *[0.0] * by], [*[0.0] * by, *law])


def both(sigma: float, scale: float) -> Loss:
    return Loss.gaussian(sigma).then(Loss.laplace(scale)).then(Loss.gaussian(2.5 * sigma))


MECHANISMS: Final = {
    "normal": Mechanism(
        lambda: Loss.gaussian(1.5), lambda: Loss.gaussian(0.75), lambda: Rdp.gaussian(1.5)
    ),
    "normal, 10,000 times": Mechanism(
        lambda: Loss.gaussian(160.0, 2.0).repeated(10_000),
        lambda: Loss.gaussian(160.0, 4.0).repeated(10_000),
        lambda: Rdp.gaussian(160.0, 2.0).repeated(10_000),
    ),
    "Laplace": Mechanism(
        lambda: Loss.laplace(0.8), lambda: Loss.laplace(0.4), lambda: Rdp.laplace(0.8)
    ),
    "Laplace, 30 times": Mechanism(
        lambda: Loss.laplace(3.0).repeated(30),
        lambda: Loss.laplace(3.0, 2.0).repeated(30),
        lambda: Rdp.laplace(3.0).repeated(30),
    ),
    "response": Mechanism(
        lambda: Loss.randomised_response(1.0, 4),
        lambda: Loss.randomised_response(2.0, 4),
    ),
    "response, 50 times": Mechanism(
        lambda: Loss.randomised_response(0.3).repeated(50),
        lambda: Loss.randomised_response(0.6).repeated(50),
    ),
    "discrete Laplace": Mechanism(
        lambda: moved(discrete_laplace(2.0, 90), 1), lambda: moved(discrete_laplace(2.0, 90), 2)
    ),
    "discrete normal, 5 times": Mechanism(
        lambda: moved(discrete_gaussian(3.0, 40), 2).repeated(5),
        lambda: moved(discrete_gaussian(3.0, 40), 4).repeated(5),
    ),
    "normal on samples": Mechanism(
        lambda: Loss.gaussian(1.1).subsampled(0.01).repeated(1000),
        lambda: Loss.gaussian(0.55).subsampled(0.01).repeated(1000),
        lambda: Rdp.sampled_gaussian(1.1, 1.0, 0.01).repeated(1000),
    ),
    "normal on large samples": Mechanism(
        lambda: Loss.gaussian(4.0).subsampled(0.3).repeated(100),
        lambda: Loss.gaussian(4.0, 2.0).subsampled(0.3).repeated(100),
        lambda: Rdp.sampled_gaussian(4.0, 1.0, 0.3).repeated(100),
    ),
    "Laplace on samples": Mechanism(
        lambda: Loss.laplace(1.0).subsampled(0.05).repeated(200),
        lambda: Loss.laplace(0.5).subsampled(0.05).repeated(200),
    ),
    "one after the other": Mechanism(
        lambda: both(2.0, 2.0),
        lambda: both(1.0, 1.0),
        lambda: Rdp.gaussian(2.0).then(Rdp.laplace(2.0)).then(Rdp.gaussian(5.0)),
    ),
}
