"""Runs parties as functions of bytes, over any transport that carries bytes.

Specification: `specs/12-sessions.md`, section 7; [the guide](../../../docs/tunnel.md). A
`TunnelParty` answers requests and keeps nothing between two of them but a sealed state; a
`TunnelHost` makes the requests from a board's log and posts what parties say. Users who send each
other something besides have a `Correspondent` each.
"""

from gopa.protocol.admission.local_board import LocalBoard
from gopa.sessions.organising import OpenBoard
from gopa.sessions.tunnel.call import Standing, Supply, TunnelInput
from gopa.sessions.tunnel.host import Send, TunnelHost, hold
from gopa.sessions.tunnel.letters import (
    Correspondent,
    LetterMissing,
    LetterReplayed,
    Misdirected,
    receiver_of,
)
from gopa.sessions.tunnel.messages import TunnelReply, TunnelRequest
from gopa.sessions.tunnel.party import TunnelParty
from gopa.sessions.tunnel.state import StateOfAnother
from gopa.sessions.vault import SealingKey
from gopa.sessions.vault.guard import (
    FileGuard,
    Guard,
    MemoryGuard,
    StateLost,
    StateReplayed,
    Unguarded,
)

__all__ = [
    "Correspondent",
    "FileGuard",
    "Guard",
    "LetterMissing",
    "LetterReplayed",
    "LocalBoard",
    "MemoryGuard",
    "Misdirected",
    "OpenBoard",
    "SealingKey",
    "Send",
    "Standing",
    "StateLost",
    "StateOfAnother",
    "StateReplayed",
    "Supply",
    "TunnelHost",
    "TunnelInput",
    "TunnelParty",
    "TunnelReply",
    "TunnelRequest",
    "Unguarded",
    "hold",
    "receiver_of",
]
