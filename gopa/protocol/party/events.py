"""All that a party can be told, and all that it can ask for. `specs/04-protocol.md`.

Entries arrive as `Posted`, what completes a close as `PostedClose`: the caller has verified that
the log holds them under a checkpoint that satisfies the manifest's policy, that this checkpoint
extends all earlier ones, and the author's signature.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from gopa.contract.framing import Posted
from gopa.contract.organiser import Abort, ResultMessage
from gopa.contract.phases import Phase
from wire.errors import ProtocolError
from wire.secret import Guarded


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Supplied(Guarded):
    """The party's input of one logical round, in steps of the grid: rounded once.

    With weights the vector is the widened one: weight times value, and the weight last.
    """

    logical: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer to a `Fetch`: all that its authors posted in its phase of the current round.

    In the order of the log. Nothing may be left out: what is missing counts as not posted.
    """

    phase: Phase
    entries: tuple[Posted, ...]


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The event that the party is to wait no longer in this round."""

    round: int


@dataclass(frozen=True, slots=True)
class PostedClose:
    """The organiser's entry that completes a close, with the root at its cut (04-C7).

    The caller has verified that the log has this root there: see `with_root`.
    """

    posted: Posted
    root: bytes


@dataclass(frozen=True, slots=True)
class Witnessed:
    """The newest checkpoint that the caller has verified (04-E6)."""

    size: int
    root: bytes


@dataclass(frozen=True, slots=True)
class Dated:
    """The time by the caller's clock, in seconds since 1970, once all before has arrived (04-V4).

    Where coins come from a beacon the caller tells it right behind the close of join. The
    first one counts: what was noted before the beacon's value was known did not follow from it.
    """

    time: int


Event: TypeAlias = Posted | PostedClose | Supplied | Fetched | TimedOut | Witnessed | Dated


@dataclass(frozen=True, slots=True)
class Post:
    """The request to send the signed entries of one message, in this order.

    The caller stores them durably before the first is sent, and after a crash sends these
    bytes or nothing (04-E5).
    """

    phase: Phase
    round: int
    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """The request for all entries below `cut` by these authors, in one phase of the round."""

    phase: Phase
    round: int
    cut: int
    authors: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class NeedInput:
    """The request for the input of a logical round, in which a round has just opened."""

    logical: int


class Part(Enum):
    """What part the party had in a round."""

    ACTIVE = auto()
    """It took part to the end."""
    LATE = auto()
    """Its message came after the cut, or not at all."""
    UNWILLING = auto()
    """It had no input, or the round did not satisfy its policy."""
    LOST = auto()
    """Too many of its neighbours were gone."""
    TIMED_OUT = auto()
    """It stopped waiting."""
    UNDATED = auto()
    """It heard of the roll when the beacon's value may have been known."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The news that a round is over and its keys are gone.

    `part` is that of this party. A result was checked for what concerns this party and
    against the public bounds; the sum itself is for an audit to check.
    """

    round: int
    logical: int
    attempt: int
    part: Part
    outcome: ResultMessage | Abort


@dataclass(frozen=True, slots=True)
class Halted:
    """The news that the party's own checks failed: it is silent from now on (04-C5)."""

    round: int
    error: ProtocolError


Output: TypeAlias = Post | Fetch | NeedInput | Finished | Halted
