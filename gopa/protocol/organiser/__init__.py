"""Opens and closes phases, as a state machine. Specification: `specs/04-protocol.md`."""

from gopa.protocol.organiser.machine import (
    Cosigned,
    GiveUp,
    Idle,
    Organiser,
    OrganiserEvent,
    OrganiserOutput,
    PhaseOver,
    Seen,
    SendMessage,
    WantBeacon,
    WantCheckpoint,
)
from gopa.protocol.organiser.manifest import SessionSetting, new_manifest

__all__ = [
    "Cosigned",
    "GiveUp",
    "Idle",
    "Organiser",
    "OrganiserEvent",
    "OrganiserOutput",
    "PhaseOver",
    "Seen",
    "SendMessage",
    "SessionSetting",
    "WantBeacon",
    "WantCheckpoint",
    "new_manifest",
]
