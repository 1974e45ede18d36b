"""The numbers of a plan for one request: its grid, graph, noise and masks, and what they cost.

Specification: `specs/03-privacy.md`, section 10; rows: 14-K1, 14-P11, 14-U2, 14-M3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Final

import numpy as np
from scipy.special import bdtrc

from gopa.accounting.gaussian import central_deviation
from gopa.contract.lengths import word_width
from gopa.contract.terms import MOST_DEVIATION, MOST_SQUARE, Terms
from gopa.planning.explanation import explain
from gopa.planning.neighbours.attendance import NeighbourChoice, choose_neighbours
from gopa.planning.neighbours.liveness import LivenessTerms, liveness
from gopa.planning.noise.exposure import MOST_VARIANCE, Exposure, require_accountable
from gopa.planning.noise.grids import (
    PlannedGrid,
    choose_exact_grid,
    choose_exact_row_grid,
    choose_grid,
    choose_row_grid,
    fitted_grid,
)
from gopa.planning.noise.laws import (
    NoiseTarget,
    allowed_mu,
    choose_noise,
    laws_for,
    widest_deviation,
)
from gopa.planning.noise.rows import charged_for_proofs, noise_bounds
from gopa.planning.request import Request
from gopa.planning.result import (
    Errors,
    Plan,
    PlanCost,
    Worth,
    guarantee,
    judge,
    mask_price,
    unit_shifts,
)
from gopa.planning.target import GOOD_CHANCE, LEAST_CHANCE, MOST_RETRIES, Objective
from wire.errors import UsageError
from zkp.noise import LARGEST_TOTAL_WEIGHT, NoiseLaw, NoNoise
from zkp.rows.shape import RowShape

BETA_SHARE: Final = 0.1
"""At most this part of delta pays for graphs that are worse than assumed."""

EXACT_BETA_SHARE: Final = 0.9
"""The part of delta of an exact sum, which has no noise to pay for."""

MASK_SHARE: Final[dict[Objective, float]] = {"error": 0.002, "peers": 0.02, "masks": 0.5}
"""The part of the squared shift that Gaussian masks may cost."""

_NARROWER: Final = (1.0, 0.9, 0.7)
"""Parts of the widest noise that grids of long vectors are made for, in turn."""

_MARGIN: Final = 0.1
"""Noise is a little wider than first guessed."""

WIDENING: Final = 1.02
"""So much more than what the masks just tried would cost is granted to the next ones."""


def plan_of(request: Request) -> Plan:
    """The plan of a request."""
    request = within_reach(request)
    if request.more_charged:
        request = within_reach(_retried(request))
    if request.exact:
        return _exact_plan(request)
    require_accountable(
        request.epsilon,
        dimension=request.dimension,
        parties=request.honest,
        releases=request.releases,
    )
    budget = request.delta * BETA_SHARE / request.tries
    mu = allowed_mu(request.dimension, request.epsilon, request.delta * (1 - BETA_SHARE))
    mu /= math.sqrt(request.releases)
    # Receivers sum up no wider noise than that.
    widest = min(
        widest_deviation(laws_for(request)),
        math.sqrt(MOST_VARIANCE / request.honest) * (1 - _MARGIN),
    )
    layout, need, law = _with_noise(request, mu, budget, widest)
    grid, neighbours = layout.grid, layout.neighbours
    if request.rows:
        grid = fitted_grid(request, grid, lambda other: need.on(other).met_by(law))
    terms = _terms(request, grid, neighbours, law, layout.deviation)
    return _finished(request, terms, neighbours.method, layout.energy)


def _with_noise(
    request: Request, mu: float, budget: float, widest: float
) -> tuple[_Layout, NoiseTarget, NoiseLaw]:
    """The grid and the graph, what noise has to meet on them, and the noise.

    Where lengths are proved and no law is wide enough, grids with fewer steps are tried.
    """
    proofs = most_charged(request)
    for part in _NARROWER if request.rows else (1.0,):
        layout = _layout(request, mu, budget, widest * part)
        grid, neighbours = layout.grid, layout.neighbours
        exposure = Exposure(
            honest=request.honest,
            squared_sensitivity=grid.squared,
            largest_coordinate=grid.largest_coordinate,
            dimension=request.dimension,
            epsilon=request.epsilon,
            delta=request.delta,
            mask_mu=mask_price(layout.energy, layout.deviation),
            releases=request.releases,
        )
        charged = request.tries * (float(neighbours.beta) + neighbours.recovery) * (1 + 1e-15)
        need = NoiseTarget(exposure, request.delta - charged - proofs)
        try:
            return layout, need, choose_noise(laws_for(request), need)
        except UsageError as error:
            refused = error
    raise refused


def _exact_plan(request: Request) -> Plan:
    """The plan of an exact sum: a graph and a grid, and all of delta for bad graphs."""
    grid = choose_exact_row_grid(request) if request.rows else choose_exact_grid(request)
    left = request.delta - most_charged(request)
    budget = left * EXACT_BETA_SHARE / request.tries
    neighbours = choose_neighbours(request, unit_shifts(request.dimension, grid.squared), budget)
    terms = _terms(request, grid, neighbours, NoNoise(), 0)
    return _finished(request, terms, neighbours.method, 0)


def _finished(request: Request, terms: Terms, method: str, energy: int) -> Plan:
    """The plan with these terms, judged as everybody will judge them."""
    worth = guarantee(terms)
    if judge(terms) is not Worth.KEPT:
        raise UsageError("these terms would miss their own target: change it slightly", "delta")
    errors = expected_errors(terms, request)
    alive = liveness(LivenessTerms.of(terms, one_close=request.one_close), request.dropout)
    return Plan(
        terms=terms,
        noise_delta=worth.noise,
        proofs_delta=worth.proofs,
        beta=worth.beta,
        beta_recovery=worth.recovery,
        beta_method=method,
        flow_energy=energy,
        errors=errors,
        cost=estimated_cost(terms, request),
        liveness=alive,
        reasons=explain(request, terms, worth, method, errors, alive),
        wished=request.wished,
    )


def _retried(request: Request) -> Request:
    """Without recovery: as many charged retries as make a result likely, if a few do."""
    mu = allowed_mu(request.dimension, request.epsilon, request.delta * (1 - BETA_SHARE))
    budget = request.delta * BETA_SHARE / request.tries
    neighbours = _layout(request, mu, budget, widest_deviation(laws_for(request))).neighbours
    choices = [
        replace(request, charged=charged, attempts=max(request.attempts, charged + 1))
        for charged in range(MOST_RETRIES + 1)
    ]
    chances = [
        liveness(_liveness_terms(each, neighbours), each.dropout).session for each in choices
    ]
    for enough in (GOOD_CHANCE, LEAST_CHANCE):
        for choice, chance in zip(choices, chances, strict=True):
            if chance >= enough:
                return choice
    return request


def _liveness_terms(request: Request, neighbours: NeighbourChoice) -> LivenessTerms:
    return LivenessTerms(
        parties=request.parties,
        survivors=request.survivors,
        loss=neighbours.loss,
        k=neighbours.k,
        threshold=request.threshold,
        beacon=request.beacon,
        attempts=request.attempts,
        charged=request.charged,
        one_close=request.one_close,
        late=late_losses(request) if request.rows else None,
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """The grid, the graph on it, and Gaussian masks: `deviation` is 0 for uniform ones."""

    grid: PlannedGrid
    neighbours: NeighbourChoice
    energy: int
    deviation: int


def _layout(request: Request, mu: float, budget: float, widest: float) -> _Layout:
    """Masks cost the part of the squared shift that the objective names.

    Where they would be too wide they are as wide as possible, which costs more; the noise
    has less then, so the grid is chosen again.
    """
    share = MASK_SHARE[request.objective] if request.mask == "gaussian" else 0.0
    while True:
        choose = choose_row_grid if request.rows else choose_grid
        grid = choose(request, mu * math.sqrt(1 - share), widest)
        neighbours = choose_neighbours(
            request, unit_shifts(request.dimension, grid.squared), budget
        )
        energy = neighbours.energy * (grid.squared if request.dimension > 1 else 1)
        if not share:
            return _Layout(grid, neighbours, energy, 0)
        deviation = math.ceil(math.sqrt(energy / share) / mu)
        if deviation <= MOST_DEVIATION:
            return _Layout(grid, neighbours, energy, deviation)
        share *= WIDENING * (deviation / MOST_DEVIATION) ** 2
        if share > MASK_SHARE["masks"]:
            message = (
                f"Gaussian masks have a deviation of at most {MOST_DEVIATION} steps, and these "
                "would cost more than half of the privacy: take uniform masks or fewer `steps`"
            )
            raise UsageError(message, "mask")


def _terms(
    request: Request, grid: PlannedGrid, neighbours: NeighbourChoice, law: NoiseLaw, deviation: int
) -> Terms:
    tau = request.threshold
    square = spike = 0
    if request.rows:
        square, spike = (1, 1) if request.exact else noise_bounds(law, request.dimension)
    return Terms(
        parties=request.parties,
        corrupt=request.corrupt,
        survivors=request.survivors,
        loss=neighbours.loss,
        k=neighbours.k,
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
        beta=neighbours.beta,
        rounds=request.rounds,
        charged=request.charged,
        attempts=request.attempts,
        beacon=request.beacon,
        threshold_numerator=0 if tau is None else tau.numerator,
        threshold_denominator=1 if tau is None else tau.denominator,
        squared_norm=grid.norm,
        noise_square=square,
        spike=spike,
        late=late_losses(request) if request.rows else 0,
        weight_length=grid.ratio.numerator,
        weight_scale=grid.ratio.denominator if grid.ratio else 0,
    )


def expected_errors(terms: Terms, request: Request) -> Errors:
    """Standard error of the mean (of each coordinate) next to the two usual yardsticks.

    All survivors add noise, and rounding to the grid adds at most a quarter of a squared
    step each; integers are not rounded. The curator and the local parties get the same
    epsilon and delta and the tight Gaussian curve. Exact sums are rounded only, and neither
    yardstick has anything to blur.
    """
    out = max(1.0, terms.parties * (1 - request.dropout))
    width = float(terms.high - terms.low)
    rounding = 0.0 if request.integers else 0.25
    spread = math.sqrt(float(terms.noise.variance) + rounding)
    sensitivity = request.range_sensitivity
    planned = spread * width / terms.steps / math.sqrt(out)
    if request.exact:
        return Errors(planned=planned, curator=0.0, local=0.0)
    central = central_deviation(request.epsilon, request.delta) * math.sqrt(terms.rounds)
    return Errors(
        planned=planned,
        curator=central * sensitivity / out,
        local=central * sensitivity / math.sqrt(out),
    )


def estimated_cost(terms: Terms, request: Request) -> PlanCost:
    """Bytes and seconds for one party and round, from the sizes of what it posts.

    32 bytes for each edge, 32 for each edge it may have to open, one proof of about
    32 (9 + 2 log2 N) bytes over N hidden bits, eight signed entries of about 200 bytes.
    With threshold recovery a share of 64 bytes for each neighbour and 32 bytes for each
    coefficient.
    """
    peers = terms.k * (2 - terms.k / max(1, terms.parties - 1))
    if terms.squared_norm:
        return cost_of_rows(terms, peers)
    hidden = terms.dimension * (terms.noise.hidden_bits + terms.steps.bit_length())
    proof = 32 * (9 + 2 * math.ceil(math.log2(hidden)))
    posted = 8 * 200 + proof + round(32 * (peers + peers * request.dropout))
    needed = terms.shares_needed(round(peers))
    posted += 0 if needed is None else 64 * round(peers) + 32 * needed
    return PlanCost(peers, posted, 0.035 * hidden / 210 + 0.0003 * peers)


_POINTS_OF_PROOFS: Final = 110
_TESTS: Final = 10_800
_ROWS_AT_ONCE: Final = 0.04
_ROWS_EACH: Final = 9e-6
"""Points and tests beside what grows; seconds at once and for each coordinate."""


def late_losses(request: Request) -> int:
    """How many may go missing behind publish: honest ones before they prove or open edges."""
    chance = request.dropout * request.course.share("prove", "rollback")
    return planned_late(request.parties, request.corrupt, request.survivors, chance)


_TENTH: Final = Decimal("0.1")


def within_reach(request: Request) -> Request:
    """The request, with the largest epsilon for which proofs about long vectors leave half delta.

    What they give away is a distance between laws, which counts (1 + e^epsilon) times. A plan for
    less epsilon keeps the larger one, too. Where not even a tenth is left it stays as it is.
    """
    if not request.rows or request.exact or _charged(request, request.epsilon) <= request.delta / 2:
        return request
    counted = request.delta / _charged(request, 0.0)
    most = Decimal(math.log(max(1.0, counted - 1))).quantize(_TENTH, ROUND_FLOOR)
    while most > 0 and _charged(request, float(most)) > request.delta / 2:
        most -= _TENTH
    return request if most <= 0 else request.lowered(most)


def most_charged(request: Request) -> float:
    """What proofs about long vectors cost of delta at most, as no noise is longer than that.

    Raises:
        UsageError: they cost more than half of it.
    """
    if not request.rows:
        return 0.0
    charged = _charged(request, None if request.exact else request.epsilon)
    if charged > request.delta / 2:
        # A smaller epsilon was tried (`within_reach`).
        least = _charged(request, None if request.exact else 0.0)
        message = (
            f"proofs about long vectors give away {min(1, least):.2g} at the least, and delta has "
            "to be more than twice as much: raise it, or take fewer `attempts` or `rounds`"
        )
        raise UsageError(message, "delta")
    return charged


def _charged(request: Request, epsilon: float | None) -> float:
    rounds = request.attempts * request.rounds
    square = request.dimension * LARGEST_TOTAL_WEIGHT**2 // 4
    return charged_for_proofs(
        request.dimension, request.parties, rounds, epsilon, MOST_SQUARE, square
    )


def cost_of_rows(terms: Terms, peers: float) -> PlanCost:
    """What one party pays in one round: words, and 14-M3 for what is beside them."""
    shape = RowShape(terms.dimension)
    width = word_width(terms.parties, terms.squared_norm, terms.noise_square, terms.spike)
    points = 3 * shape.rows + 2 * shape.pad_rows
    proofs = 10 * shape.bits + 4 * shape.column_bits + 2 * peers + _POINTS_OF_PROOFS
    posted = terms.dimension * width // 8 + _TESTS + round(32 * (points + proofs))
    return PlanCost(peers, posted, _ROWS_AT_ONCE + _ROWS_EACH * terms.dimension)


TOO_MANY: Final = 1e-3
"""The planned chance that more honest parties than that go missing behind publish."""

_DEVIATIONS: Final = 12


def planned_late(parties: int, corrupt: int, survivors: int, chance: float) -> int:
    """All corrupt parties and as many honest ones as go missing, each with this chance.

    Never more than the plan can lose at all: fewer parties end a round anyway.
    """
    honest = parties - corrupt
    most = math.ceil(honest * chance + _DEVIATIONS * math.sqrt(honest * chance + 1))
    counts = np.arange(min(honest, most) + 1, dtype=np.float64)
    missing = int(np.argmax(bdtrc(counts, honest, chance) <= TOO_MANY))
    return min(corrupt + missing, parties - survivors)
