"""What `specs/vectors/tunnel.json` holds: requests, replies, marks, and a state with its seal."""

from __future__ import annotations

from typing import Any

from gopa.contract.phases import Phase
from gopa.protocol.party import Fetch
from gopa.sessions.tunnel.messages import (
    REPLY,
    REQUEST,
    HiddenEntry,
    OwnEntry,
    TunnelEntry,
    TunnelReply,
    TunnelRequest,
    Want,
)
from gopa.sessions.tunnel.state import TUNNEL, StatePlace, TunnelState, seal, slots_of
from gopa.sessions.vault.guard import MARK, Mark
from tests.board.tools import entry_bytes
from tests.sessions.tunnel.worlds import SECRET

SESSION, PARTY, HASH = (bytes([at]) * 32 for at in (1, 2, 3))
PLACE = StatePlace(SESSION, PARTY)
COUNTER = 7
SLOTS = slots_of(PLACE, SECRET)
STATE = TunnelState(
    2, HASH, 1, b"manifest", b"checkpoint", 9, b"machine", (SLOTS.put(b"large"),), b""
)
_FETCH = Fetch(Phase.COINS, 1, 9, (HASH, PARTY[:31] + b"\xff"))
_SHOWN = (TunnelEntry(4, entry_bytes(0)), HiddenEntry(5, SESSION), OwnEntry(7, HASH))

MESSAGES: dict[str, bytes] = {
    "request: nothing but a checkpoint": REQUEST.encode(TunnelRequest(3, SESSION, b"note")),
    "request: everything": REQUEST.encode(
        TunnelRequest(
            3, SESSION, b"note", (HASH,), _SHOWN, (3,), (HASH, HASH), (entry_bytes(1),), (HASH,)
        )
    ),
    "reply: nothing is wanted": REPLY.encode(
        TunnelReply(3, SESSION, PARTY, 0, 0, Want.NOTHING, None, True, False, ())
    ),
    "reply: a fetch and a post": REPLY.encode(
        TunnelReply(3, SESSION, PARTY, 9, 5, Want.LOG, _FETCH, False, False, (entry_bytes(1),))
    ),
    "mark": MARK.encode(Mark(1, COUNTER, 1, HASH)),
}

# Written down: another version of zlib may compress to other bytes.
_MANIFEST = b"a manifest"
_PACKED = "00020000003c0000001978bb90f503f9636026a88281252fbf2495011300002b7101de"
_PACKED_ALONE = "00020000003c0000001b78bb02300021636026a080918181252fbf2495011300002b7101de"


def records() -> dict[str, Any]:
    """The content of the vector file."""
    return {
        "format": "all in hexadecimal; every message with a byte less or more is refused",
        "messages": {name: data.hex() for name, data in MESSAGES.items()},
        "packed": {
            "session": SESSION.hex(),
            "manifest": _MANIFEST.hex(),
            "request": MESSAGES["request: nothing but a checkpoint"].hex(),
            "with the manifest": _PACKED,
            "without the manifest": _PACKED_ALONE,
        },
        "state": {
            "secret": SECRET.data.reveal().hex(),
            "session": SESSION.hex(),
            "party": PARTY.hex(),
            "counter": COUNTER,
            "content": TUNNEL.encode(STATE).hex(),
            "slot": b"large".hex(),
            "sealed": seal(STATE, PLACE, COUNTER, SECRET, SLOTS)[0].hex(),
        },
    }
