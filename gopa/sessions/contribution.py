"""Turns a party's value into integers for a round, and what became of the round into a result.

The statuses of rounds, which the organiser's messages show, are made here as well. Results are as
the party itself has checked them.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Final

import numpy as np

from commitments import ristretto255
from gopa.aggregation.encoding import Encoded, Encoding, NoisySum, Plain
from gopa.aggregation.engine import RoundAborted, exact_remark, fresh_stream
from gopa.aggregation.result import numbers, warnings_of
from gopa.aggregation.values import Structure, Value, flat
from gopa.aggregation.weighting import Weights, encoding_with
from gopa.contract.framing import Posted
from gopa.contract.manifest import Manifest, Mode
from gopa.contract.organiser import Abort, Close, Open, Released, ResultMessage, read_control
from gopa.contract.phases import Kind, Phase
from gopa.contract.row_terms import sums_of_positions
from gopa.protocol.admission.tracker import MessageProgress, TrackedRound, close_phase
from gopa.protocol.party import Part
from gopa.support.wording import EXACT, PARTS, counted, name_of
from wire.domains import ROUNDING
from wire.errors import MalformedMessage, UsageError
from wire.randomness import Rng
from wire.secret import Guarded

FORMAT: Final = "gopa-contribution/v1"

_OF_ONE: Final = frozenset({"clipped", "scaled"})
"""What was done to a value says something about it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Says that a logical round has its result, or will have none any more.

    `count` is how many parties are in the result, `included` whether this one is: also without a
    part in the end of the last attempt, if others opened its mask. `part` is what part it had.
    """

    round: int
    logical: int
    attempt: int
    part: Part
    outcome: ResultMessage | Abort
    count: int
    included: bool


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Offer(Guarded):
    """Holds integers for the next logical round, until what became of it is decided."""

    row: tuple[int, ...]
    decided: asyncio.Future[Decided]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Contribution:
    """Reports one round of a session in which a party offered a value.

    `mean` and `sum` are over `count` parties and carry noise; `stderr` and `sum_stderr` are
    the standard errors that noise and rounding give them; `warnings` say what whoever uses the
    numbers should know first. `exact`: nobody added noise. `included` says whether this
    party's value is in them, and `part` what became of it otherwise.

    The party has checked what concerns itself and its neighbours. That the sum is the right
    one is for an audit of the log to say: `gopa audit`, or `SessionAggregator`.

    `float` gives the mean where it is one number; in a notebook a contribution is a table.
    """

    session: bytes
    round: int
    logical: int
    attempt: int
    mean: Any
    sum: Any
    stderr: Any
    sum_stderr: Any
    count: int
    included: bool
    part: Part
    clipped: int
    scaled: int
    warnings: tuple[str, ...] = ()
    exact: bool = False

    def __str__(self) -> str:
        """A summary for a person; long vectors are shortened."""
        return "\n".join(f"{name:<9}{text}" for name, text in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        yours = (
            "yours among them" if self.included else f"without yours: {PARTS[name_of(self.part)]}"
        )
        return [
            ("mean", numbers(self.mean, self.stderr)),
            *([("EXACT", EXACT)] if self.exact else []),
            *(("warning", each) for each in self.warnings),
            ("parties", f"{self.count}, {yours}"),
        ]

    def __repr__(self) -> str:
        count = len(flat(self.mean))
        shown = numbers(self.mean, self.stderr) if count == 1 else f"of {count} numbers"
        over = counted(self.count, "party", "parties")
        noisy = f", {EXACT}" if self.exact else ""
        noisy += "".join(f", WARNING: {each.partition(':')[0]}" for each in self.warnings)
        return f"<mean {shown}, round {self.round}, {over}, {self.part.name.lower()}{noisy}>"

    def _repr_html_(self) -> str:
        """The same summary as a table, for notebooks."""
        from gopa.aggregation.showing import summary_table

        return summary_table(self._lines())

    def __float__(self) -> float:
        """The mean, where it is one number; `UsageError` where it is more."""
        found = flat(self.mean)
        if len(found) != 1:
            message = f"this result holds {len(found)} numbers: take one of them from `mean`"
            raise UsageError(message, "result")
        return float(found[0])

    def to_dict(self) -> dict[str, Any]:
        """What it says of the round as plain Python data, which `docs/python.md` lists.

        Arrays and tuples become lists, keys of dicts become text, and what is not a number
        becomes None. `clipped` and `scaled` tell about one's own value, and are not in it.
        """
        from gopa.aggregation.showing import plain_data

        found = {
            "format": FORMAT,
            "session": self.session.hex(),
            **{each.name: getattr(self, each.name) for each in fields(self)[1:]},
            "part": self.part.name.lower(),
        }
        return {name: plain_data(each) for name, each in found.items() if name not in _OF_ONE}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON; every float is written so that it reads back as the same one."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Offered(Guarded):
    """Holds a value as integers, and how to read the sum of such."""

    encoding: Encoding
    encoded: Encoded

    @property
    def row(self) -> tuple[int, ...]:
        """The integers."""
        row = self.encoded.rows[0]
        return () if row is None else tuple(row.tolist())


def offered(
    manifest: Manifest, encoding: Encoding, value: Value, *, clip: bool, rng: Rng
) -> Offered:
    """A value on the grid, rounded once.

    Raises:
        InvalidValue, OutOfRange, UsageError: the value does not fit the session.
    """
    if value is None:
        raise UsageError("must be a value: whoever has none does not join", "value")
    size = Structure.of(value).size
    wanted = manifest.terms.dimension - manifest.weighted
    if size != wanted:
        message = (
            f"it holds {counted(size, 'number')}, and the values of this session hold {wanted}"
        )
        raise UsageError(message, "value")
    stream = fresh_stream(ristretto255(), rng, ROUNDING)
    others = [None] * (manifest.terms.parties - 1)
    return Offered(encoding, encoding.encode([value, *others], stream, clip=clip))


def contribution(manifest: Manifest, offered: Offered, decided: Decided) -> Contribution:
    """What became of a value, in its own units and structure.

    Raises:
        RoundAborted: no attempt had a result.
    """
    outcome = decided.outcome
    if isinstance(outcome, Abort):
        raise _aborted(manifest, outcome, decided)
    estimate = offered.encoding.decode(noisy_sum(manifest, outcome, decided.count))
    structure = offered.encoded.structure
    mean = structure.restore(estimate.mean)
    return Contribution(
        session=manifest.session,
        round=decided.round,
        logical=decided.logical,
        attempt=decided.attempt,
        mean=mean,
        sum=structure.restore(estimate.total),
        stderr=structure.restore(estimate.mean_deviation),
        sum_stderr=structure.restore(estimate.total_deviation),
        count=decided.count,
        included=decided.included,
        part=decided.part,
        clipped=offered.encoded.clipped,
        scaled=offered.encoded.scaled,
        warnings=warnings_of(manifest.terms, estimate, mean),
        exact=manifest.terms.exact,
    )


def noisy_sum(manifest: Manifest, result: ResultMessage, count: int) -> NoisySum:
    """The sums of points of the grid over so many parties; where rows are proved they are lengths.

    Others may have rounded: that counts, also if a party did not.
    """
    noise = count * float(manifest.terms.noise.variance)
    sums = sums_of_positions(manifest.terms, result.sums, count)
    return NoisySum(np.array(sums, dtype=np.int64), count, noise, exact=False)


def _aborted(manifest: Manifest, abort: Abort, decided: Decided) -> RoundAborted:
    return RoundAborted.after(
        decided.attempt + 1,
        abort.reason,
        masked=abort.released is not Released.NONE,
        culprits=abort.culprits,
        remark=exact_remark(manifest.terms, masked=abort.released is not Released.NONE),
    )


def encoding_for(
    manifest: Manifest, weight: float | None, most: Decimal | None, *, vouched: bool = False
) -> Encoding:
    """The encoding of one value: the first of as many as the plan has parties.

    With `vouched` a vector may be longer than the plan's norm.

    Raises:
        UsageError: the session has no weights, or needs one, or the weight is out of range.
    """
    if vouched and manifest.weighted:
        raise UsageError("weights keep to the plan's norm: leave one of both out", "vouched")
    if (weight is None) != (most is None):
        raise UsageError("must come together with the largest weight of the session", "weight")
    if weight is None or most is None:
        if manifest.weighted:
            raise UsageError("this session has weights: give weight and max_weight", "weight")
        return Plain(manifest.terms, vouched)
    if not manifest.weighted:
        raise UsageError("this session has no weights: leave them out", "weight")
    parties = manifest.terms.parties
    weights = Weights.checked([weight, *[0.0] * (parties - 1)], most, parties)
    return encoding_with(weights, manifest.terms, proved=manifest.mode is Mode.FULL)


_OPENING: Final = frozenset({Kind.OPEN, Kind.CLOSE, Kind.RESULT, Kind.ABORT})


@dataclass(frozen=True, slots=True)
class RoundStatus:
    """Says where a round stands behind a message of the organiser.

    `opens` is the phase that is open now, None when the round is over. `present` is how many
    parties are still in it, None before the roll is known. `part` is what became of this party:
    None as long as it takes part or still may.
    """

    round: int
    logical: int
    attempt: int
    opens: Phase | None
    present: int | None
    ended: ResultMessage | Abort | None
    part: Part | None = None


class RoundProgress:
    """Turns the organiser's entries into statuses, without judging them: the party does that.

    Entries come in the order of the log; it may begin with any round. It says nothing more
    about a round in which a message cannot be read.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._progress = MessageProgress()
        self._round: TrackedRound | None = None
        self._number = 0

    @property
    def news(self) -> RoundStatus | None:
        """The status behind the last message that was read; None if there is none."""
        return None if self._round is None else _news(self._round)

    def lists(self, number: int, author: bytes) -> bool:
        """Whether the final list of this round has that party, as far as it was heard."""
        found = self._round
        if found is None or found.number != number or found.final is None:
            return False
        return found.places.get(author) in found.final

    def hear(self, posted: Posted) -> RoundStatus | None:
        """The status behind this entry, if it completes a message."""
        entry = posted.entry
        if entry.round < self._number or entry.kind not in _OPENING:
            return None
        if entry.round > self._number:
            self._number, self._progress, self._round = entry.round, MessageProgress(), None
        if not self._progress.continues(entry):
            return None
        body = self._progress.take(entry, keep=True)
        if body is None:
            return None
        try:
            self._apply(entry.kind, body)
        except MalformedMessage:
            self._round = None
        return self.news

    def _apply(self, kind: int, body: bytes) -> None:
        message = read_control(kind, body)
        if isinstance(message, Open):
            self._round = TrackedRound(self._number, message.logical, message.attempt)
        elif self._round is None:
            return
        elif isinstance(message, Close):
            close_phase(self._manifest, self._round, message)
        else:
            self._round.ended, self._round.opens = message, None


def _news(found: TrackedRound) -> RoundStatus:
    return RoundStatus(
        round=found.number,
        logical=found.logical,
        attempt=found.attempt,
        opens=found.opens,
        present=_present(found),
        ended=found.ended,
    )


def _present(found: TrackedRound) -> int | None:
    if found.roll is None:
        return None
    if found.final is not None:
        return len(found.final)
    return len(found.lists[-1][1]) if found.lists else len(found.roll.parties)
