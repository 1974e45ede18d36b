"""What dp-accounting says of the mechanisms: `python -m tests.accounting.foreign` writes it down.

Only long tests install dp-accounting; they compare what it says then with the file.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, Final

from tests.accounting.mechanisms import DELTAS, MECHANISMS, ORDERS

FILE: Final = Path(__file__).with_name("foreign.json")


def curve(name: str) -> Any:
    """The privacy loss distribution of dp-accounting, on a fine grid."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    def normal(sigma: float, fine: float = 1e-4, **options: Any) -> Any:
        return pld.from_gaussian_mechanism(sigma, value_discretization_interval=fine, **options)

    def laplace(scale: float, fine: float = 1e-4, **options: Any) -> Any:
        return pld.from_laplace_mechanism(scale, value_discretization_interval=fine, **options)

    def response(epsilon: float, k: int) -> Any:
        noise = k / (math.exp(epsilon) + k - 1)
        return pld.from_randomized_response(noise, k, value_discretization_interval=1e-4)

    made = {
        "normal": lambda: normal(1.5),
        "normal, 10,000 times": lambda: normal(80.0, 1e-5).self_compose(10_000),
        "Laplace": lambda: laplace(0.8),
        "Laplace, 30 times": lambda: laplace(3.0).self_compose(30),
        "response": lambda: response(1.0, 4),
        "response, 50 times": lambda: response(0.3, 2).self_compose(50),
        "discrete Laplace": lambda: pld.from_discrete_laplace_mechanism(0.5, 1),
        "discrete normal, 5 times": lambda: pld.from_discrete_gaussian_mechanism(
            3.0, 2
        ).self_compose(5),
        "normal on samples": lambda: normal(1.1, 2e-5, sampling_prob=0.01).self_compose(1000),
        "normal on large samples": lambda: normal(4.0, 1e-4, sampling_prob=0.3).self_compose(100),
        "Laplace on samples": lambda: laplace(1.0, 2e-5, sampling_prob=0.05).self_compose(200),
        "one after the other": lambda: normal(2.0).compose(laplace(2.0)).compose(normal(5.0)),
    }
    return made[name]()


def divergences(name: str) -> list[float] | None:
    """The Renyi divergences of dp-accounting at `ORDERS`, where it has some."""
    import dp_accounting as dp

    def sampled(rate: float, sigma: float) -> Any:
        return dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(sigma))

    events = {
        "normal": [(dp.GaussianDpEvent(1.5), 1)],
        "normal, 10,000 times": [(dp.GaussianDpEvent(80.0), 10_000)],
        "Laplace": [(dp.LaplaceDpEvent(0.8), 1)],
        "Laplace, 30 times": [(dp.LaplaceDpEvent(3.0), 30)],
        "normal on samples": [(sampled(0.01, 1.1), 1000)],
        "normal on large samples": [(sampled(0.3, 4.0), 100)],
        "one after the other": [
            (dp.GaussianDpEvent(2.0), 1),
            (dp.LaplaceDpEvent(2.0), 1),
            (dp.GaussianDpEvent(5.0), 1),
        ],
    }
    if name not in events:
        return None
    accountant = dp.rdp.RdpAccountant(orders=list(ORDERS))
    for event, count in events[name]:
        accountant.compose(event, count)
    return [float(each) for each in accountant._rdp]


def found(name: str) -> dict[str, Any]:
    """Epsilons at `DELTAS`, a few deltas, and divergences."""
    made = curve(name)
    epsilons = [float(made.get_epsilon_for_delta(delta)) for delta in DELTAS]
    deltas = [float(made.get_delta_for_epsilon(each * 0.7)) for each in epsilons]
    return {"epsilons": epsilons, "deltas": deltas, "rdp": divergences(name)}


if __name__ == "__main__":
    json.dump({name: found(name) for name in MECHANISMS}, sys.stdout, indent=1)
    sys.stdout.write("\n")
