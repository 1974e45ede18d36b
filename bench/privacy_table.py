"""The paper's table beside ours: n = 10^4, epsilon = 0.1, all or half of the parties honest."""

from __future__ import annotations

import math

from bench.measure import Numbers, Scale, require
from bench.randomness import seeded
from bench.thesis import Setting, ThesisRow, simulated_row, theorem_row
from gopa.accounting.gaussian import gaussian_delta
from gopa.contract.terms import MaskLaw
from gopa.planning import Plan, plan
from gopa.planning.neighbours.expansion import Population, flow_bound
from gopa.planning.target import Objective

PARTIES, EPSILON = 10_000, 0.1
_SIMULATED = {1.0: 20, 0.5: 40}
_FINE_STEPS = 60
_KINDS: tuple[tuple[MaskLaw, Objective], ...] = (
    ("gaussian", "masks"),
    ("gaussian", "peers"),
    ("uniform", "peers"),
)


def run(scale: Scale) -> dict[str, object]:
    """One row for each method; `full` simulates 100,000 pairs of graph and party, not 10,000."""
    pairs = scale.of(500, 10_000, 100_000)
    rows: list[Numbers] = []
    for rho in (1.0, 0.5):
        setting = Setting(PARTIES, rho, EPSILON, "published")
        rows += _thesis(setting, pairs)
        rows.append(_printed(Setting(PARTIES, rho, EPSILON, "printed")))
        rows += _no_larger_masks(setting.delta, rho, theorem_row(setting))
        for mask, objective in _KINDS:
            rows.append(_ours(_plan(setting.delta, rho, mask, objective), rho, objective))
    return {"bench": "privacy-table", "sigma_unit": "ranges of the input", "rows": rows}


def _plan(
    delta: float, rho: float, mask: MaskLaw, objective: Objective, steps: int | None = None
) -> Plan:
    made = plan(
        n=PARTIES,
        epsilon=EPSILON,
        delta=delta,
        corrupt=1.0 - rho,
        dropout=0.0,
        mask=mask,
        objective=objective,
        steps=steps,
        charged=0,
        attempts=1,
        recovery=None,
        beacon="commit-reveal",
        least_chance=0,
    )
    require(made.total_delta <= delta, "a plan within its target")
    return made


def _thesis(setting: Setting, pairs: int) -> list[Numbers]:
    rho = setting.rho
    theorem = theorem_row(setting)
    graphs = max(1, round(pairs / setting.honest))
    simulated = simulated_row(setting, _SIMULATED[rho], seeded(1), graphs=graphs)
    error = setting.noise_variance**0.5 / PARTIES**0.5
    shared: Numbers = {
        "n": PARTIES,
        "rho": rho,
        "epsilon": EPSILON,
        "delta": setting.delta,
        "mean_error": error,
        "delta_of_sum_alone": gaussian_delta(EPSILON, 1 / setting.sum_deviation),
    }
    return [
        shared
        | {
            "method": "theorem 4.1, as its table was published",
            "k": theorem.k,
            "sigma_delta": theorem.mask_deviation,
            "beta": setting.delta * 2 / 3,
        },
        shared
        | {
            "method": "simulation of the paper",
            "k": simulated.k,
            "sigma_delta": simulated.mask_deviation,
            "beta": None,
            "graphs": graphs,
        },
    ]


def _printed(setting: Setting) -> Numbers:
    """The corollary as it is printed: the number of honest parties everywhere, in delta' too."""
    theorem = theorem_row(setting)
    return {
        "n": PARTIES,
        "rho": setting.rho,
        "epsilon": EPSILON,
        "delta": setting.delta,
        "method": "theorem 4.1, as its corollary is printed",
        "k": theorem.k,
        "sigma_delta": theorem.mask_deviation,
        "beta": setting.delta * 2 / 3,
        "mean_error": setting.noise_variance**0.5 / PARTIES**0.5,
        "delta_of_sum_alone": gaussian_delta(EPSILON, 1 / setting.sum_deviation),
    }


def _no_larger_masks(delta: float, rho: float, theorem: ThesisRow) -> list[Numbers]:
    """On a finer grid: the smallest k found whose masks are no larger than the theorem's."""
    made = _plan(delta, rho, "gaussian", "masks", steps=_FINE_STEPS)
    terms = made.terms
    k = terms.k
    while k <= theorem.k:
        bound = flow_bound(Population(PARTIES, PARTIES - terms.corrupt, k), terms.steps, made.beta)
        if bound is not None:
            deviation = math.sqrt(bound.energy) / made.mask_mu / terms.steps
            if deviation <= theorem.mask_deviation:
                method = "ours, gaussian masks no larger than the theorem's"
                row = _ours(made, rho, "masks")
                return [row | {"method": method, "k": k, "sigma_delta": deviation}]
        k += 1
    return []


def _ours(made: Plan, rho: float, objective: str) -> Numbers:
    terms = made.terms
    uniform = terms.mask == "uniform"
    return {
        "n": PARTIES,
        "rho": rho,
        "epsilon": EPSILON,
        "delta": made.total_delta,
        "method": f"ours, {terms.mask} masks, objective {objective}",
        "k": terms.k,
        "sigma_delta": None if uniform else terms.mask_deviation / terms.steps,
        "beta": made.beta,
        "mean_error": made.errors.planned,
        "corrupt": terms.corrupt,
    }
