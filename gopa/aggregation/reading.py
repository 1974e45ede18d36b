"""Turns the sum of integers that a round came to into the result that a caller sees."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gopa.aggregation.encoding import VOUCHED, Encoding, NoisySum, Plain, ValueEstimate
from gopa.aggregation.engine import Carried, Mode, Trust
from gopa.aggregation.result import Result, WeightTooSmall
from gopa.aggregation.structure import Structure, Value, names_of
from gopa.planning import PrivacyStatement, Terms
from gopa.planning.explanation import noise_of_liars
from gopa.planning.usefulness import NoisyNumber, numbers_warning
from gopa.support.rounding import plus_minus


@dataclass(frozen=True, slots=True)
class Reading:
    """Says what the integers of a round mean; `exact`: no party rounded its value."""

    terms: Terms
    encoding: Encoding
    structure: Structure
    exact: bool


def result_of(  # noqa: PLR0913 - what a result says besides its numbers
    carried: Carried,
    reading: Reading,
    *,
    clipped: int,
    scaled: int,
    mode: Mode,
    trust: Trust,
    simulation: bool,
) -> Result:
    """The result in the units and the structure of the values.

    Raises:
        WeightTooSmall: the noisy sum of the weights cannot be told from zero.
    """
    count = len(carried.included)
    noise = count * float(reading.terms.noise.variance) + carried.residual
    found = reading.encoding.decode(NoisySum(carried.sums, count, noise, reading.exact))
    restore = reading.structure.restore
    mean = restore(found.mean)
    result = Result(
        mean=mean,
        sum=restore(found.total),
        stderr=restore(found.mean_deviation),
        sum_stderr=restore(found.total_deviation),
        privacy=_stated(carried.privacy, reading.encoding),
        included=carried.included,
        excluded=carried.excluded,
        rolled_back=carried.rolled_back,
        clipped=clipped,
        scaled=scaled,
        rounding=found.rounding,
        mode=mode,
        trust=trust,
        simulation=simulation,
        attempts=carried.attempts,
        vetoes=carried.vetoes,
        organiser_vetoes=carried.organiser_vetoes,
        transcript=carried.transcript,
        weight=found.weight,
        weight_stderr=found.weight_deviation,
        warnings=warnings_of(reading.terms, found, mean),
        exact=reading.terms.exact,
        noise_of_liars=noise_of_liars(reading.terms) if mode == "full" else "",
    )
    if not found.defined:
        weight, blur = found.weight or 0.0, found.weight_deviation or 0.0
        message = (
            f"the weights sum to {plus_minus(weight, blur)}, which "
            "cannot be told from zero: enlist more parties, or plan with less noise"
        )
        raise WeightTooSmall(message, result)
    return result


def _stated(privacy: PrivacyStatement | None, encoding: Encoding) -> PrivacyStatement | None:
    """The statement, with what the caller answers for."""
    if privacy is None or not (isinstance(encoding, Plain) and encoding.vouched):
        return privacy
    return replace(privacy, assumptions=(VOUCHED, *privacy.assumptions))


def warnings_of(terms: Terms, found: ValueEstimate, mean: Value) -> tuple[str, ...]:
    """What to know of the number that noise blurs most; nothing where all of them are clear.

    A value that is one number, and columns of such, are judged each by itself. Of others the first
    stands for all: without weights they have one error, or are squares of the values.
    """
    names, size = names_of(mean), len(found.mean)
    ranges = found.spans or ((float(terms.low), float(terms.high)),) * size
    judged = size if names or found.weight is not None or found.spans else 1
    numbers = [
        NoisyNumber(
            float(found.mean[place]),
            float(found.mean_deviation[place]),
            *ranges[place],
            name=names[place] if names else "",
            alone=names is not None,
        )
        for place in range(judged)
    ]
    noisy = numbers_warning(terms, [each for each in numbers if math.isfinite(each.error)])
    return (noisy,) if noisy else ()
