"""Holds the inputs a party has ready for rounds to come, and gives back what became of them.

What comes back is the result as the party itself has checked it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import numpy as np

from gopa.aggregation.encoding import Encoded, Encoding, NoisySum
from gopa.aggregation.errors import RoundAborted
from gopa.aggregation.result import numbers
from gopa.messages.manifest import Manifest
from gopa.messages.organiser import Abort, Released, ResultMessage
from gopa.party import Part
from gopa.wording import PARTS, name_of
from wire.secret import Guarded


@dataclass(frozen=True, slots=True)
class Decided:
    """A logical round has its result, or will have none any more.

    `count` is how many parties are in the result. `part` is what part this party had in the
    last attempt.
    """

    round: int
    logical: int
    attempt: int
    part: Part
    outcome: ResultMessage | Abort
    count: int


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Offer(Guarded):
    """Integers on the session's grid for the next logical round; done when it is decided."""

    row: tuple[int, ...]
    decided: asyncio.Future[Decided]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Contribution:
    """One round of a session in which a party offered a value.

    `mean` and `sum` are over `count` parties and carry noise; `stderr` and `sum_stderr` are
    the standard errors that noise and rounding give them. `included` says whether this
    party's value is in them, and `part` what became of it otherwise.

    The party has checked what concerns itself and its neighbours. That the sum is the right
    one is for an audit of the log to say: `gopa audit`, or `SessionAggregator`.
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

    def __str__(self) -> str:
        """A summary for a person; long vectors are shortened."""
        yours = (
            "yours among them" if self.included else f"without yours: {PARTS[name_of(self.part)]}"
        )
        return f"mean     {numbers(self.mean, self.stderr)}\nparties  {self.count}, {yours}"

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: round {self.round}, {self.count} parties, {self.part.name.lower()}>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Offered(Guarded):
    """A value as integers, and how to read the sum of such."""

    encoding: Encoding
    encoded: Encoded

    @property
    def row(self) -> tuple[int, ...]:
        """The integers."""
        row = self.encoded.rows[0]
        return () if row is None else tuple(row.tolist())


def contribution(manifest: Manifest, offered: Offered, decided: Decided) -> Contribution:
    """In the units and the structure of the value.

    Raises:
        RoundAborted: no attempt had a result.
    """
    outcome = decided.outcome
    if isinstance(outcome, Abort):
        raise _aborted(outcome, decided)
    estimate = offered.encoding.decode(_noisy(manifest, outcome, decided))
    structure = offered.encoded.structure
    return Contribution(
        session=manifest.session,
        round=decided.round,
        logical=decided.logical,
        attempt=decided.attempt,
        mean=structure.restore(estimate.mean),
        sum=structure.restore(estimate.total),
        stderr=structure.restore(estimate.mean_deviation),
        sum_stderr=structure.restore(estimate.total_deviation),
        count=decided.count,
        included=decided.part is Part.ACTIVE,
        part=decided.part,
        clipped=offered.encoded.clipped,
        scaled=offered.encoded.scaled,
    )


def _noisy(manifest: Manifest, result: ResultMessage, decided: Decided) -> NoisySum:
    """Others may have rounded: that counts, also if this party did not."""
    noise = decided.count * float(manifest.terms.noise.variance)
    return NoisySum(np.array(result.sums, dtype=np.int64), decided.count, noise, exact=False)


def _aborted(abort: Abort, decided: Decided) -> RoundAborted:
    return RoundAborted.after(
        decided.attempt + 1,
        abort.reason,
        masked=abort.released is not Released.NONE,
        culprits=abort.culprits,
    )
