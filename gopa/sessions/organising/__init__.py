"""The organiser as a process: what it stores, reads, waits for and says.

It decides nothing that the rules leave open but when phases end. Read `organiser`
(`DurableOrganiser`), then `running` (the loop around it), `schedule` (when phases end).
Specification: `specs/12-sessions.md`, section 5.
"""

from gopa.sessions.organising.beacons import (
    BeaconSource,
    DrandFile,
    DrandUrl,
    drand_source,
    parse_round,
)
from gopa.sessions.organising.organiser import (
    Act,
    AskBeacon,
    DurableOrganiser,
    LogIsShorter,
    Over,
    Send,
    WaitUntil,
)
from gopa.sessions.organising.reading import BoardLog, OpenBoard, OrganiserLog
from gopa.sessions.organising.running import (
    AwaitingBeacon,
    BadBeacon,
    BoardFound,
    BoardLost,
    Happening,
    Heard,
    OrganiserPace,
    PhaseOpened,
    RoundEnded,
    SessionEnded,
    passes,
    run,
)
from gopa.sessions.organising.schedule import Deadlines, Schedule

__all__ = [
    "Act",
    "AskBeacon",
    "AwaitingBeacon",
    "BadBeacon",
    "BeaconSource",
    "BoardFound",
    "BoardLog",
    "BoardLost",
    "Deadlines",
    "DrandFile",
    "DrandUrl",
    "DurableOrganiser",
    "Happening",
    "Heard",
    "LogIsShorter",
    "OpenBoard",
    "OrganiserLog",
    "OrganiserPace",
    "Over",
    "PhaseOpened",
    "RoundEnded",
    "Schedule",
    "Send",
    "SessionEnded",
    "WaitUntil",
    "drand_source",
    "parse_round",
    "passes",
    "run",
]
