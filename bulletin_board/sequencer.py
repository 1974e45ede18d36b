"""Writes a log: decides which entries enter, orders them, signs, publishes.

The steps of a commit, and why they come in this order, are in
`specs/05-bulletin-board.md`, section 5.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bulletin_board.admission import PolicyFactory, RefusalReason, Refused
from bulletin_board.entry import Slot, Submission
from bulletin_board.note import (
    Checkpoint,
    NoteSigner,
    SignedCheckpoint,
    SignedNote,
    open_checkpoint,
    sign_note,
)
from bulletin_board.reader import CHECKPOINT, VerifiedTiles, load_edge, resource_limit
from bulletin_board.receipt import Receipt
from bulletin_board.recovery import boundary, open_storage, publish, write_entries
from bulletin_board.snapshot import resume
from bulletin_board.storage import (
    EntryLocation,
    Inconsistent,
    IndexRow,
    StagedEntry,
    Storage,
)
from bulletin_board.storage.interface import noticing_another_writer
from bulletin_board.tree import EMPTY_ROOT, leaf_hash
from wire.errors import GopaError, UsageError

_LOG: Final = logging.getLogger("gopa.board")

MOST_IN_A_BATCH = 1_024

SNAPSHOT_ENTRIES = 65_536
"""How many entries are read again, at most, when the log is opened after a crash."""

SYNC_ENTRIES = 4_096
SYNC_BYTES = 2**25
"""How many entries and bytes may wait in the index until public files are made durable."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Where the entry is, with a receipt; `fresh` unless it was in the log before.

    A `barrier` is acknowledged only when a quorum has cosigned a checkpoint that covers it (05-H1).
    """

    index: int
    receipt: bytes
    fresh: bool
    barrier: bool


Outcome = Accepted | Refused


@dataclass(slots=True)
class _BatchDecision:
    """What one batch will do."""

    start: int
    outcomes: list[Refused | tuple[int, bool]] = field(default_factory=list)
    staged: list[StagedEntry] = field(default_factory=list)
    taken: dict[Slot, list[EntryLocation]] = field(default_factory=dict)


class Sequencer:
    """The writer of batches to the log in `storage`. One thread at a time calls it.

    Opening makes the storage consistent or raises `StorageError`. After any other
    error of `append` this object is finished: whatever was being written is
    settled by opening anew.
    """

    def __init__(self, storage: Storage, signer: NoteSigner, policy: PolicyFactory) -> None:
        self._storage = storage
        self._signer = signer
        opened = open_storage(storage, signer.verifier)
        self._held = opened.held
        self.signed = opened.signed
        self._view = VerifiedTiles(storage.public, opened.signed.checkpoint)
        with noticing_another_writer(storage.lock, opened.held):
            self._resumed = resume(storage, opened.signed, signer.verifier, policy)
        self._policy = self._resumed.policy
        self._durable = boundary(opened.signed.size)
        self._unsynced = 0
        self._settled = True

    @property
    def census(self) -> Mapping[tuple[bytes, int], int]:
        """How many entries each session has in each phase."""
        return dict(self._resumed.census)

    def append(self, submissions: Sequence[Submission], *, receipts: bool = True) -> list[Outcome]:
        """Decide about each submission, in this order, and commit those that enter.

        Without `receipts` those in the outcomes are empty: for callers that hand out none.

        The caller has verified the signatures. When this returns, every accepted
        entry is durable and under a published checkpoint. Raises `StorageError`
        if that failed; then nothing may be concluded about any of them. It is `LostLock`
        whenever another writer has taken over, whatever failed because of it.
        """
        if len(submissions) > MOST_IN_A_BATCH:
            raise UsageError(f"a batch has at most {MOST_IN_A_BATCH} entries")
        batch = _BatchDecision(self.signed.size)
        self._settled = False
        for submission in submissions:
            batch.outcomes.append(self._decide(batch, submission))
        if batch.staged:
            with noticing_another_writer(self._storage.lock, self._held):
                self._commit(batch)
        self._settled = True
        self._keep_snapshot(SNAPSHOT_ENTRIES)
        return [
            self._outcome(decision, submission, receipts=receipts)
            for decision, submission in zip(batch.outcomes, submissions, strict=True)
        ]

    def admit_anew(self, policy: PolicyFactory) -> None:
        """Ask another policy from now on, which learns first what follows from the log.

        Takes as long as opening the log without a snapshot. Raises as opening it does; then this
        object is finished, unless the policy could not be made.
        """
        with noticing_another_writer(self._storage.lock, self._held):
            found = resume(self._storage, self.signed, self._signer.verifier, policy)
        self._resumed, self._policy = found, found.policy
        _LOG.info("who may post was read anew, and holds from now on")

    def receipt(self, index: int) -> bytes:
        """The proof that the current checkpoint covers entry `index`."""
        proof = tuple(self._view.inclusion_proof(index))
        return Receipt(index, proof, self.signed.to_bytes()).to_bytes()

    def consistency_proof(self, older: int) -> list[bytes]:
        """Prove that the tree of size `older` is the beginning of the current one."""
        return self._view.consistency_proof(older)

    def publish_cosigned(self, signed: SignedCheckpoint) -> None:
        """Publish the current checkpoint with cosignatures; an older one is ignored.

        Raises `LostLock` if another writer has taken over: its checkpoint may be newer.
        """
        if signed.note.text != self.signed.note.text:
            return
        with noticing_another_writer(self._storage.lock, self._held):
            self._storage.lock.check(self._held)
            self._storage.public.write({CHECKPOINT: signed.to_bytes()})

    def check(self) -> None:
        """Return if this is still the writer and the newest checkpoint is the published one.

        Raises `LostLock`, `Inconsistent`, or a `ProtocolError` if public files are damaged.
        """
        with noticing_another_writer(self._storage.lock, self._held):
            self._storage.lock.check(self._held)
            data = self._storage.public.fetch(CHECKPOINT, resource_limit(CHECKPOINT))
            if SignedNote.parse(data).text != self.signed.note.text:
                raise Inconsistent("the published checkpoint is not the newest one")
            load_edge(self._storage.public, self.signed.checkpoint)

    def close(self) -> None:
        """Release the storage; what follows from the log is kept, so that opening it is quick."""
        self._keep_snapshot(1)
        self._storage.close()

    def _decide(self, batch: _BatchDecision, submission: Submission) -> Refused | tuple[int, bool]:
        """The refusal, or the index of the entry and whether it is a new one."""
        entry, leaf, slot = submission.entry, submission.leaf, submission.entry.slot
        known = self._storage.index.places(slot)
        committed = [place for place in known if place.index < batch.start]
        # Others may have been staged by a writer that was replaced: they are in no log.
        places = (*committed, *batch.taken.get(slot, ()))
        for place in places:
            if place.leaf == leaf:
                return place.index, False
        if len(places) == 2:
            return Refused(RefusalReason.CONFLICT, "", None, places[0].index, places[1].index)
        if not places:
            try:
                self._policy.admit(entry)
            except Refused as refusal:
                return refusal
        index = batch.start + len(batch.staged)
        batch.staged.append(StagedEntry(slot, len(places), leaf, submission.raw))
        batch.taken.setdefault(slot, []).append(EntryLocation(index, leaf))
        self._policy.observe(index, entry, evidence=bool(places))
        if places:  # kept in the log: an author who equivocates is convicted by both entries
            return Refused(RefusalReason.CONFLICT, "", None, places[0].index, index)
        return index, True

    def _commit(self, batch: _BatchDecision) -> None:
        storage = self._storage
        storage.lock.check(self._held)
        storage.index.stage(batch.start, batch.staged, self._held.epoch)
        entries, leaves = self._read_back(batch), [each.leaf for each in batch.staged]
        edge = load_edge(storage.public, self.signed.checkpoint)
        grown = edge.copy()
        grown.extend(leaves)
        signed = self._sign(Checkpoint(self.signed.checkpoint.origin, grown.size, grown.root()))
        self._held = storage.lock.swap(self._held, signed.to_bytes())
        write_entries(storage.public, edge, entries, leaves)
        storage.lock.check(self._held)  # a newer writer's checkpoint must not give way to this one
        publish(storage.public, signed, batch.start)
        self._make_durable(signed.size, sum(map(len, entries)))
        self.signed = signed
        self._view = VerifiedTiles(storage.public, signed.checkpoint, grown, self._view)
        for staged in batch.staged:
            self._resumed.take(IndexRow(staged.slot, staged.copy, staged.leaf))

    def _keep_snapshot(self, least: int) -> None:
        """After so many new entries; not in a batch that failed: its entries may be in no log."""
        snapshots, resumed = self._storage.snapshots, self._resumed
        if snapshots is None or not self._settled or self.signed.size - resumed.size < least:
            return
        try:
            self._storage.lock.check(self._held)
            data = resumed.snapshot(self.signed, self._signer)
            if data is not None:
                snapshots.keep(data)
        except (GopaError, OSError) as error:
            _LOG.warning("no snapshot is kept: %s", error)
        resumed.size = self.signed.size

    def _make_durable(self, size: int, added: int) -> None:
        """Now and then: put the public files on the medium and forget stored batches.

        Until then a loss of power may take public files, and opening the log
        writes them again from the stored batches, which are durable.
        """
        self._unsynced += added
        if boundary(size) - self._durable < SYNC_ENTRIES and self._unsynced < SYNC_BYTES:
            return
        self._storage.public.sync()
        self._storage.index.drop(boundary(size))
        self._durable, self._unsynced = boundary(size), 0

    def _read_back(self, batch: _BatchDecision) -> tuple[bytes, ...]:
        """The batch as the medium holds it: what is signed is what was stored."""
        # A signature on what a faulty medium lost or changed could never be taken back.
        batches = self._storage.index.staged(batch.start)
        expected = [entry.leaf for entry in batch.staged]
        if len(batches) != 1 or batches[0].start != batch.start:
            raise Inconsistent("another batch is staged")
        if list(map(leaf_hash, batches[0].entries)) != expected:
            raise Inconsistent("the storage returned other entries than it was given")
        return batches[0].entries

    def _sign(self, checkpoint: Checkpoint) -> SignedCheckpoint:
        note = sign_note(checkpoint.to_text(), self._signer)
        return open_checkpoint(note.to_bytes(), self._signer.verifier)

    def _outcome(
        self, decision: Refused | tuple[int, bool], submission: Submission, *, receipts: bool
    ) -> Outcome:
        if isinstance(decision, Refused):
            return decision
        index, fresh = decision
        barrier = self._policy.is_barrier(submission.entry)
        return Accepted(index, self.receipt(index) if receipts else b"", fresh, barrier)


def first_checkpoint(signer: NoteSigner) -> bytes:
    """The signed checkpoint of an empty log whose origin is the signer's name."""
    text = Checkpoint(signer.verifier.name, 0, EMPTY_ROOT).to_text()
    return sign_note(text, signer).to_bytes()
