"""What a report says of a session and its rounds: estimates, privacy, and how noisy they are.

`specs/11-audit.md`, 11-R1 and 11-R2; what sums say of the inputs: `specs/10-values.md`, 10-Q7 and
10-Q11 to 10-Q13. Numbers are text of at most 12 digits, in one spelling (11-R4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from hashlib import sha256
from typing import Final

from gopa.auditing.report import (
    Exclusion,
    ListReport,
    PrivacyClaim,
    PrivacyReport,
    RoundReport,
    SessionReport,
)
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Path, TestCoins, Trust
from gopa.contract.phases import Phase
from gopa.contract.row_terms import middle, sums_of_positions
from gopa.contract.terms import coin_choices
from gopa.planning import privacy
from gopa.planning.usefulness import BlurredAnswer, noise_warning
from gopa.protocol.rules import Findings, RoundFindings, outcome_of
from gopa.support.rounding import blur
from gopa.support.wording import epsilon_text
from wire.randomness import Rng

MOST_DRAWN: Final = 256
"""The graph of a larger round is not listed."""

_CLEAR: Final = 5
"""A sum of weights below so many of its standard errors is not divided by (10-Q13)."""

_DIGITS: Final = 12

_PLAIN: Final = range(-7, 16)
"""Exponents for which a number is written out."""

EXACT: Final = Context(prec=60, rounding=ROUND_HALF_EVEN)

_SHORT: Final = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)

_UPWARDS: Final = Context(prec=_DIGITS, rounding=ROUND_CEILING)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Holds sum and mean of each coordinate in the units of the inputs, as text."""

    total: tuple[str, ...] = ()
    mean: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()


