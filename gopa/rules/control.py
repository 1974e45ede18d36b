"""What the organiser says next, and the two things in it that the rules leave open."""

from __future__ import annotations

from dataclasses import dataclass

from gopa.messages.organiser import OrganiserMessage
from gopa.messages.phases import Kind


@dataclass(frozen=True, slots=True)
class BeaconValue:
    """A round of the session's drand chain.

    At the close of join only `round` counts: the close names it ([J7]). At the close of
    coins `signature` proves its value, with `previous` where the chain needs it ([V4]).
    """

    round: int
    signature: bytes = b""
    previous: bytes = b""


@dataclass(frozen=True, slots=True)
class Control:
    """A message of the organiser, complete but for signature and seat in the log.

    It goes into phase 0 of `round`, with `seq` as its first number and `previous` as the
    leaf before it, as `kind`.
    """

    kind: Kind
    round: int
    seq: int
    previous: bytes
    message: OrganiserMessage
    body: bytes
