"""Why each number of a plan is what it is."""

from __future__ import annotations

import math

from gopa.planning.joined import Guarantee
from gopa.planning.request import Request
from gopa.planning.result import Errors, Reason
from gopa.planning.terms import Terms
from zkp.noise_table import GaussianTable


def explain(
    request: Request, terms: Terms, worth: Guarantee, method: str, errors: Errors
) -> tuple[Reason, ...]:
    """One line for each number, in the order in which they depend on each other."""
    return (
        Reason(
            "parties that join",
            f"{terms.survivors} to {terms.parties}",
            "delta holds for every number of them; with fewer there is no round",
        ),
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
            _why_neighbours(worth, method),
        ),
        *_recovery(terms, worth),
        Reason(
            "grid steps m",
            str(terms.steps),
            _why_steps(request),
        ),
        Reason("noise", describe_noise(terms), "the smallest that meets delta with the exact law"),
        Reason("masks", describe_masks(terms), _why_masks(terms, worth)),
        Reason(
            "delta",
            f"{worth.total:.4g}",
            f"{worth.noise:.4g} from noise and masks over {terms.releases} releases, "
            f"{worth.beta:.2g} for the graph in each of {terms.tries} attempts",
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


def _why_neighbours(worth: Guarantee, method: str) -> str:
    if not worth.graph:
        return "everybody is everybody's neighbour, and masks with survivors always remain"
    return f"the smallest for which a bad graph is rarer than {worth.graph:.2g} ({method})"


def _recovery(terms: Terms, worth: Guarantee) -> tuple[Reason, ...]:
    if terms.threshold is None:
        return ()
    why = (
        f"so many corrupt neighbours are rarer than {worth.recovery:.2g} (coins: {terms.beacon}); "
        "with so many honest ones left, a party that vanishes at the end does not stop the round"
    )
    return (Reason("recovery", f"more than {terms.threshold} of the neighbours", why),)


def _why_steps(request: Request) -> str:
    if request.steps is not None:
        return "given"
    if request.integers:
        return "every integer is on the grid"
    if request.dimension > 1:
        return "so that rounding does not lengthen vectors much, as far as noise can be wide"
    return "so that each party's noise spans about eight steps"


def _why_masks(terms: Terms, worth: Guarantee) -> str:
    if terms.mask == "uniform":
        return "they hide everything but the sum while the honest survivors are connected"
    return f"the worst shift between two parties flows with energy at most {worth.energy}"
