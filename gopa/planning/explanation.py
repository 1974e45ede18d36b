"""Why each number of a plan is what it is."""

from __future__ import annotations

import math

from gopa.planning.reach import Reach
from gopa.planning.request import Request
from gopa.planning.result import Errors, Reason, Terms
from zkp.noise_table import GaussianTable


def explain(
    request: Request, terms: Terms, reach: Reach, noise_delta: float, errors: Errors
) -> tuple[Reason, ...]:
    """One line for each number, in the order in which they depend on each other."""
    return (
        Reason(
            "honest parties",
            str(terms.honest),
            f"{terms.survivors} survivors at least, of whom {terms.corrupt} may be corrupt",
        ),
        Reason(
            "loss bound r",
            str(terms.loss),
            f"a party loses more neighbours with probability below 0.001 when each fails "
            f"with probability {request.dropout:g}; it is then removed",
        ),
        Reason(
            "neighbours k",
            str(terms.k),
            f"the smallest for which a bad graph is rarer than {reach.beta:.2g} ({reach.method})",
        ),
        Reason(
            "grid steps m",
            str(terms.steps),
            "given"
            if request.steps is not None
            else "so that each party's noise spans about eight steps",
        ),
        Reason("noise", describe_noise(terms), "the smallest that meets delta with the exact law"),
        Reason("masks", describe_masks(terms), _why_masks(terms, reach)),
        Reason(
            "delta",
            f"{noise_delta + reach.beta * terms.attempts * terms.rounds:.4g}",
            f"{noise_delta:.4g} from noise and masks over {terms.releases} releases, "
            f"{reach.beta:.2g} for the graph in each of {terms.attempts * terms.rounds} attempts",
        ),
        Reason(
            "error of the mean",
            f"{errors.planned:.4g}",
            f"a trusted curator would have {errors.curator:.4g}, local privacy {errors.local:.4g}",
        ),
    )


def describe_noise(terms: Terms) -> str:
    """The law and its parameters in one phrase."""
    law = terms.noise
    if isinstance(law, GaussianTable):
        scale = math.sqrt(law.square)
        return f"discrete Gaussian, s = {scale:.4g} steps, {law.rows} rows, {law.bits} bits"
    return f"{len(law.weights)} weighted bits, deviation {math.sqrt(law.variance):.4g} steps"


def describe_masks(terms: Terms) -> str:
    """The law of the masks in one phrase."""
    if terms.mask == "uniform":
        return "uniform"
    return f"rounded Gaussian, deviation {terms.mask_deviation} steps"


def _why_masks(terms: Terms, reach: Reach) -> str:
    if terms.mask == "uniform":
        return "they hide everything but the sum while the honest survivors are connected"
    return f"the worst shift between two parties flows with energy at most {reach.energy}"
