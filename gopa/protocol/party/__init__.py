"""Runs one party of a session, as a pure state machine. Specification: `specs/04-protocol.md`."""

from gopa.protocol.party.chain import with_root
from gopa.protocol.party.events import (
    Dated,
    Event,
    Fetch,
    Fetched,
    Finished,
    Halted,
    NeedInput,
    Output,
    Part,
    Post,
    PostedClose,
    Supplied,
    TimedOut,
    Witnessed,
)
from gopa.protocol.party.machine import Party
from gopa.protocol.party.policy import LocalPolicy, Refusal
from gopa.protocol.party.states import PartyState

__all__ = [
    "Dated",
    "Event",
    "Fetch",
    "Fetched",
    "Finished",
    "Halted",
    "LocalPolicy",
    "NeedInput",
    "Output",
    "Part",
    "Party",
    "PartyState",
    "Post",
    "PostedClose",
    "Refusal",
    "Supplied",
    "TimedOut",
    "Witnessed",
    "with_root",
]
