"""Logs, keys and entries for the tests of the board."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from bulletin_board.admission import AdmissionPolicy, Anyone
from bulletin_board.entry import VERSION, Entry, Submission, sign_entry
from bulletin_board.note import KeyKind, NoteSigner, VerifierKey
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import MemorySource
from bulletin_board.sequencer import Accepted, Outcome, Sequencer, first_checkpoint
from bulletin_board.storage import Storage, memory_storage
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.memory import MemoryFiles
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes

ORIGIN = "board.example/log"
SESSION = bytes(range(32))


@cache
def signer(name: str = ORIGIN, kind: KeyKind = KeyKind.LOG) -> NoteSigner:
    return NoteSigner(name, kind, SecretBytes(seeded(f"{name}/{kind}")(32)))


@cache
def party(number: int = 0) -> SigningKey:
    return SigningKey.generate(seeded(f"party {number}"))


def log_key() -> VerifierKey:
    return signer().verifier


def trust() -> TrustPolicy:
    return TrustPolicy.single_log(log_key())


def entry_bytes(
    seq: int,
    *,
    author: int = 0,
    body: bytes = b"",
    phase: int = 1,
    session: bytes = SESSION,
    seen: tuple[int, bytes] = (0, bytes(32)),
) -> bytes:
    key = party(author)
    entry = Entry(
        VERSION, session, phase, 1, 0, 0, 1, key.public, seq, bytes(32), seen[0], seen[1], body
    )
    return sign_entry(entry, key)


def submission(seq: int, *, author: int = 0, body: bytes = b"", phase: int = 1) -> Submission:
    return Submission.decode(entry_bytes(seq, author=author, body=body, phase=phase))


def submissions(count: int, start: int = 0, size: int = 40) -> list[Submission]:
    return [submission(i, body=i.to_bytes(4) * (size // 4)) for i in range(start, start + count)]


def anyone() -> AdmissionPolicy:
    return Anyone(10**9)


def memory_log(count: int = 0, batch: int = 100) -> tuple[Sequencer, dict[str, bytes]]:
    storage = memory_storage(first_checkpoint(signer()))
    sequencer = Sequencer(storage, signer(), anyone)
    append(sequencer, submissions(count), batch)
    assert isinstance(storage.public, MemoryFiles)
    return sequencer, storage.public.files


def new_board(root: Path) -> BoardDirectory:
    board = BoardDirectory(root)
    board.create(signer(), first_checkpoint(signer()))
    return board


def open_log(board: BoardDirectory, storage: Storage | None = None) -> Sequencer:
    return Sequencer(storage or board.storage(), signer(), anyone)


def filled_board(root: Path, entries: Iterable[Submission]) -> BoardDirectory:
    """A new board on disk, closed again, whose log has these entries."""
    board = new_board(root)
    log = open_log(board)
    append(log, entries)
    log.close()
    return board


def append(sequencer: Sequencer, entries: Iterable[Submission], batch: int = 100) -> list[Accepted]:
    accepted = []
    for part in parts(list(entries), batch):
        accepted += [must_accept(outcome) for outcome in sequencer.append(part)]
    return accepted


def parts(entries: list[Submission], batch: int) -> Iterator[list[Submission]]:
    for start in range(0, len(entries), batch):
        yield entries[start : start + batch]


def must_accept(outcome: Outcome) -> Accepted:
    assert isinstance(outcome, Accepted), outcome
    return outcome


def copy_of(board: BoardDirectory, root: Path) -> BoardDirectory:
    shutil.copytree(board.root, root)
    return BoardDirectory(root)


def source_of(files: dict[str, bytes]) -> MemorySource:
    return MemorySource(files)
