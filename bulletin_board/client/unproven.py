"""Two checkpoints of which it was not shown that they belong to one history.

This proves nothing but that the log signed both. A network that hides tiles, a copy that
lags behind and a log that has forked and withholds the proof of it look the same. What
is kept here convicts a log that has forked as soon as anybody gets the tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from bulletin_board.note import SignedCheckpoint, VerifierKey, open_checkpoint
from bulletin_board.note.signed import LARGEST_NOTE
from bulletin_board.source import Source
from wire.codec import Codec, opaque, record
from wire.errors import Unattributed

LONGEST_REQUEST = 1024


@dataclass(frozen=True, slots=True)
class UnprovenPair:
    """Two signed checkpoints, and the request whose answer would have shown that they agree."""

    older: bytes
    newer: bytes
    request: bytes


UNPROVEN_PAIR: Codec[UnprovenPair] = record(
    UnprovenPair,
    older=opaque(1, LARGEST_NOTE),
    newer=opaque(1, LARGEST_NOTE),
    request=opaque(0, LONGEST_REQUEST),
)


class UnprovenHistory(Unattributed):
    """The log signed a checkpoint and it was not shown that it extends the one seen before.

    Proved: the log signed `older` and `newer`. Only suspected: that it has forked; the
    network or a cache may be at fault. `request` failed. The client believes neither
    more until a later answer shows that both belong to one log, or proves the fork.
    """

    def __init__(
        self, message: str, older: bytes = b"", newer: bytes = b"", request: str = ""
    ) -> None:
        super().__init__(message, older, newer, request)
        self.message = message
        self.older = older
        self.newer = newer
        self.request = request

    def __str__(self) -> str:
        return self.message

    @property
    def evidence(self) -> bytes:
        """The bytes that a client keeps: an `UnprovenPair`."""
        request = self.request.encode("utf-8", "replace")[:LONGEST_REQUEST]
        return UNPROVEN_PAIR.encode(UnprovenPair(self.older, self.newer, request))


class StaleMirror(UnprovenHistory):
    """This copy of the log is older than what was seen before, and cannot show that it agrees.

    Most likely it lags behind: wait until it has caught up, or ask the board itself.
    """


def open_pair(data: bytes, log: VerifierKey) -> tuple[SignedCheckpoint, SignedCheckpoint]:
    """The older and the newer checkpoint; raises `ProtocolError`s if the log did not sign both."""
    pair = UNPROVEN_PAIR.decode(data)
    return open_checkpoint(pair.older, log), open_checkpoint(pair.newer, log)


class Asked:
    """A `Source` that remembers the last path it was asked for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.last = ""

    def fetch(self, path: str, limit: int) -> bytes:
        self.last = path
        return self._source.fetch(path, limit)
