"""Plans a session for a privacy target: chooses everything a manifest needs and says why.

Specification: `specs/03-privacy.md`, section 10.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from typing import Any, Final, Never

import numpy as np

from gopa.accounting.gaussian import central_deviation
from gopa.contract.terms import MOST_DEVIATION, BeaconKind, MaskLaw, Terms
from gopa.planning.defaults import (
    CORRUPT,
    DROPOUT,
    GOOD_CHANCE,
    LEAST_CHANCE,
    MOST_RETRIES,
    SURE_CHANCE,
    THRESHOLDS,
    PlannedMode,
    PlannedTrust,
)
from gopa.planning.explanation import advice, explain
from gopa.planning.exposure import MOST_VARIANCE, Exposure, require_accountable
from gopa.planning.feasible import with_what_works
from gopa.planning.grids import (
    PlannedGrid,
    choose_exact_grid,
    choose_exact_row_grid,
    choose_grid,
    choose_row_grid,
    fitted_grid,
)
from gopa.planning.laws import NoiseTarget, allowed_mu, choose_noise, laws_for, widest_deviation
from gopa.planning.liveness import LivenessTerms, liveness
from gopa.planning.neighbours import NeighbourChoice, choose_neighbours
from gopa.planning.paths import (
    no_rows,
    noisier_rows,
    paths_for,
    why_bits,
    without_idle_norm,
    worth_bits,
)
from gopa.planning.request import Request, no_such_keyword, python_number
from gopa.planning.result import (
    Errors,
    NoiseName,
    Objective,
    PathName,
    Plan,
    PlanCost,
)
from gopa.planning.row_noise import noise_bounds
from gopa.planning.row_plan import cost_of_rows, late_losses, most_charged, within_reach
from gopa.planning.worth import Worth, guarantee, judge, mask_price, unit_shifts
from wire.errors import UsageError
from zkp.noise import NoiseLaw, NoNoise

BETA_SHARE: Final = 0.1
"""At most this part of delta pays for graphs that are worse than assumed."""

EXACT_BETA_SHARE: Final = 0.9
"""The same where there is nothing else to pay for."""

MASK_SHARE: Final[dict[Objective, float]] = {"error": 0.002, "peers": 0.02, "masks": 0.5}
"""The part of the squared shift that Gaussian masks may cost."""

_NARROWER: Final = (1.0, 0.9, 0.7)
"""Parts of the widest noise that grids of long vectors are made for, in turn."""

_MARGIN: Final = 0.1
"""Noise is a little wider than first guessed."""

_LOG: Final = logging.getLogger("gopa.planning")

_TYPICAL_DEGREE: Final = 40
"""Of a party in a large plan; thresholds are chosen by it."""

WIDENING: Final = 1.02
"""So much more than what the masks just tried would cost is granted to the next ones."""


def plan(  # noqa: PLR0913 - every number of the target has a name
    n: int,
    *,
    epsilon: float | str | Decimal | None,
    delta: float | str | Decimal | None = None,
    corrupt: float = CORRUPT,
    dropout: float = DROPOUT,
    range: tuple[float | str | Decimal, float | str | Decimal] = (0, 1),  # noqa: A002
    dimension: int = 1,
    norm: float | str | Decimal | None = None,
    rounds: int = 1,
    mask: MaskLaw | None = None,
    noise: NoiseName | None = None,
    objective: Objective = "error",
    steps: int | None = None,
    charged: int | None = None,
    attempts: int | None = None,
    integers: bool = False,
    recovery: Fraction | str | None = "auto",
    beacon: BeaconKind | None = None,
    mode: PlannedMode = "full",
    trust: PlannedTrust = "malicious",
    open_admission: bool = False,
    weighted: bool = False,
    path: PathName | None = None,
    least_chance: float = LEAST_CHANCE,
    **unknown: Never,
) -> Plan:
    """Everything a session needs so that it is (epsilon, delta)-private.

    `epsilon=None` plans a session without noise: the exact sum is released. Masks still hide
    everything else from coalitions of at most `corrupt` parties, but for a chance of `delta`,
    which is 1e-9 then if nobody says. Each of the `rounds` takes new values: two exact sums over
    sets that differ by one party reveal that party's value. Parties have to accept this by
    their policy.

    `n` parties, each with a value (or a vector of `dimension` coordinates) in `range`;
    `norm` bounds the L2 norm of vectors. `corrupt` is how many parties may collude, or
    which part of all: a tenth if nobody says, and at least one, a curious party. `dropout`
    is the chance that an honest party fails, by not joining or later. The plan holds for
    every number of parties that joins, from `Plan.terms.survivors` to n, with all corrupt
    ones among them.
    `rounds` releases from the same inputs are composed, each with `charged` charged
    retries, among at most `attempts` attempts. `integers` says that inputs are integers:
    they are not rounded.
    `path` is how full mode proves vectors. In "rows" their lengths are proved, at a small cost for
    each coordinate: `norm`, or else the ball around the box, and of noise its length and that
    coins place it. With "bits" every coordinate is proved to be in the range and all noise to
    follow its law, at a cost for each, and no length is. Where nobody says, vectors with a `norm`
    and those of many coordinates have rows, others bits; where rows have no plan there are bits,
    and `Plan.path` and the reasons say so. `weighted` says that the last coordinate
    is a private weight; rows prove that no vector is longer than its weight allows, bits that no
    number is larger.
    `noise` is the kind of law, and to name one is to ask for bits: without it single numbers get a
    table where one is wide enough, and vectors of bits sums of uniforms, because only those are
    proved for them. `steps` fixes the grid.
    `recovery`, an exact fraction such as "2/3", is the part of a party's neighbours that must
    not collude, because more of them can open its self-mask; None is for no recovery, and "auto"
    chooses one wherever parties have self-masks and few enough are corrupt. `beacon` is where
    the coins come from: nonces if nobody says, but drand for so many parties that too many
    nonces would be
    withheld. `mask` is uniform if nobody says, and Gaussian where all are trusted to keep
    the rules. Without recovery `charged` is chosen by the chance of a result; with it, it
    is 0. With `open_admission` other parties may come to the next attempt. `objective`:
    "error" loses least accuracy to the masks, "peers" needs fewest neighbours, "masks"
    keeps Gaussian masks small.

    >>> plan = gopa.plan(n=100, epsilon=1, delta=1e-6)
    >>> plan.terms.parties, plan.terms.corrupt
    (100, 10)
    >>> plan.errors.curator < plan.errors.planned < plan.errors.local
    True
    >>> "error of the mean" in plan.explain()
    True

    Raises `UsageError` that says which way to move when no plan meets the target, and
    when a session would get a result with a chance below `least_chance`.
    """
    for name in unknown:
        raise no_such_keyword(name, signature(plan).parameters)
    if not isinstance(range, (tuple, list, np.ndarray)) or len(range) != 2:
        raise UsageError("two numbers, the smallest and the largest input", "range")
    given: dict[str, Any] = {
        "parties": n,
        "epsilon": epsilon,
        "delta": delta,
        "corrupt": corrupt,
        "dropout": dropout,
        "low": range[0],
        "high": range[1],
        "dimension": dimension,
        "norm": norm,
        "rounds": rounds,
        "mask": mask,
        "noise": noise,
        "objective": objective,
        "steps": steps,
        "charged": charged,
        "attempts": attempts,
        "integers": integers,
        "beacon": beacon,
        "mode": mode,
        "trust": trust,
        "open_admission": open_admission,
        "weighted": weighted,
        "path": path,
        "recovery": recovery,
    }
    asked = {name: python_number(value) for name, value in given.items()}
    least_chance = python_number(least_chance)
    try:
        made = _made(asked, least_chance)
    except UsageError as error:
        raise with_what_works(error, asked, lambda other: _made(other, least_chance)) from None
    # Whoever accepts any chance, as simulations do, hears it from the result.
    for warning in made.warnings if least_chance else ():
        _LOG.warning("%s", warning)
    return made


def _made(asked: Mapping[str, Any], least_chance: float) -> Plan:
    """The plan that is asked for, by the first path that has one; else what the last one lacks."""
    asked = without_idle_norm(asked)
    first, *others = paths_for(asked)
    if not others:
        why = why_bits(asked) if first == "bits" else ""
        return _on_path(asked, first, why, least_chance)
    try:
        in_rows = _on_path(asked, first, "", least_chance)
    except UsageError as error:
        return _on_path(asked, "bits", no_rows(error), least_chance)
    if in_rows.wished is None:
        return in_rows
    try:
        bits = _on_path(asked, "bits", noisier_rows(in_rows.terms), least_chance)
    except UsageError:
        return in_rows
    return bits if worth_bits(in_rows.errors, bits.errors) else in_rows


def _on_path(given: Mapping[str, Any], path: PathName, why: str, least_chance: float) -> Plan:
    """The plan of this path; with recovery "auto" one without it where it is impossible."""
    asked = {**given, "path": path, "why_bits": why}
    if asked["recovery"] != "auto":
        made = _plan(Request.checked(**asked))
    else:
        target = {name: value for name, value in asked.items() if name != "recovery"}
        made = _automatic(target)
    return accepted(replace(made, colluding=asked["corrupt"]), least_chance)


def _automatic(asked: dict[str, Any]) -> Plan:
    if asked["trust"] != "malicious":  # without self-masks there is nothing to recover
        return _plan(Request.checked(recovery=None, **asked))
    refused: list[UsageError] = []
    found = _with_recovery(asked, refused)
    if found is not None:
        return found
    try:
        return _plan(Request.checked(recovery=None, **asked))
    except UsageError as error:
        # Without recovery more parties have to remain, which nobody asked for.
        raise (refused[-1] if error.field == "corrupt" else error) from None


def _with_recovery(asked: dict[str, Any], refused: list[UsageError]) -> Plan | None:
    """The plan with the best threshold; None where recovery is not possible, and why."""
    first = _first_threshold(Request.checked(recovery=THRESHOLDS[-1], **asked))
    found = [_recovering(asked, THRESHOLDS[first], refused)]
    larger, smaller = THRESHOLDS[:first][::-1], THRESHOLDS[first + 1 :]
    for threshold in larger if found[0] is None else smaller:
        best = found[-1]
        if best is not None and (found[0] is None or best.liveness.session >= SURE_CHANCE):
            break
        found.append(_recovering(asked, threshold, refused))
        if found[0] is not None and found[-1] is None:
            break
    made = [each for each in found if each is not None]
    return max(made, key=lambda each: each.liveness.session, default=None)


def _recovering(
    asked: dict[str, Any], threshold: Fraction, refused: list[UsageError]
) -> Plan | None:
    """None where corrupt neighbours could open self-masks, or no noise or masks are wide enough."""
    try:
        return _plan(Request.checked(recovery=threshold, **asked))
    except UsageError as error:
        if error.field not in {"recovery", "noise", "mask"}:
            raise
        refused.append(error)
        return None


def _first_threshold(request: Request) -> int:
    """The place of the largest threshold that leaves room for failing neighbours.

    A large threshold needs fewer neighbours, as corrupt ones reach it more rarely; of the
    neighbours of a party so many are there for certain that the others suffice even where
    three deviations more than expected fail.
    """
    degree = min(request.survivors - 1, _TYPICAL_DEGREE)
    failing = request.dropout * degree
    failing += 3 * math.sqrt(failing * (1 - request.dropout))
    for place, tau in enumerate(THRESHOLDS):
        if degree - int(tau * degree) - 1 >= failing:
            return place
    return len(THRESHOLDS) - 1


def accepted(made: Plan, least_chance: float) -> Plan:
    """The plan; `UsageError` if its session would get a result too rarely.

    Warnings are logged, but for whoever accepts any chance: simulations do, and know who fails.
    """
    if isinstance(least_chance, bool) or not isinstance(least_chance, (int, float)):
        raise UsageError("must be a probability from 0 to 1", "least_chance")
    if not 0 <= least_chance <= 1:
        raise UsageError("must be a probability from 0 to 1", "least_chance")
    if made.liveness.session < least_chance:
        message = (
            f"the session would get a result with a chance of {made.liveness.session:.2g} only: "
            f"{advice(made.terms, made.liveness)}, or accept that (least_chance=0)"
        )
        raise UsageError(message, "least_chance")
    return made


def _plan(request: Request) -> Plan:
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
