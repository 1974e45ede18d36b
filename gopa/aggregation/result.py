"""The result of a round: read from its sum, and said in short lines for a person."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from gopa.aggregation.encoding import VOUCHED, Encoding, NoisySum, Plain, ValueEstimate
from gopa.aggregation.engine import Carried, Excluded, Mode, Trust
from gopa.aggregation.showing import (
    draw_intervals,
    numbers_table,
    plain_data,
    summary_table,
    titled_axes,
)
from gopa.aggregation.values import Structure, Value, flat, labels, names_of
from gopa.planning import PrivacyStatement, Terms
from gopa.planning.explanation import noise_of_liars
from gopa.planning.outcome import LENGTH_UNPROVED
from gopa.planning.usefulness import NOISY_WORDS, NoisyNumber, numbers_warning
from gopa.support.rounding import listed, plus_minus
from gopa.support.wording import (
    EXACT,
    EXACT_DIFFERENCE,
    counted,
    modes_of,
)
from wire.errors import GopaError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.panel import Panel

FORMAT: Final = "gopa-result/v1"

_APART: Final = frozenset({"privacy", "transcript", "asked", "excluded"})
"""Fields that plain data has in another form."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    """The outcome of one round. Values have the structure of the parties' values.

    `mean` and `sum` are over the `included` parties and carry noise; `stderr` and
    `sum_stderr` are the standard errors that this noise, rounding and, honest but curious,
    masks left in the sum give them; they say nothing of how parties were chosen.
    `rounding` is the variance of the mean that rounding has at most, and part of `stderr`.
    With weights, `mean` is the weighted one, `sum` the sum of weight times value, and
    `weight` the noisy sum of the weights.

    `privacy` states the privacy cost of the round; it is None in mode off, which claims
    nothing, and where the plan has no epsilon: `exact` says then that nobody added noise.
    `excluded` says where and why parties were lost, `rolled_back` whose masks were
    opened after that. `clipped` counts coordinates that were moved into the range and
    `scaled` vectors that were shortened: a simulation knows, a session would not.
    `attempts` counts rounds, `vetoes` those among them that ended without a result after
    masked values were out, and `organiser_vetoes` those that the organiser ended though the log
    had what they needed. `transcript` is where the log is, if there is one; a pickled copy says
    which log that was, and no longer leads there. `warnings` say what whoever uses the numbers
    should know first, such as that they are mostly noise. `noise_of_liars` says what parties that
    lie could do with their noise, where lengths are proved and its law is not.

    `asked` says whether the mean or the sum was asked for: that is `value`, with its `error`, and
    `float(result)`. In a notebook a result shows itself as a table, and `plot` draws it.
    """

    mean: Any
    sum: Any
    stderr: Any
    sum_stderr: Any
    privacy: PrivacyStatement | None
    included: tuple[int, ...]
    excluded: tuple[Excluded, ...]
    rolled_back: tuple[int, ...]
    clipped: int
    scaled: int
    rounding: float
    mode: Mode
    trust: Trust
    simulation: bool
    attempts: int
    vetoes: int
    organiser_vetoes: int
    transcript: Any
    weight: float | None = None
    weight_stderr: float | None = None
    warnings: tuple[str, ...] = ()
    asked: Literal["mean", "sum"] = "mean"
    exact: bool = False
    noise_of_liars: str = ""

    @property
    def count(self) -> int:
        """How many parties are in the result."""
        return len(self.included)

    @property
    def kind(self) -> str:
        """What was asked for: "mean", "sum", "histogram" or "variance"."""
        return self.asked

    @property
    def value(self) -> Any:
        """What was asked for, in the structure of the parties' values."""
        return self.sum if self.asked == "sum" else self.mean

    @property
    def error(self) -> Any:
        """The standard error of `value`."""
        return self.sum_stderr if self.asked == "sum" else self.stderr

    @property
    def epsilon(self) -> float:
        """What a party in it has spent: infinity where nothing is claimed, as of exact sums."""
        return math.inf if self.privacy is None else self.privacy.epsilon

    @property
    def labels(self) -> list[str]:
        """What to call each number of `value`: names of columns, or places in it."""
        return labels(self.value)

    def headlines(self) -> list[tuple[str, str]]:
        """The numbers themselves, in words; what was asked for comes first."""
        lines = [
            ("mean", numbers(self.mean, self.stderr)),
            ("sum", numbers(self.sum, self.sum_stderr)),
        ]
        return lines[:1] if self.asked == "mean" else lines[::-1]

    def to_dict(self) -> dict[str, Any]:
        """Everything in it as plain Python data under stable names, which `docs/python.md` lists.

        Arrays and tuples become lists, keys of dicts become text, and what is not a number
        becomes None. Of the transcript the session and the round are kept.
        """
        transcript = self.transcript
        found = {
            "format": FORMAT,
            "kind": self.kind,
            "value": self.value,
            "error": self.error,
            "count": self.count,
            **{
                each.name: getattr(self, each.name)
                for each in fields(self)
                if each.name not in _APART
            },
            "excluded": [asdict(lost) for lost in self.excluded],
            "privacy": None if self.privacy is None else privacy_record(self.privacy),
            "session": transcript.session.hex() if transcript else None,
            "round": transcript.round if transcript else None,
        }
        return {name: plain_data(each) for name, each in found.items()}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON; every float is written so that it reads back as the same one."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The axes with what was asked for and its errors: `ax`, or those of a figure of its own.

        Raises:
            BackendError: the extra `plot` is not installed.
        """
        simulated = ", simulation" if self.simulation else ""
        axes = titled_axes(ax, f"{self.kind} over {self.count} parties{simulated}")
        self._draw(axes)
        return axes

    def _draw(self, axes: Axes) -> None:
        draw_intervals(axes, self.kind, self.labels, flat(self.value), flat(self.error))

    def __float__(self) -> float:
        """What was asked for, where that is one number; `UsageError` where it is more."""
        found = flat(self.value)
        if len(found) != 1:
            message = f"this result holds {len(found)} numbers: take one of them from `value`"
            raise UsageError(message, "result")
        return float(found[0])

    def __str__(self) -> str:
        """A summary for a person; long vectors are shortened."""
        return "\n".join(f"{name:<9}{text}" for name, text in report_lines(self))

    def __repr__(self) -> str:
        found = flat(self.value)
        shown = f" {numbers(self.value, self.error)}" if len(found) == 1 else ""
        many = f" of {len(found)} numbers" if len(found) > 1 else ""
        simulated = ", simulation" if self.simulation else ""
        exact = f", {EXACT}" if self.exact else ""
        told = [words for words in NOISY_WORDS if any(words in each for each in self.warnings)]
        noisy = "".join(f", WARNING: {words}" for words in told)
        head = f"{self.kind}{shown}{many}, {counted(self.count, 'party', 'parties')}"
        return f"<{head}, mode {self.mode}{simulated}{exact}{noisy}>"

    def _repr_html_(self) -> str:
        """The same summary as a table, for notebooks."""
        lines = report_lines(self)
        values, errors = flat(self.value), flat(self.error)
        if len(values) == 1:
            return summary_table(lines)
        bars = self.kind == "histogram"
        numbers = list(zip(self.labels, values.tolist(), errors.tolist(), strict=True))
        return numbers_table(self.kind, numbers, lines[1:], bars=bars)

    def __rich__(self) -> Panel:
        """The same summary in a frame, for `rich.print`."""
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        for name, text in report_lines(self):
            grid.add_row(Text(name, "bold"), Text(text))
        return Panel(grid, title="gopa", expand=False)


class WeightTooSmall(GopaError):
    """The sum of the weights cannot be told from zero, so there is no weighted mean.

    `result` holds everything else: the weighted sum, the privacy that was spent, and the
    transcript. Its `mean` is not a number.
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message, result)
        self.message = message
        self.result = result

    def __str__(self) -> str:
        return self.message


