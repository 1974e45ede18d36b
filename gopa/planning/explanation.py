"""The words of a plan for people: why each number is what it is, and three pictures.

Pictures need matplotlib (the extra `plot`), which is imported here only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gopa.accounting.gaussian import central_deviation, gaussian_mu
from gopa.contract.terms import Terms
from gopa.planning.neighbours.attendance import worst_energy
from gopa.planning.neighbours.liveness import Liveness
from gopa.planning.request import Request
from gopa.planning.result import Errors, Guarantee, Plan, PlanReason, attendance_of, units_of
from gopa.support.extras import missing
from gopa.support.wording import EXACT, EXACT_DIFFERENCE, counted, hidden_among
from wire.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
from gopa.contract.row_terms import equation_points
from gopa.planning.noise.rows import AimedNoise
from gopa.support.wording import sentence
from zkp.rows.shape import RowShape

NORM_UNPROVED: Final = (
    "the claim rests on it, and full mode proves the range of every coordinate but not the length: "
    "a party that lies about its own changes the sum by more, and loses only its own privacy"
)


def explain(  # noqa: PLR0913, PLR0917 - everything that a plan is made of
    request: Request, terms: Terms, worth: Guarantee, method: str, errors: Errors, alive: Liveness
) -> tuple[PlanReason, ...]:
    """One line for each number, in the order in which they depend on each other."""
    return (
        PlanReason(
            "parties that join",
            f"{terms.survivors} to {terms.parties}",
            "delta holds for every number of them; with fewer there is no round",
        ),
        PlanReason(
            "corrupt parties",
            f"at most {terms.corrupt}",
            f"an assumption about these {terms.parties} parties that nothing here can check",
        ),
        PlanReason(
            "honest parties",
            str(terms.honest),
            f"{terms.survivors} survivors at least, of whom {terms.corrupt} may be corrupt",
        ),
        PlanReason(
            "loss bound r",
            str(terms.loss),
            f"a party loses more neighbours with probability below 0.001 when each fails "
            f"with probability {request.dropout:g}; withheld coins count for all",
        ),
        PlanReason("neighbours k", str(terms.k), _why_neighbours(worth, method)),
        *_recovery(request, terms, worth),
        PlanReason("grid steps m", str(terms.steps), _why_steps(request)),
        *_idle_norm(request),
        *_less_epsilon(request, terms),
        PlanReason("noise", terms.noise.words, _why_noise(terms)),
        *row_reasons(request, terms),
        PlanReason("masks", describe_masks(terms), _why_masks(terms, worth)),
        PlanReason(
            "delta",
            f"{worth.total:.4g}",
            f"{_spent(terms, worth)}"
            f"{worth.beta:.2g} for each of {terms.tries} graphs that a liar may look at in "
            f"{counted(terms.rounds * terms.attempts, 'attempt')}",
        ),
        *_chances(request, terms, alive),
        PlanReason("error of the mean", f"{errors.planned:.4g}", _why_error(terms, errors)),
    )


def _idle_norm(request: Request) -> tuple[PlanReason, ...]:
    """The line that a norm bounds nothing, where the caller named one."""
    why = "no vector in the range is longer, so the plan is the one for the range alone"
    return (PlanReason("norm", request.idle_norm, why),) if request.idle_norm else ()


def _less_epsilon(request: Request, terms: Terms) -> tuple[PlanReason, ...]:
    """The line that the plan keeps less epsilon than was asked for, and so that as well."""
    if request.wished is None:
        return ()
    why = (
        f"{request.wished} was asked for, which this keeps as well: what proofs about long vectors "
        "give away counts e^epsilon times, and would be more than half of delta; for less noise "
        "raise delta, or take fewer `attempts` or `rounds`"
    )
    return (PlanReason("epsilon", str(terms.epsilon), why),)


def _why_noise(terms: Terms) -> str:
    if terms.exact:
        hidden = hidden_among(terms.honest)
        return f"asked for by epsilon=None: {EXACT}; {EXACT_DIFFERENCE}; {hidden}"
    return "the smallest that meets delta with the exact law"


def _spent(terms: Terms, worth: Guarantee) -> str:
    if terms.exact:
        return "the chance that masks give away more than the sum: "
    proofs = f"{worth.proofs:.2g} from proofs, " if worth.proofs else ""
    releases = counted(terms.releases, "release")
    return f"{worth.noise:.4g} from noise and masks over {releases}, {proofs}"


def _why_error(terms: Terms, errors: Errors) -> str:
    if terms.exact:
        return "that of rounding to the grid; there is no other"
    return f"a trusted curator would have {errors.curator:.4g}, local privacy {errors.local:.4g}"


def describe_masks(terms: Terms) -> str:
    """The law of the masks in one phrase."""
    if terms.mask == "uniform":
        return "uniform"
    return f"rounded Gaussian, deviation {terms.mask_deviation} steps"


def _why_neighbours(worth: Guarantee, method: str) -> str:
    if not worth.graph:
        return "everybody is everybody's neighbour, and masks with survivors always remain"
    return f"the smallest for which a bad graph is rarer than {worth.graph:.2g} ({method})"


def _chances(request: Request, terms: Terms, alive: Liveness) -> tuple[PlanReason, ...]:
    model = (
        f"when each party fails with probability {alive.dropout:g} in a round, before any of its "
        "messages alike, nobody lies, and the organiser and the board work"
    )
    charged = counted(terms.charged, "charged retry", "charged retries")
    retries = f"{counted(terms.attempts, 'attempt')}, {charged}: {_why_charged(terms)}"
    proved = (
        ()
        if request.norm is None or terms.squared_norm
        else (PlanReason("length", f"{request.norm}", NORM_UNPROVED),)
    )
    return (
        *proved,
        PlanReason("chance that a round finishes", f"{alive.round:.4g}", model),
        PlanReason("chance of a result", f"{alive.session:.4g}", retries),
        PlanReason("attempts on average", f"{alive.attempts:.3g}", "failed ones included"),
    )


def _why_charged(terms: Terms) -> str:
    if terms.exact:
        return "a second exact sum of one round could show who is in one of the two only"
    if terms.threshold is not None:
        return "each would cost accuracy, and recovery makes them rare"
    if not terms.charged:
        return "each would cost accuracy"
    return "without recovery a party that vanishes at the end costs one"


def advice(terms: Terms, alive: Liveness) -> str:
    """What makes a result likelier."""
    withheld = terms.parties * alive.dropout / 8
    if terms.beacon == "commit-reveal" and withheld > terms.loss / 2:
        return "take coins from a beacon (beacon='drand'), as too many would withhold theirs"
    if terms.threshold is None:
        return "allow recovery, more charged retries, fewer parties or a lower `dropout`"
    return "lower `dropout`, or raise `attempts`"


def _recovery(request: Request, terms: Terms, worth: Guarantee) -> tuple[PlanReason, ...]:
    if terms.threshold is None:
        return (PlanReason("recovery", "none", _why_none(request)),)
    why = (
        f"so many corrupt neighbours are rarer than {worth.recovery:.2g} (coins: {terms.beacon}); "
        "with so many honest ones left, a party that vanishes at the end does not stop the round"
    )
    return (PlanReason("recovery", f"more than {terms.threshold} of the neighbours", why),)


def _why_none(request: Request) -> str:
    if request.one_close:
        why = "parties that are trusted have no self-masks"
    else:
        why = "not wanted, or with these numbers corrupt neighbours could open self-masks"
    return f"{why}: a party that vanishes at the end stops the round"


def _why_steps(request: Request) -> str:
    if request.steps is not None:
        return "given"
    if request.integers:
        return "every integer is on the grid"
    if request.exact:
        return "rounding is all that blurs the sum"
    if request.rows:
        return "so fine that rounding hardly lengthens vectors, and as noise of this law is enough"
    if request.dimension > 1:
        return "so that rounding does not lengthen vectors much, as far as noise can be wide"
    return "so that each party's noise spans about eight steps"


def _why_masks(terms: Terms, worth: Guarantee) -> str:
    if terms.mask == "uniform":
        return "they hide everything but the sum while the honest survivors are connected"
    return f"the worst shift between two parties flows with energy at most {worth.energy}"


_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_MASK_SHARE = 0.02


def draw_plan(plan: Plan, out: Path) -> None:
    """Draws three panels: error against epsilon, error against n, masks against neighbours.

    The format follows the ending, svg or png.

    Raises:
        BackendError: the extra `plot` is not installed.
        UsageError: another ending, or the file cannot be written.
    """
    check_picture(out)
    if plan.terms.exact:
        raise UsageError("an exact sum has no error to draw: leave out the picture", "plot")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("plot") from None
    figure = Figure(figsize=(13, 4.3), layout="constrained")
    FigureCanvasAgg(figure)
    by_epsilon, by_parties, by_neighbours = figure.subplots(1, 3)
    _errors_by_epsilon(by_epsilon, plan)
    _errors_by_parties(by_parties, plan)
    _masks_by_neighbours(by_neighbours, plan)
    figure.legend(*by_epsilon.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    try:
        figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None)
    except OSError as error:
        raise UsageError(f"the picture cannot be written: {error.strerror}", "plot") from None


def check_picture(out: Path) -> None:
    """Refuses a name that does not end in .svg or .png, or whose directory does not exist."""
    if out.suffix not in {".svg", ".png"}:
        raise UsageError("the name of a picture must end in .svg or .png", "plot")
    if not out.parent.is_dir():
        raise UsageError("the directory of the picture does not exist: create it first", "plot")


def model_errors(plan: Plan, parties: int, epsilon: float) -> tuple[float, float, float]:
    """Estimated errors of the mean for local privacy, GOPA and a curator, by the Gaussian limit.

    The plan's ratios of honest to all parties and of releases are kept.
    """
    terms = plan.terms
    delta = float(terms.delta)
    width = math.sqrt(terms.squared_sensitivity) / terms.steps * float(terms.high - terms.low)
    curve = central_deviation(epsilon, delta) * math.sqrt(terms.rounds) * width
    honest = parties * terms.honest / terms.parties
    present = parties * terms.survivors / terms.parties
    ours = math.sqrt(terms.charged + 1) * curve / math.sqrt(honest * present)
    return curve / math.sqrt(present), ours, curve / present


def _errors_by_epsilon(axes: Axes, plan: Plan) -> None:
    rows = [model_errors(plan, plan.terms.parties, epsilon) for epsilon in _EPSILONS]
    _three_lines(axes, list(_EPSILONS), rows)
    axes.plot([float(plan.terms.promised_epsilon)], [plan.errors.planned], "k*", label="this plan")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("standard error of the mean")
    axes.set_title(f"n = {plan.terms.parties:,}, delta = {plan.terms.delta}")


def _errors_by_parties(axes: Axes, plan: Plan) -> None:
    sizes = [10**power for power in range(2, 7)]
    rows = [model_errors(plan, size, float(plan.terms.promised_epsilon)) for size in sizes]
    _three_lines(axes, [float(size) for size in sizes], rows)
    axes.plot([plan.terms.parties], [plan.errors.planned], "k*")
    axes.set_xlabel("parties")
    axes.set_title(f"epsilon = {plan.terms.epsilon}")


def _three_lines(axes: Axes, x: list[float], rows: list[tuple[float, float, float]]) -> None:
    for index, name in enumerate(("local privacy", "GOPA", "trusted curator")):
        axes.loglog(x, [row[index] for row in rows], marker=".", label=name)


def _masks_by_neighbours(axes: Axes, plan: Plan) -> None:
    """Deviation of Gaussian masks, in ranges, that costs two percent of the squared shift."""
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    terms = plan.terms
    mu = gaussian_mu(float(plan.terms.promised_epsilon), float(terms.delta))
    mu *= math.sqrt(_MASK_SHARE / terms.releases)
    length = math.sqrt(terms.squared_sensitivity) if terms.dimension > 1 else 1.0
    neighbours, deviations = [], []
    k = max(1, terms.k // 2)
    while k < min(8 * terms.k, terms.parties):
        attendance = replace(attendance_of(terms), k=k)
        energy = worst_energy(attendance, units_of(terms), float(terms.delta) / 10)
        if energy is not None:
            neighbours.append(k)
            deviations.append(math.sqrt(energy) * length / terms.steps / mu)
        k = max(k + 1, round(k * 1.2))
    axes.loglog(neighbours, deviations, marker=".")
    axes.set_xticks(neighbours[::2], [str(k) for k in neighbours[::2]])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(ScalarFormatter())
    axes.set_xlabel("chosen neighbours k")
    axes.set_ylabel("mask deviation sufficient, in ranges")
    axes.set_title("Gaussian masks")


_ROWS: Final = (
    "proved are lengths, of inputs and of noise, at a small cost for each coordinate; for ranges "
    "and the law of a liar's noise, which are not proved, take path='bits'"
)
_BITS: Final = (
    "proved is the range of every number{}, at a cost for each number; lengths are not proved"
)

FAR: Final = 5
"""Deviations beyond which chances of honest and of other noise are compared."""

_HONESTLY: Final = 5.8e-7
"""Of normal noise to be so far out, to both sides."""


def row_reasons(request: Request, terms: Terms) -> tuple[PlanReason, ...]:
    """One line for the path, and for rows one for each bound that they prove."""
    if not terms.squared_norm:
        law = "" if terms.exact else " and the law of everybody's noise"
        why = f"{_BITS.format(law)}: {request.why_bits}"
        return (PlanReason("path", "bits", why),) if request.why_bits else ()
    return (
        PlanReason("path", "rows", _ROWS),
        _inputs(request, terms),
        *_noise(terms),
        _late(terms),
    )


def _inputs(request: Request, terms: Terms) -> PlanReason:
    value = f"at most {math.sqrt(terms.squared_norm):.6g} steps"
    if request.counts:
        return PlanReason("length", value, "that of a single count, which is proved, is all")
    if terms.bounds_length:
        why = "the norm on this grid, proved for everybody"
        if not request.integers:
            why += "; a party rounds again where that made it longer, hardly ever"
        if request.weighted:
            why += "; and each vector is as short as its weight is small"
            centre = (float(request.low) + float(request.high)) / 2
            why += f"; measured from the middle of the range, {centre:.6g}" if centre else ""
        return PlanReason("length", value, why)
    farther = math.sqrt(terms.dimension)
    why = (
        "the ball around the range is proved, and no range: one coordinate of a liar may be "
        f"{farther:.3g} times as far from the middle as the range ends, if the others are there; "
        "where that matters take path='bits'"
    )
    return PlanReason("length", value, why)


def noise_of_liars(terms: Terms) -> str:
    """What is proved of the noise of those who lie, with numbers; nothing without rows."""
    if not terms.squared_norm:
        return ""
    liars = counted(terms.corrupt, "liar")
    if terms.exact or not terms.noise.variance:
        return f"nobody adds noise; each of {liars} may move one coordinate, at random, by one step"
    aimed = AimedNoise.of(terms)
    out = math.sqrt(terms.survivors * float(terms.noise.variance))
    return (
        f"along a direction fixed before the coins, the noise of {liars} is {FAR} of its "
        f"deviations out with a chance of at most {aimed.chance_beyond(FAR):.2g}, in one "
        f"coordinate {2 * aimed.coordinate_beyond(FAR):.2g}, of honest noise {_HONESTLY:.2g}; "
        f"the best of 2^{aimed.choices_bits:.0f} choices of coins and of who stays moves one "
        f"coordinate of the sum by {aimed.best_choice * aimed.deviation / out:.2g} of its standard "
        f"errors on average, leaving alone by {aimed.best_stay * aimed.deviation / out:.2g}"
    )


def proved_bounds(terms: Terms) -> str:
    """How long vectors and their noise may be, and what that is of the planned noise."""
    points = _points(terms)
    said = f"Vectors are at most {math.sqrt(terms.squared_norm):.6g} steps long"
    deviation = math.sqrt(float(terms.noise.variance))
    if deviation:
        square = terms.noise_square / terms.dimension / deviation**2
        said += (
            f"; squares of noise come to {square:.4g} times what they are on average, its largest "
            f"number to {terms.spike / deviation:.3g} deviations"
        )
    return f"{said}; at most {terms.late} go missing late, sums hold at {counted(points, 'point')}."


def _points(terms: Terms) -> int:
    losses = min(terms.late, terms.parties - terms.survivors)
    return equation_points(terms.parties, losses, RowShape(terms.dimension).bits)


def _noise(terms: Terms) -> tuple[PlanReason, ...]:
    if terms.exact:
        return (PlanReason("noise of liars", "at most 1 step", noise_of_liars(terms)),)
    deviation = math.sqrt(float(terms.noise.variance))
    longest = math.sqrt(terms.noise_square / terms.dimension) / deviation
    bounds = (
        f"squares of a vector's noise come to {longest:.4g}^2 times what they are on average, its "
        f"largest number to {terms.spike / deviation:.3g} deviations; an honest party draws anew "
        "beyond that, once in 2^64 times"
    )
    aims = (
        "proved are the length of noise and that coins place it; its law is not, for liars: they "
        "may add none, which accuracy may gain by and privacy never counts on. "
        f"{sentence(noise_of_liars(terms))}"
    )
    return (
        PlanReason("length of noise", f"{math.sqrt(terms.noise_square):.6g} steps", bounds),
        PlanReason("noise of liars", "isotropic, law not proved", aims),
    )


def _late(terms: Terms) -> PlanReason:
    points = _points(terms)
    why = (
        "missing after their value is published before the round ends: all corrupt parties, and "
        f"honest ones but once in 1,000 rounds; so sums are checked at {counted(points, 'point')}"
    )
    return PlanReason("late losses", f"at most {terms.late}", why)
