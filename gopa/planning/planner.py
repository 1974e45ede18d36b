"""From a target to a plan: `plan` chooses everything a manifest needs and says why.

Specification: `specs/03-privacy.md`, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from gopa.planning.explanation import explain
from gopa.planning.exposure import Exposure
from gopa.planning.gaussian import central_deviation
from gopa.planning.joined import Worth, guarantee, judge, mask_price
from gopa.planning.noise_choice import Need, allowed_mu, choose_noise, laws_for, widest_deviation
from gopa.planning.noise_sum import MOST_VARIANCE
from gopa.planning.reach import Reach, choose_reach
from gopa.planning.request import Request
from gopa.planning.result import (
    Cost,
    Errors,
    NoiseName,
    Objective,
    Plan,
)
from gopa.planning.sensitivity import Sensitivity, choose_grid
from gopa.planning.terms import MOST_DEVIATION, BeaconKind, MaskLaw, Terms
from wire.errors import UsageError
from zkp.noise_table import GaussianTable, NoiseLaw

BETA_SHARE: Final = 0.1
"""At most this part of delta pays for graphs that are worse than assumed."""

MASK_SHARE: Final[dict[Objective, float]] = {"error": 0.002, "peers": 0.02, "masks": 0.5}
"""The part of the squared shift that Gaussian masks may cost."""

_MARGIN: Final = 0.1
"""Noise is a little wider than first guessed."""

WIDENING: Final = 1.02
"""So much more than what the masks just tried would cost is granted to the next ones."""


def plan(  # noqa: PLR0913 - every number of the target has a name
    *,
    n: int,
    epsilon: float | str | Decimal,
    delta: float | str | Decimal,
    corrupt: float = 0.0,
    dropout: float = 0.05,
    range: tuple[float | str | Decimal, float | str | Decimal] = (0, 1),  # noqa: A002
    dimension: int = 1,
    norm: float | str | Decimal | None = None,
    rounds: int = 1,
    mask: MaskLaw = "gaussian",
    noise: NoiseName | None = None,
    objective: Objective = "error",
    steps: int | None = None,
    charged: int = 1,
    attempts: int = 3,
    integers: bool = False,
    recovery: Fraction | str | None = None,
    beacon: BeaconKind = "commit-reveal",
) -> Plan:
    """Everything a session needs so that it is (epsilon, delta)-private.

    `n` parties, each with a value (or a vector of `dimension` coordinates) in `range`;
    `norm` bounds the L2 norm of vectors. `corrupt` is how many parties may collude, or
    which part of all: at least one is assumed, a curious party. `dropout` is the chance
    that an honest party fails, by not joining or later. The plan holds for every number of
    parties that joins, from `Plan.terms.survivors` to n, with all corrupt ones among them.
    `rounds` releases from the same inputs are composed, each with `charged` charged
    retries, among at most `attempts` attempts. `integers` says that inputs are integers:
    they are not rounded. `noise` is the kind of law: without it single numbers get a
    table where one is wide enough, and vectors sums of uniforms, because only those are
    proved for vectors. `steps` fixes the grid. `recovery`, an exact fraction such as
    "2/3", is the part of a party's neighbours that must not collude, because more of them
    can open its self-mask; `beacon` is where the coins come from. `objective`: "error"
    loses least accuracy to the masks, "peers" needs fewest neighbours, "masks" keeps
    Gaussian masks small.

    Raises `UsageError` that says which way to move when no plan meets the target.
    """
    if not isinstance(range, (tuple, list)) or len(range) != 2:
        raise UsageError("two numbers, the smallest and the largest input", "range")
    request = Request.checked(
        parties=n,
        epsilon=epsilon,
        delta=delta,
        corrupt=corrupt,
        dropout=dropout,
        low=range[0],
        high=range[1],
        dimension=dimension,
        norm=norm,
        rounds=rounds,
        mask=mask,
        noise=noise,
        objective=objective,
        steps=steps,
        charged=charged,
        attempts=attempts,
        integers=integers,
        recovery=recovery,
        beacon=beacon,
    )
    return _plan(request)


def _plan(request: Request) -> Plan:
    tries = request.rounds * request.attempts
    budget = request.delta * BETA_SHARE / tries
    laws = laws_for(request)
    mu = allowed_mu(request.dimension, request.epsilon, request.delta * (1 - BETA_SHARE))
    mu /= math.sqrt(request.releases)
    # Receivers sum up no wider noise than that.
    widest = min(widest_deviation(laws), math.sqrt(MOST_VARIANCE / request.honest) * (1 - _MARGIN))
    layout = _layout(request, mu, budget, widest)
    grid, reach, energy, deviation = layout.grid, layout.reach, layout.energy, layout.deviation
    exposure = Exposure(
        honest=request.honest,
        squared_sensitivity=grid.squared,
        largest_coordinate=grid.steps,
        dimension=request.dimension,
        epsilon=request.epsilon,
        delta=request.delta,
        mask_mu=mask_price(energy, deviation),
        releases=request.releases,
    )
    beta = float(reach.beta) + reach.recovery
    need = Need(exposure, request.delta - tries * beta * (1 + 1e-15))
    terms = _terms(request, grid, reach, choose_noise(laws, need), deviation)
    worth = guarantee(terms)
    if judge(terms) is not Worth.KEPT:
        raise UsageError("these terms would miss their own target: change it slightly", "delta")
    errors = expected_errors(terms, request)
    return Plan(
        terms=terms,
        noise_delta=worth.noise,
        beta=worth.beta,
        beta_recovery=worth.recovery,
        beta_method=reach.method,
        flow_energy=energy,
        errors=errors,
        cost=estimated_cost(terms, request),
        reasons=explain(request, terms, worth, reach.method, errors),
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """The grid, the graph on it, and Gaussian masks: `deviation` is 0 for uniform ones."""

    grid: Sensitivity
    reach: Reach
    energy: int
    deviation: int


def _layout(request: Request, mu: float, budget: float, widest: float) -> _Layout:
    """Masks cost the part of the squared shift that the objective names.

    Where they would be too wide they are as wide as possible, which costs more; the noise
    has less then, so the grid is chosen again.
    """
    share = MASK_SHARE[request.objective] if request.mask == "gaussian" else 0.0
    while True:
        grid = choose_grid(request, mu * math.sqrt(1 - share), widest)
        reach = choose_reach(request, _units(request, grid), budget)
        energy = reach.energy * (grid.squared if request.dimension > 1 else 1)
        if not share:
            return _Layout(grid, reach, energy, 0)
        deviation = math.ceil(math.sqrt(energy / share) / mu)
        if deviation <= MOST_DEVIATION:
            return _Layout(grid, reach, energy, deviation)
        share *= WIDENING * (deviation / MOST_DEVIATION) ** 2
        if share > MASK_SHARE["masks"]:
            message = (
                f"Gaussian masks have a deviation of at most {MOST_DEVIATION} steps, and these "
                "would cost more than half of the privacy: take uniform masks or fewer `steps`"
            )
            raise UsageError(message, "mask")


def _units(request: Request, grid: Sensitivity) -> int:
    """Unit shifts a flow carries at once: all steps for scalars, one for a coordinate."""
    return grid.steps if request.dimension == 1 else 1


def _terms(
    request: Request, grid: Sensitivity, reach: Reach, law: NoiseLaw, deviation: int
) -> Terms:
    tau = request.threshold
    return Terms(
        parties=request.parties,
        corrupt=request.corrupt,
        survivors=request.survivors,
        loss=reach.loss,
        k=reach.k,
        dimension=request.dimension,
        low=request.low,
        high=request.high,
        steps=grid.steps,
        squared_sensitivity=grid.squared,
        noise=law,
        mask=request.mask,
        mask_deviation=deviation,
        epsilon=request.exact_epsilon,
        delta=request.exact_delta,
        beta=reach.beta,
        rounds=request.rounds,
        charged=request.charged,
        attempts=request.attempts,
        beacon=request.beacon,
        threshold_numerator=0 if tau is None else tau.numerator,
        threshold_denominator=1 if tau is None else tau.denominator,
    )


def expected_errors(terms: Terms, request: Request) -> Errors:
    """Standard error of the mean (of each coordinate) next to the two usual yardsticks.

    All survivors add noise, and rounding to the grid adds at most a quarter of a squared
    step each; integers are not rounded. The curator and the local parties get the same
    epsilon and delta and the tight Gaussian curve.
    """
    out = max(1.0, terms.parties * (1 - request.dropout))
    width = float(terms.high - terms.low)
    rounding = 0.0 if request.integers else 0.25
    spread = math.sqrt(float(terms.noise.variance) + rounding)
    sensitivity = request.range_sensitivity
    central = central_deviation(request.epsilon, request.delta) * math.sqrt(terms.rounds)
    return Errors(
        planned=spread * width / terms.steps / math.sqrt(out),
        curator=central * sensitivity / out,
        local=central * sensitivity / math.sqrt(out),
    )


def estimated_cost(terms: Terms, request: Request) -> Cost:
    """Bytes and seconds for one party and round, from the sizes of what it posts.

    32 bytes for each edge, 32 for each edge it may have to open, one proof of about
    32 (9 + 2 log2 N) bytes over N hidden bits, eight signed entries of about 200 bytes.
    With threshold recovery a share of 64 bytes for each neighbour and 32 bytes for each
    coefficient.
    """
    peers = terms.k * (2 - terms.k / max(1, terms.parties - 1))
    law = terms.noise
    draw = law.rows + 97 if isinstance(law, GaussianTable) else len(law.weights)
    hidden = terms.dimension * (draw + terms.steps.bit_length())
    proof = 32 * (9 + 2 * math.ceil(math.log2(hidden)))
    posted = 8 * 200 + proof + round(32 * (peers + peers * request.dropout))
    needed = terms.shares_needed(round(peers))
    posted += 0 if needed is None else 64 * round(peers) + 32 * needed
    return Cost(peers, posted, 0.035 * hidden / 210 + 0.0003 * peers)
