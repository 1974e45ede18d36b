"""The writer: slots, evidence, receipts, policies."""

from __future__ import annotations

from pathlib import Path

import pytest

from bulletin_board import sequencer as sequencer_module
from bulletin_board.admission import Anyone, RefusalReason, Refused, RosterAdmission
from bulletin_board.entry import Entry, Submission
from bulletin_board.fsck import fsck
from bulletin_board.note import KeyKind, SignedCheckpoint, cosign
from bulletin_board.receipt import Receipt, verify_receipt
from bulletin_board.sequencer import Accepted, Outcome, Sequencer, first_checkpoint
from bulletin_board.storage import (
    memory_storage,
)
from tests.board.tools import (
    anyone,
    append,
    log_key,
    memory_log,
    must_accept,
    new_board,
    open_log,
    party,
    signer,
    source_of,
    submission,
    submissions,
    trust,
)
from wire.errors import UsageError


def refusal(outcome: Outcome) -> Refused:
    assert isinstance(outcome, Refused)
    return outcome


def test_receipts_prove_what_they_say() -> None:
    log, _ = memory_log(300)
    entries = submissions(20, 300)
    for entry, accepted in zip(entries, append(log, entries), strict=True):
        found = verify_receipt(Receipt.parse(accepted.receipt), entry.raw, log_key())
        assert found.index == accepted.index
        assert found.signed.size == 320
        assert accepted.fresh


def test_the_same_bytes_again_have_the_same_index() -> None:
    log, files = memory_log(10)
    before = dict(files)
    again = append(log, [submissions(10)[3], submissions(10)[3]])
    assert [(accepted.index, accepted.fresh) for accepted in again] == [(3, False)] * 2
    assert files == before
    twice = submission(77)
    fresh = append(log, [twice, twice])
    assert [(accepted.index, accepted.fresh) for accepted in fresh] == [(10, True), (10, False)]


def test_the_first_conflict_is_kept_and_later_ones_are_refused() -> None:
    log, files = memory_log()
    conflicting = [submission(0, body=bytes([n])) for n in range(100)]
    outcomes = log.append(conflicting)
    assert must_accept(outcomes[0]).index == 0
    for outcome in outcomes[1:]:
        found = refusal(outcome)
        assert (found.reason, found.first, found.evidence) == (RefusalReason.CONFLICT, 0, 1)
    assert log.signed.size == 2
    assert fsck(source_of(files), trust(), signatures=True).equivocations == 1
    assert refusal(log.append([submission(0, body=b"late")])[0]).evidence == 1
    assert [must_accept(o).index for o in log.append(conflicting[:1])] == [0]
    assert must_accept(log.append(conflicting[1:2])[0]).fresh is False
    assert log.signed.size == 2


def test_a_flood_of_conflicts_does_not_grow_the_log(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    log = open_log(board)
    append(log, submissions(20))
    log.append([submission(n, body=b"other") for n in range(20)])

    def used() -> int:
        return sum(p.stat().st_size for p in board.public.rglob("*") if p.is_file())

    before = used()
    for flood in range(20):
        log.append([submission(n % 20, body=bytes([flood, n])) for n in range(200)])
    assert log.signed.size == 40
    assert used() == before


def test_a_roster_and_its_quota() -> None:
    storage = memory_storage(first_checkpoint(signer()))
    log = Sequencer(storage, signer(), lambda: RosterAdmission([party(0).public.data], quota=3))
    outcomes = log.append([*submissions(4), submission(0, author=1)])
    assert [isinstance(outcome, Accepted) for outcome in outcomes] == [True] * 3 + [False] * 2
    assert refusal(outcomes[3]).reason is RefusalReason.QUOTA
    assert refusal(outcomes[4]).reason is RefusalReason.UNREGISTERED


class ClosesAfter(Anyone):
    """Phase 1 is open until an entry of phase 9 is in the log."""

    def __init__(self) -> None:
        super().__init__(10**9)
        self.closed = False

    def admit(self, entry: Entry) -> None:
        if self.closed and entry.phase == 1:
            raise Refused(RefusalReason.PHASE)

    def observe(self, index: int, entry: Entry, *, evidence: bool = False) -> None:
        super().observe(index, entry, evidence=evidence)
        self.closed |= entry.phase == 9


def test_a_post_after_the_close_in_the_same_batch_is_late(tmp_path: Path) -> None:
    board = new_board(tmp_path / "log")
    log = Sequencer(board.storage(), signer(), ClosesAfter)
    outcomes = log.append([submission(0), submission(0, phase=9), submission(1)])
    assert refusal(outcomes[2]).reason is RefusalReason.PHASE
    log.close()
    log = Sequencer(board.storage(), signer(), ClosesAfter)  # rebuilt from the log
    assert refusal(log.append([submission(2)])[0]).reason is RefusalReason.PHASE
    assert must_accept(log.append([submission(0)])[0]).fresh is False
    log.close()


def test_the_largest_entry_and_one_more_byte() -> None:
    log, files = memory_log()
    largest = submission(0, body=bytes(60_000))
    append(log, [largest])
    assert fsck(source_of(files), trust()).entry_bytes == len(largest.raw)
    with pytest.raises(UsageError):
        submission(1, body=bytes(60_001))


def test_a_batch_is_bounded() -> None:
    log = Sequencer(memory_storage(first_checkpoint(signer())), signer(), anyone)
    one = submission(0)
    assert len(append(log, [one] * 1_024, 1_024)) == 1_024
    with pytest.raises(UsageError):
        log.append([one] * 1_025)
    assert Submission.decode(one.raw) == one


def test_cosignatures_of_an_older_checkpoint_are_not_published() -> None:
    log, files = memory_log(3)
    line = cosign(log.signed.note.text, signer("w.example", KeyKind.WITNESS), 1)
    older = SignedCheckpoint(log.signed.checkpoint, log.signed.note.with_signatures([line]))
    log.publish_cosigned(older)
    assert files["checkpoint"] == older.to_bytes()
    append(log, submissions(1, 3))
    newest = files["checkpoint"]
    log.publish_cosigned(older)
    assert files["checkpoint"] == newest


@pytest.mark.parametrize(
    ("limit", "dropped"), [("SYNC_BYTES", True), ("SYNC_ENTRIES", True), ("", False)]
)
def test_stored_batches_are_forgotten_by_bytes_and_by_number(
    monkeypatch: pytest.MonkeyPatch, limit: str, dropped: bool
) -> None:
    if limit:
        monkeypatch.setattr(sequencer_module, limit, 256)
    log = Sequencer(memory_storage(first_checkpoint(signer())), signer(), anyone)
    append(log, submissions(600), 100)
    starts = [batch.start for batch in log._storage.index.staged()]
    assert starts == ([500] if dropped else [0, 100, 200, 300, 400, 500])
