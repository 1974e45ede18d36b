"""A board in this process: a real log in memory or in a directory, without a server around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Final

from bulletin_board import (
    Accepted,
    LogReader,
    NoteSigner,
    Sequencer,
    SignedCheckpoint,
    Submission,
    TrustPolicy,
    first_checkpoint,
)
from bulletin_board.admission import PolicyFactory
from bulletin_board.entry import verify_entry
from bulletin_board.reader import CHECKPOINT, MemorySource, resource_limit
from bulletin_board.sequencer import MOST_IN_A_BATCH, Outcome
from bulletin_board.storage import Storage
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.memory import memory_storage
from bulletin_board.tree import resources
from gopa.contract.framing import Posted
from gopa.protocol.admission.policy import ProtocolAdmission
from wire.errors import ProtocolError

_RECENT_BYTES: Final = 2**26


class LocalBoard:
    """The log of sessions in this process, which lets in what a board does unless told otherwise.

    May be shared between threads. What came last is kept as it was decoded, because whoever posts
    reads it next.
    """

    def __init__(
        self,
        signer: NoteSigner,
        admission: PolicyFactory = ProtocolAdmission,
        directory: Path | None = None,
    ) -> None:
        self.signer = signer
        self._open = ExitStack()
        storage = self._stored(directory)
        self._public = storage.public
        self._policy = TrustPolicy.single_log(signer.verifier)
        self._sequencer = Sequencer(storage, signer, admission)
        self._lock = Lock()
        self._recent: dict[int, Submission] = {}
        self._recent_bytes = 0
        self._decoded: dict[bytes, Submission] = {}

    def update(self) -> SignedCheckpoint:
        """The newest checkpoint of the log."""
        return self._sequencer.signed

    def reader(self) -> LogReader:
        """The log as it is now, to be read strictly, whatever is posted while it is read."""
        with self._lock:
            paths = (CHECKPOINT, *resources(self._sequencer.signed.size))
            files = {path: self._public.fetch(path, resource_limit(path)) for path in paths}
        return LogReader.open(MemorySource(files), self._policy)

    def submit(self, entry: bytes) -> int:
        """Append an entry; its index. Raises `Refused`, or what is wrong with the entry."""
        (outcome,) = self.submit_all([entry])
        if isinstance(outcome, int):
            return outcome
        raise outcome

    def submit_all(self, entries: Sequence[bytes]) -> list[int | ProtocolError]:
        """Append entries in their order under one checkpoint; the index of each, or the error."""
        checked = list(map(self._checked, entries))
        made = iter(self._appended([each for each in checked if isinstance(each, Submission)]))
        return [
            each if isinstance(each, ProtocolError) else _index_of(next(made)) for each in checked
        ]

    def expect(self, submissions: Iterable[Submission]) -> None:
        """Say how entries decode that are about to be posted, so that it is done once."""
        self._decoded = {each.raw: each for each in submissions}

    def posted(self, start: int) -> list[tuple[Posted, bytes]]:
        """All entries from an index on, with their bytes; their signatures were verified here."""
        with self._lock:
            size, recent = self._sequencer.signed.size, dict(self._recent)
        missing = [index for index in range(start, size) if index not in recent]
        if missing:
            raws = self.reader().entries(missing[0], missing[-1] + 1)
            recent |= dict(enumerate(map(Submission.decode, raws), missing[0]))
        return [
            (Posted(index, recent[index].leaf, recent[index].entry), recent[index].raw)
            for index in range(start, size)
        ]

    def close(self) -> None:
        """Release the directory, if there is one."""
        self._sequencer.close()
        self._open.close()

    def _checked(self, entry: bytes) -> Submission | ProtocolError:
        try:
            submission = self._decoded.get(entry) or Submission.decode(entry)
            verify_entry(submission)
        except ProtocolError as error:
            return error
        return submission

    def _appended(self, verified: Sequence[Submission]) -> list[Outcome]:
        """What came of entries whose signatures hold."""
        outcomes: list[Outcome] = []
        with self._lock:
            for at in range(0, len(verified), MOST_IN_A_BATCH):
                batch = verified[at : at + MOST_IN_A_BATCH]
                made = self._sequencer.append(batch, receipts=False)
                for submission, outcome in zip(batch, made, strict=True):
                    self._remember(submission, outcome)
                outcomes += made
        return outcomes

    def _remember(self, submission: Submission, outcome: Outcome) -> None:
        index = outcome.index if isinstance(outcome, Accepted) else outcome.evidence
        if index is None or index in self._recent:
            return
        self._recent[index] = submission
        self._recent_bytes += len(submission.raw)
        while self._recent_bytes > _RECENT_BYTES:
            self._recent_bytes -= len(self._recent.pop(next(iter(self._recent))).raw)

    def _stored(self, directory: Path | None) -> Storage:
        if directory is None:
            return memory_storage(first_checkpoint(self.signer))
        board = BoardDirectory(directory)
        board.create(self.signer, first_checkpoint(self.signer))
        self._open.enter_context(board.writing())
        return board.storage()


def _index_of(outcome: Outcome) -> int | ProtocolError:
    return outcome.index if isinstance(outcome, Accepted) else outcome
