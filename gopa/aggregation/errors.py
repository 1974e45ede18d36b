"""Says what can go wrong when values are averaged. No message tells what a value is."""

from __future__ import annotations

from typing import Literal

from gopa.contract.organiser import AbortReason
from gopa.planning import Terms
from gopa.support.wording import ABORTS, EXACT_DIFFERENCE, counted, name_of
from wire.errors import Aborted, UsageError


class InvalidValue(UsageError):
    """A party's value does not have the structure of the others, or is no number.

    `party` is the position of the value in the list, `coordinate` where inside it.
    """

    def __init__(self, message: str, party: int, coordinate: str = "") -> None:
        super().__init__(message, f"values[{party}]{coordinate}")
        self.args = (message, party, coordinate)
        self.party = party
        self.coordinate = coordinate


class OutOfRange(InvalidValue):
    """A value lies outside the public range, or a vector is longer than the plan allows.

    Nothing was released. `clip=True` moves such values to the nearest allowed ones.
    """


class InvalidWeight(UsageError):
    """A weight is negative, above the public maximum, or no number."""

    def __init__(self, message: str, party: int) -> None:
        super().__init__(message, f"weights[{party}]")
        self.args = (message, party)
        self.party = party


class RoundAborted(Aborted):
    """A logical round ended without a result: its attempts are used up.

    `reason` is that of the last attempt, in the words of the protocol's list of reasons;
    `culprits` are the parties that this attempt found missing or wrong, as positions in
    the list of values; `attempts` says how many were made.
    """

    def __init__(
        self,
        message: str,
        released: Literal["none", "masked"],
        reason: str,
        culprits: tuple[int, ...],
        attempts: int,
    ) -> None:
        super().__init__(message, released)
        self.args = (message, released, reason, culprits, attempts)
        self.reason = reason
        self.culprits = culprits
        self.attempts = attempts

    @classmethod
    def after(
        cls,
        attempts: int,
        reason: AbortReason,
        *,
        masked: bool,
        culprits: tuple[int, ...],
        remark: str = "",
    ) -> RoundAborted:
        """The error of a logical round whose last attempt ended for this reason.

        `masked` says whether masked values were released; `remark` ends the message.
        """
        why, tried = ABORTS[name_of(reason)], counted(attempts, "attempt")
        message = f"no result after {tried} because {why}{remark}"
        return cls(message, "masked" if masked else "none", reason.name, culprits, attempts)


def exact_remark(terms: Terms, *, masked: bool) -> str:
    """What to mind after an abort behind which somebody may know an exact sum; else nothing."""
    if not (terms.exact and masked):
        return ""
    return (
        "; somebody may know the exact sum all the same, so give these values to no other sum: "
        f"{EXACT_DIFFERENCE}"
    )