def report_lines(result: Result) -> list[tuple[str, str]]:
    """What a person wants to know first."""
    lines = result.headlines()
    if result.exact:
        lines.append(("EXACT", f"{EXACT}; {EXACT_DIFFERENCE}"))
    lines.extend(("warning", each) for each in result.warnings)
    lines.append(("parties", _parties(result)))
    if result.weight is not None and result.weight_stderr is not None:
        lines.append(("weight", f"{plus_minus(result.weight, result.weight_stderr)} in all"))
    lines.extend(_changes(result))
    if result.attempts > 1:
        lines.append(("attempts", f"{result.attempts}, {result.vetoes} after masked values"))
    if result.organiser_vetoes:
        lines.append(("VETOED", f"{counted(result.organiser_vetoes, 'attempt')}, by the organiser"))
    lines.extend([("privacy", "none")] if result.exact else _privacy(result.privacy))
    lines.append(("mode", _mode(result)))
    if result.noise_of_liars:
        law = "" if result.exact else "isotropic, law not proved for liars: "
        lines.append(("noise", f"{law}{result.noise_of_liars}"))
    return lines


def numbers(mean: Any, deviation: Any) -> str:
    """A value with its standard errors, the first few numbers of it; columns have their names."""
    names = names_of(mean)
    named = names if names and any(names) else None
    return listed(flat(mean).tolist(), flat(deviation).tolist(), named)


def privacy_record(statement: PrivacyStatement) -> dict[str, Any]:
    """The privacy cost as data: epsilon, a delta for each adversary, and what it rests on."""
    return {
        "epsilon": statement.epsilon,
        "claims": [asdict(claim) for claim in statement.claims],
        "assumptions": list(statement.assumptions),
    }


def _parties(result: Result) -> str:
    everybody = result.count + len(result.excluded)
    if not result.excluded:
        return f"all {everybody}"
    causes = Counter((lost.phase, lost.cause) for lost in result.excluded)
    reasons = ", ".join(
        f"{count} {cause.lower()} at {phase.lower()}" for (phase, cause), count in causes.items()
    )
    undone = f"; masks of {len(result.rolled_back)} opened" if result.rolled_back else ""
    return f"{result.count} of {everybody} ({reasons}{undone})"


def _changes(result: Result) -> Iterator[tuple[str, str]]:
    if result.clipped:
        were = "number was" if result.clipped == 1 else "numbers were"
        yield "clipped", f"{result.clipped} {were} outside the range"
    if result.scaled:
        were = "vector was" if result.scaled == 1 else "vectors were"
        yield "scaled", f"{result.scaled} {were} too long"


def _privacy(statement: PrivacyStatement | None) -> Iterator[tuple[str, str]]:
    """One line for each adversary, and what it rests on."""
    if statement is None:
        yield "privacy", "no claim"
        return
    head = "privacy"
    for claim in statement.claims:
        worth = f"epsilon {statement.epsilon:g}, delta {claim.delta:.2g}"
        yield head, f"{worth}, {claim.against}"
        head = ""
    yield "assumed", statement.assumptions[0]
    if LENGTH_UNPROVED in statement.assumptions:
        yield "", LENGTH_UNPROVED


def _mode(result: Result) -> str:
    trust = "" if result.trust == "malicious" else ", honest but curious: liars are not found"
    simulated = ", simulation" if result.simulation else ""
    modes = modes_of(exact=result.exact, in_rows=bool(result.noise_of_liars))
    return f"{modes[result.mode]}{trust}{simulated}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the integers of a round mean; `exact`: no party rounded its value."""

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