def estimates_of(manifest: Manifest, found: RoundFindings) -> Estimates:
    """Computes estimates from the sums of a round; none where it has no result.

    Rounding is counted in full, as nobody knows who was rounded. The largest weight is not
    in the manifest: of weighted rounds the mean is given and no sum.
    """
    if found.sums is None or not found.final:
        return Estimates()
    count = len(found.final)
    terms = manifest.terms
    noise = count * Fraction(terms.noise.variance) + _left_over(manifest, found)
    sums = sums_of_positions(terms, found.sums, count)
    if manifest.weighted:
        return _weighted(manifest, sums, count, noise)
    low, step = Fraction(terms.low), Fraction(terms.high - terms.low) / terms.steps
    totals = {each: count * low + step * each for each in set(sums)}
    total = {each: text_of(decimal_of(value)) for each, value in totals.items()}
    mean = {each: text_of(decimal_of(value / count)) for each, value in totals.items()}
    deviation = EXACT.multiply(decimal_of(step), root_of(noise + Fraction(count, 4)))
    error = text_of(EXACT.divide(deviation, Decimal(count)))
    return Estimates(
        total=tuple(total[each] for each in sums),
        mean=tuple(mean[each] for each in sums),
        stderr=(error,) * len(sums),
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


def _weighted(manifest: Manifest, sums: list[int], count: int, noise: Fraction) -> Estimates:
    *above, weight = sums
    blur = noise + Fraction(count, 4)
    if weight <= 0 or Fraction(weight) ** 2 <= _CLEAR**2 * blur:
        return Estimates()
    terms = manifest.terms
    filled = terms.squared_sensitivity >= terms.dimension * terms.steps**2
    boxed = filled and manifest.path is not Path.ROWS
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
    """10-Q11: the mean, and the square of its error."""
    terms = manifest.terms
    width, ratio = Fraction(terms.high - terms.low), above / weight
    square = width**2 * (noise * (1 + ratio**2) + Fraction(count, 2)) / weight**2
    return Fraction(terms.low) + width * ratio, square


def _in_ball(
    manifest: Manifest, above: Fraction, weight: int, count: int, noise: Fraction
) -> tuple[Fraction, Fraction]:
    """10-Q12: the mean, and the square of its error."""
    terms = manifest.terms
    step = Fraction(terms.high - terms.low) / terms.steps
    share = Fraction(weight, terms.steps)
    centre = middle(terms) if manifest.path is Path.ROWS else Fraction(0)
    beside = (count * (Fraction(terms.low) - centre) + step * above) / share
    square = (step**2 + (beside / terms.steps) ** 2) * (noise + Fraction(count, 4)) / share**2
    return centre + beside, square


def session_report(session: bytes, manifest: Manifest) -> SessionReport:
    """Repeats what the manifest says."""
    terms = manifest.terms
    return SessionReport(
        session=session,
        manifest=sha256(manifest.to_bytes()).digest(),
        title=manifest.title.decode("utf-8", "replace"),
        organiser=manifest.organiser,
        mode=manifest.mode.name.lower(),
        path=manifest.path.name.lower(),
        trust=manifest.trust.name.lower().replace("_", "-"),
        beacon=beacon_name(manifest),
        coin_choices=_bits(manifest, coin_choices(terms).helped_bits),
        coin_choices_alone=_bits(manifest, coin_choices(terms).alone_bits),
        weighted=manifest.weighted,
        parties=terms.parties,
        corrupt=terms.corrupt,
        fewest=terms.survivors,
        dimension=terms.dimension,
        low=str(terms.low),
        high=str(terms.high),
        steps=terms.steps,
        epsilon=epsilon_text(terms.epsilon),
        delta=str(terms.delta),
        noise=noise_name(manifest),
        mask=terms.mask,
    )


def beacon_name(manifest: Manifest) -> str:
    """Names where the coins come from."""
    if isinstance(manifest.beacon, CommitReveal):
        return "commit-reveal"
    return "drand" if isinstance(manifest.beacon, DrandBeacon) else "simulation"


def _bits(manifest: Manifest, bits: Decimal) -> str:
    """Test coins are chosen by whoever runs the simulation, as often as it likes."""
    return "" if isinstance(manifest.beacon, TestCoins) else text_of(bits, upwards=True)


def noise_name(manifest: Manifest) -> str:
    """Names the law of the noise and the hash of its table."""
    law = manifest.terms.noise
    return f"{type(law).__name__} {law.table_hash().hex()}"


def round_report(
    manifest: Manifest, found: RoundFindings, statement: PrivacyReport | None
) -> RoundReport:
    """Describes one round."""
    low, high = ((), ()) if found.graph is None else found.graph.edges()
    drawn = len(found.roll) <= MOST_DRAWN
    values = estimates_of(manifest, found)
    return RoundReport(
        number=found.number,
        logical=found.logical,
        attempt=found.attempt,
        joined=found.roll,
        included=tuple(found.roll[place] for place in found.final or ()),
        excluded=exclusions(found),
        lists=tuple(
            ListReport(
                each.phase.name.lower(),
                each.step,
                each.cut,
                each.index,
                each.members,
                each.final,
            )
            for each in found.lists
        ),
        withheld=found.withheld,
        edge_count=len(low),
        edges=tuple((int(u), int(v)) for u, v in zip(low, high, strict=True)) if drawn else (),
        opened=found.opened,
        outcome=_outcome(found),
        sums=found.sums or (),
        total=values.total,
        mean=values.mean,
        stderr=values.stderr,
        abort="" if found.abort is None else found.abort.name.lower(),
        vetoed=found.veto,
        privacy=statement,
    )


def exclusions(found: RoundFindings) -> tuple[Exclusion, ...]:
    """Lists everybody whom a list lost; never who was barred and posted nothing."""
    return tuple(
        Exclusion(
            each.author,
            each.phase.name.lower(),
            "barred" if each.rule == "04-X5" else each.cause.name.lower(),
            each.rule,
            each.entry,
        )
        for each in found.removals
    )


def privacy_report(findings: Findings, number: int, rng: Rng) -> PrivacyReport:
    """States the privacy cost of round `number`; it had a valid final close.

    Raises `GopaError` where that cannot be derived.
    """
    manifest = findings.manifest
    stated = privacy.of(outcome_of(findings, number), rng=rng)
    return PrivacyReport(
        epsilon=text_of(stated.epsilon),
        claims=tuple(
            PrivacyClaim(
                each.against,
                text_of(each.delta, upwards=True),
                text_of(each.beta, upwards=True),
                each.how,
            )
            for each in stated.claims
        ),
        noise="" if manifest is None else noise_name(manifest),
        mask=stated.mask,
        releases=stated.releases,
        assumptions=stated.assumptions,
    )


def _outcome(found: RoundFindings) -> str:
    if found.sums is not None:
        return "result"
    return "open" if found.abort is None else "abort"


def decimal_of(value: Fraction | int) -> Decimal:
    """Converts to a decimal with 60 digits."""
    fraction = Fraction(value)
    return EXACT.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


def root_of(value: Fraction | int) -> Decimal:
    """Takes the square root with 60 digits."""
    return EXACT.sqrt(decimal_of(value))


def text_of(value: Decimal | float, *, upwards: bool = False) -> str:
    """Writes the number with 12 significant digits; a bound is rounded `upwards`."""
    context = _UPWARDS if upwards else _SHORT
    rounded = context.create_decimal(Decimal(value))
    if rounded.is_zero():
        return "0"
    rounded = rounded.normalize(context)
    if rounded.adjusted() not in _PLAIN:
        return context.to_sci_string(rounded)
    return format(rounded, "f")


@dataclass(frozen=True, slots=True)
class ReadTerms:
    """Holds what a report says about the plan of a session, as it says it."""

    parties: int
    corrupt: int
    fewest: int
    dimension: int
    low: str
    high: str
    epsilon: str
    delta: str


def warning_of(session: SessionReport, errors: Sequence[str]) -> str:
    """What whoever reads a result with these standard errors should know; empty if it is clear."""
    if session.exact:
        return ""
    terms = ReadTerms(
        parties=session.parties,
        corrupt=session.corrupt,
        fewest=session.fewest,
        dimension=session.dimension,
        low=session.low,
        high=session.high,
        epsilon=session.epsilon,
        delta=session.delta,
    )
    return warning(terms, errors)


def warning(terms: ReadTerms, errors: Sequence[str]) -> str:
    """The same of a report in JSON; empty where what stands there are no numbers."""
    try:
        error = max(map(float, errors), default=0.0)
        width = float(terms.high) - float(terms.low)
        epsilon, delta = float(terms.epsilon), float(terms.delta)
    except (OverflowError, ValueError):
        return ""
    if not (width > 0 and error >= 0):
        return ""
    answer = BlurredAnswer(
        parties=terms.parties,
        corrupt=terms.corrupt,
        survivors=terms.fewest,
        dimension=terms.dimension,
        epsilon=epsilon,
        delta=delta,
        recovers=2 * terms.fewest > terms.parties + terms.corrupt,
        error=error / width,
    )
    return noise_warning(answer, blur(error), terms.low, terms.high)
