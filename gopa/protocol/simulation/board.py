"""Keeps a real log in one process: the parties of a simulation post to it and read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from bulletin_board import (
    Accepted,
    Anyone,
    LogReader,
    NoteSigner,
    Refused,
    Sequencer,
    Submission,
    TrustPolicy,
    first_checkpoint,
    write_archive,
)
from bulletin_board.sequencer import MOST_IN_A_BATCH, Outcome
from bulletin_board.storage import Storage
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.memory import memory_storage
from bulletin_board.tree import PastRoots
from gopa.contract.framing import Posted, signature_claim
from gopa.protocol.party import Fetch
from wire.ed25519 import verify_many
from wire.errors import UsageError

_QUOTA = 2**40


class SimulatedBoard:
    """Keeps a log in memory, or in a directory that stays.

    Every signature is verified once, when an entry is posted; every reader is handed
    entries of the log.
    """

    def __init__(
        self,
        signer: NoteSigner,
        directory: Path | None = None,
        executor: Executor | None = None,
    ) -> None:
        self._open = ExitStack()
        self._signer = signer
        self._executor = executor
        self._storage = self._stored(directory)
        self._sequencer = Sequencer(self._storage, signer, lambda: Anyone(_QUOTA))
        if self._sequencer.signed.size:
            raise UsageError("a simulation begins with an empty log", "directory")
        self.entries: list[Posted] = []
        self.sizes: list[int] = []
        self._leaves: list[bytes] = []
        self._past, self._lock = PastRoots(self._leaves), Lock()
        self._streams: dict[tuple[bytes, int, int], list[Posted]] = {}

    @property
    def size(self) -> int:
        return len(self.entries)

    @property
    def signer(self) -> NoteSigner:
        """The key of the log."""
        return self._signer

    @property
    def checkpoint(self) -> bytes:
        """The newest checkpoint, signed by the log."""
        return self._sequencer.signed.to_bytes()

    @property
    def root(self) -> bytes:
        return self._sequencer.signed.root

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
        fresh: list[Posted] = []
        submissions = [Submission.decode(raw) for raw in raws]
        verify_many(map(signature_claim, submissions), self._executor)
        for at in range(0, len(submissions), MOST_IN_A_BATCH):
            batch = submissions[at : at + MOST_IN_A_BATCH]
            outcomes = self._sequencer.append(batch)
            for submission, outcome in zip(batch, outcomes, strict=True):
                index = _index(outcome)
                if index == len(self.entries):
                    fresh.append(self._keep(submission, index))
        return fresh

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
        """The log, to be read strictly."""
        return LogReader.open(self._storage.public, TrustPolicy.single_log(self._signer.verifier))

    def archive(self, out: BinaryIO, session: bytes) -> None:
        """Write the whole log as an archive."""
        write_archive(self.reader(), out, session)

    def close(self) -> None:
        """Release the directory, if there is one."""
        self._sequencer.close()
        self._open.close()

    def _keep(self, submission: Submission, index: int) -> Posted:
        entry = submission.entry
        posted = Posted(index, submission.leaf, entry)
        self.entries.append(posted)
        self._leaves.append(posted.leaf)
        self.sizes.append(len(submission.raw))
        stream = entry.author.data, entry.phase, entry.round
        self._streams.setdefault(stream, []).append(posted)
        return posted

    def _stored(self, directory: Path | None) -> Storage:
        if directory is None:
            return memory_storage(first_checkpoint(self._signer))
        board = BoardDirectory(directory)
        board.create(self._signer, first_checkpoint(self._signer))
        self._open.enter_context(board.writing())
        return board.storage()


def size_of(board: SimulatedBoard, entries: Iterable[Posted]) -> int:
    """How many bytes these entries of the log have."""
    return sum(board.sizes[posted.index] for posted in entries)


def _index(outcome: Outcome) -> int | None:
    """Where the entry stands, if this was its first time."""
    if isinstance(outcome, Refused):
        return outcome.evidence
    return outcome.index if isinstance(outcome, Accepted) and outcome.fresh else None
