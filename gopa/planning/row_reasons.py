"""Explains what a plan for long vectors proves of inputs and of noise, and what it does not.

Proved are lengths, and that coins place the noise; that a liar's noise has the planned law is not.
So the numbers say what liars could do with any noise of that length. Specification 14, rules I2 to
I5.
"""

from __future__ import annotations

import math
from typing import Final

from gopa.contract.row_terms import equation_points
from gopa.contract.terms import Terms
from gopa.planning.request import Request
from gopa.planning.result import PlanReason
from gopa.planning.row_noise import AimedNoise
from gopa.support.wording import counted, sentence
from zkp.rows.shape import RowShape

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
