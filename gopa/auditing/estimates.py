"""What published sums say about the inputs. `specs/10-values.md`, [Q7], [Q11] to [Q13]."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from gopa.auditing.figures import EXACT, decimal_of, root_of, text_of
from gopa.messages.manifest import Manifest, Trust
from gopa.messages.phases import Phase
from gopa.rules import RoundFindings

_CLEAR: Final = 5
"""A sum of weights below so many of its standard errors is not divided by ([Q13])."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Sum and mean of each coordinate in the units of the inputs, as text."""

    total: tuple[str, ...] = ()
    mean: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()


def estimates_of(manifest: Manifest, found: RoundFindings) -> Estimates:
    """Estimates from the sums of a round; none where it has no result.

    Rounding is counted in full, as nobody knows who was rounded. The largest weight is not
    in the manifest: of weighted rounds the mean is given and no sum.
    """
    if found.sums is None or not found.final:
        return Estimates()
    count = len(found.final)
    noise = count * Fraction(manifest.terms.noise.variance) + _left_over(manifest, found)
    if manifest.weighted:
        return _weighted(manifest, found.sums, count, noise)
    terms = manifest.terms
    low, step = Fraction(terms.low), Fraction(terms.high - terms.low) / terms.steps
    totals = [count * low + step * each for each in found.sums]
    deviation = EXACT.multiply(decimal_of(step), root_of(noise + Fraction(count, 4)))
    error = text_of(EXACT.divide(deviation, Decimal(count)))
    return Estimates(
        total=tuple(text_of(decimal_of(each)) for each in totals),
        mean=tuple(text_of(decimal_of(each / count)) for each in totals),
        stderr=(error,) * len(totals),
    )


def _left_over(manifest: Manifest, found: RoundFindings) -> Fraction:
    """The variance of masks towards parties that are gone, where they stay in the sum."""
    if manifest.trust is not Trust.HONEST_BUT_CURIOUS or found.graph is None:
        return Fraction(0)
    committed = next((each.members for each in found.lists if each.phase is Phase.COMMIT), ())
    final, void = set(found.final or ()), set(found.void)
    gone = set(committed) - final
    low, high = found.graph.edges()
    kept = sum(
        ((u in final and v in gone) or (v in final and u in gone)) and (u, v) not in void
        for u, v in zip(low.tolist(), high.tolist(), strict=True)
    )
    return kept * (Fraction(manifest.terms.mask_deviation) ** 2 + Fraction(1, 12))


def _weighted(manifest: Manifest, sums: tuple[int, ...], count: int, noise: Fraction) -> Estimates:
    *above, weight = sums
    blur = noise + Fraction(count, 4)
    if weight <= 0 or Fraction(weight) ** 2 <= _CLEAR**2 * blur:
        return Estimates()
    terms = manifest.terms
    boxed = terms.squared_sensitivity >= terms.dimension * terms.steps**2
    rows = [
        (_in_box if boxed else _in_ball)(manifest, Fraction(each), weight, count, noise)
        for each in above
    ]
    return Estimates(
        mean=tuple(text_of(decimal_of(mean)) for mean, _ in rows),
        stderr=tuple(text_of(root_of(square)) for _, square in rows),
    )


def _in_box(
    manifest: Manifest, above: Fraction, weight: int, count: int, noise: Fraction
) -> tuple[Fraction, Fraction]:
    """[Q11]: the mean, and the square of its error."""
    terms = manifest.terms
    width, ratio = Fraction(terms.high - terms.low), above / weight
    square = width**2 * (noise * (1 + ratio**2) + Fraction(count, 2)) / weight**2
    return Fraction(terms.low) + width * ratio, square


def _in_ball(
    manifest: Manifest, above: Fraction, weight: int, count: int, noise: Fraction
) -> tuple[Fraction, Fraction]:
    """[Q12]: the mean, and the square of its error."""
    terms = manifest.terms
    step = Fraction(terms.high - terms.low) / terms.steps
    share = Fraction(weight, terms.steps)
    mean = (count * Fraction(terms.low) + step * above) / share
    square = (step**2 + (mean / terms.steps) ** 2) * (noise + Fraction(count, 4)) / share**2
    return mean, square
