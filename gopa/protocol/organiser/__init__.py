"""The organiser as a state machine: it opens and closes phases, and decides nothing.

What it says follows from the log by the rules; parties and auditors compare. Read `machine`
(`Organiser.step`), then `manifest`. The defaults of a session are those of a real one:

    >>> from gopa.protocol.organiser import SessionSetting
    >>> SessionSetting().mode.name, SessionSetting().trust.name
    ('FULL', 'MALICIOUS')

Specification: `specs/04-protocol.md`, sections 2 and 12.
"""

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
