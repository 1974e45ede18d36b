"""Runs one party of a session, as a pure state machine. Specification: `specs/04-protocol.md`."""

from gopa.party.chain import with_root
from gopa.party.events import (
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
from gopa.party.machine import Party
from gopa.party.policy import LocalPolicy, Refusal
from gopa.party.states import PartyState

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
