"""Pictures of a plan. Needs matplotlib (extra `gopa[plot]`), which is imported here only."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gopa.planning.attendance import worst_energy
from gopa.planning.gaussian import central_deviation, gaussian_mu
from gopa.planning.joined import attendance_of, units_of
from gopa.planning.result import Plan
from wire.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_MASK_SHARE = 0.02


def draw_plan(plan: Plan, out: Path) -> None:
    """Three panels: error against epsilon, error against n, masks against neighbours.

    The format follows the ending, svg or png. `UsageError` when matplotlib is missing or
    the file cannot be written.
    """
    check_picture(out)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("pictures need matplotlib: pip install 'gopa[plot]'", "plot") from None
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
    """`UsageError` unless the name ends in .svg or .png and its directory exists."""
    if out.suffix not in {".svg", ".png"}:
        raise UsageError("a picture ends in .svg or .png", "plot")
    if not out.parent.is_dir():
        raise UsageError("the directory of the picture does not exist: create it first", "plot")


def model_errors(plan: Plan, parties: int, epsilon: float) -> tuple[float, float, float]:
    """Error of the mean for local privacy, GOPA and a curator, by the Gaussian limit.

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
    axes.plot([float(plan.terms.epsilon)], [plan.errors.planned], "k*", label="this plan")
    axes.set_xlabel("epsilon")
    axes.set_ylabel("standard error of the mean")
    axes.set_title(f"n = {plan.terms.parties:,}, delta = {plan.terms.delta}")


def _errors_by_parties(axes: Axes, plan: Plan) -> None:
    sizes = [10**power for power in range(2, 7)]
    rows = [model_errors(plan, size, float(plan.terms.epsilon)) for size in sizes]
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
    mu = gaussian_mu(float(terms.epsilon), float(terms.delta))
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
