"""Evidence of a fork is in the vaults of all parties that read together."""

from __future__ import annotations

from errno import ENOSPC

import pytest

from bulletin_board.client.forks import FORK_EVIDENCE, ForkEvidence
from bulletin_board.client.state import MemoryState
from bulletin_board.note import Checkpoint, sign_note
from gopa.sessions.board_access import SharedState
from tests.board.tools import log_key, signer
from wire.errors import FaultyBoard, InvalidProof


def note(root: bytes) -> bytes:
    return sign_note(Checkpoint(log_key().name, 5, root).to_text(), signer()).to_bytes()


def evidence(second: int) -> bytes:
    """Two checkpoints of one size, a fork unless `second` is 1."""
    return FORK_EVIDENCE.encode(ForkEvidence(note(bytes([1] * 32)), note(bytes([second] * 32)), ()))


FORK = evidence(2)


class NoSpace(OSError):
    """What that disk says."""


class Full(MemoryState):
    """A disk on which there is no room."""

    def keep_evidence(self, evidence: bytes) -> str:
        raise NoSpace(ENOSPC, f"no space for {len(evidence)} bytes")


def test_whoever_comes_after_the_fork_gets_the_evidence_too() -> None:
    main, early, late = MemoryState(), MemoryState(), MemoryState()
    shared = SharedState(main, log_key())
    shared.add(main)
    shared.add(early)
    shared.keep_evidence(FORK)
    with pytest.raises(FaultyBoard) as raised:
        shared.add(late)
    assert raised.value.evidence == FORK
    assert [each.kept_evidence() for each in (main, early, late)] == [FORK] * 3


def test_who_brings_evidence_does_not_join() -> None:
    main, clean, knows = MemoryState(), MemoryState(), MemoryState()
    shared = SharedState(main, log_key())
    shared.add(clean)
    knows.keep_evidence(FORK)
    with pytest.raises(FaultyBoard):
        shared.add(knows)
    assert main.kept_evidence() is clean.kept_evidence() is None


def test_what_proves_no_fork_is_given_to_nobody() -> None:
    main, late = MemoryState(), MemoryState()
    shared = SharedState(main, log_key())
    shared.add(late)
    main.keep_evidence(evidence(1))
    with pytest.raises(InvalidProof):
        shared.add(late)
    assert late.kept_evidence() is None


@pytest.mark.parametrize("main_is_full", [False, True])
def test_a_full_disk_loses_the_evidence_of_nobody_else(*, main_is_full: bool) -> None:
    main = Full() if main_is_full else MemoryState()
    states = [MemoryState(), MemoryState() if main_is_full else Full(), MemoryState()]
    shared = SharedState(main, log_key())
    for each in states:
        shared.add(each)
    if main_is_full:
        with pytest.raises(NoSpace):
            shared.keep_evidence(FORK)
    else:
        shared.keep_evidence(FORK)
    kept = [each.kept_evidence() for each in (main, *states)]
    assert kept.count(FORK) == 3


def test_a_pair_of_checkpoints_is_remembered_until_it_is_proved() -> None:
    main = MemoryState()
    shared = SharedState(main, log_key())
    assert shared.unproven() is None
    shared.keep_unproven(b"pair")
    assert shared.unproven() == main.unproven() == b"pair"
    shared.clear_unproven()
    assert shared.unproven() is main.unproven() is None
