"""The log of a simulation: the parties post to it and read it as it is, with an index by author."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import BinaryIO, Self

from bulletin_board import (
    Accepted,
    Anyone,
    LogReader,
    NoteSigner,
    Refused,
    Submission,
    write_archive,
)
from bulletin_board.sequencer import Outcome
from bulletin_board.tree import PastRoots
from gopa.contract.framing import Posted, signature_claim
from gopa.protocol.admission.local_board import LocalBoard
from gopa.protocol.party import Fetch
from wire.ed25519 import verify_many
from wire.errors import UsageError

_QUOTA = 2**40


class SimulatedBoard(LocalBoard):
    """A log in memory, or in a directory that stays, that lets in whatever is signed.

    Every signature is verified once, when an entry is posted; every reader is handed
    entries of the log.
    """

    def __init__(
        self,
        signer: NoteSigner,
        directory: Path | None = None,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(signer, lambda: Anyone(_QUOTA), directory)
        if self._sequencer.signed.size:
            raise UsageError("a simulation begins with an empty log", "directory")
        self._executor = executor
        self.entries: list[Posted] = []
        self.sizes: list[int] = []
        self._leaves: list[bytes] = []
        self._past = PastRoots(self._leaves)
        self._streams: dict[tuple[bytes, int, int], list[Posted]] = {}

    @property
    def size(self) -> int:
        return len(self.entries)

    @property
    def checkpoint(self) -> bytes:
        """The newest checkpoint, signed by the log."""
        return self.update().to_bytes()

    @property
    def root(self) -> bytes:
        return self.update().root

    def root_at(self, size: int) -> bytes:
        """The root that the log had at this size."""
        with self._lock:
            found = self._past.at(size)
        if found is None:
            raise UsageError(f"the log has {self.size} entries", "size")
        return found

    def post(self, raws: Sequence[bytes]) -> list[Posted]:
        """Append entries; what now stands in the log, evidence of equivocation too.

        An entry that stands there already is left out. Raises `ProtocolError`s for entries
        that are malformed or not signed by their author.
        """
        before = self.size
        submissions = [Submission.decode(raw) for raw in raws]
        verify_many(map(signature_claim, submissions), self._executor)
        self._appended(submissions)
        return self.entries[before:]

    def copied(self, raws: Iterable[bytes]) -> Self:
        """Another log under the same key, with these entries."""
        copy = type(self)(self.signer)
        copy.post(list(raws))
        return copy

    def fetch(self, fetch: Fetch, session: bytes) -> tuple[Posted, ...]:
        """What the authors posted below the cut in one phase of a round."""
        found = [
            posted
            for author in fetch.authors
            for posted in self._streams.get((author, fetch.phase, fetch.round), ())
            if posted.index < fetch.cut and posted.entry.session == session
        ]
        return tuple(sorted(found, key=lambda posted: posted.index))

    def stream(self, author: bytes, phase: int, number: int) -> tuple[Posted, ...]:
        """All that an author posted in one phase of a round."""
        return tuple(self._streams.get((author, phase, number), ()))

    def reader(self) -> LogReader:
        """The log, read as it grows: a simulation does not write while it is read."""
        return LogReader.open(self._public, self._policy)

    def archive(self, out: BinaryIO, session: bytes) -> None:
        """Write the whole log as an archive."""
        write_archive(self.reader(), out, session)

    def _remember(self, submission: Submission, outcome: Outcome) -> None:
        if _index(outcome) != self.size:
            return
        entry = submission.entry
        posted = Posted(self.size, submission.leaf, entry)
        self.entries.append(posted)
        self._leaves.append(posted.leaf)
        self.sizes.append(len(submission.raw))
        stream = entry.author.data, entry.phase, entry.round
        self._streams.setdefault(stream, []).append(posted)


def size_of(board: SimulatedBoard, entries: Iterable[Posted]) -> int:
    """How many bytes these entries of the log have."""
    return sum(board.sizes[posted.index] for posted in entries)


def _index(outcome: Outcome) -> int | None:
    """Where the entry stands, if this was its first time."""
    if isinstance(outcome, Refused):
        return outcome.evidence
    return outcome.index if isinstance(outcome, Accepted) and outcome.fresh else None
