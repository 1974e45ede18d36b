"""Checks a whole log from its public files. `specs/05-bulletin-board.md`, section 6.

Every byte that a log serves is compared with what its checkpoint commits to;
whatever is not needed for that must not be there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from bulletin_board.entry import Slot, SlotTable, Submission, slot_of, verify_entry
from bulletin_board.note import Checkpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import CHECKPOINT, DirectorySource, Source, resource_limit
from bulletin_board.tree import (
    HASH_SIZE,
    RightEdge,
    TileContent,
    bundles,
    decode_bundle,
    is_resource,
    leaf_hash,
)
from wire.errors import InvalidProof, InvalidSignature, MalformedMessage, Unattributed
from wire.packed import Rows

_SIGNATURES_IN_A_TASK = 64
_TASKS_AHEAD = 64


@dataclass(frozen=True, slots=True)
class FsckReport:
    """What was checked; every number counts things that were found right."""

    origin: str
    size: int
    root: bytes
    entry_bytes: int
    tiles: int
    bundles: int
    signatures: int
    equivocations: int


class SlotChecks:
    """The check that no slot has more than an entry and its evidence, and no entry twice (05-F6).

    Memory grows with the number of slots, about 70 bytes each.
    """

    def __init__(self) -> None:
        self._slots = SlotTable()
        self._leaves = Rows(HASH_SIZE)
        self._second: dict[int, bytes] = {}

    @property
    def equivocations(self) -> int:
        """Slots that hold two entries."""
        return len(self._second)

    def take(self, index: int, slot: Slot, leaf: bytes) -> None:
        """Check the next entry of the log; raises `InvalidProof` (05-F6) for one too many."""
        number = self._slots.add(slot)
        if number == len(self._leaves):
            self._leaves.append(leaf)
            return
        second = self._second.get(number)
        # A board that repeats an entry must not convict its author.
        if self._leaves.holds(number, leaf) or second == leaf:
            raise InvalidProof(f"entry {index} is in the log already", "05-F6")
        if second is not None:
            raise InvalidProof(f"entry {index} is a third one in its slot", "05-F6")
        self._second[number] = leaf


class EntryChecks:
    """Checks of entries in the order of the log: encoding, slots, and signatures if asked.

    `finish` waits for signatures that are verified on the executor.
    """

    def __init__(self, *, signatures: bool = False, executor: Executor | None = None) -> None:
        self.signatures = 0
        self._verify = signatures
        self._executor = executor
        self._slots = SlotChecks()
        self._waiting: list[Submission] = []
        self._tasks: list[Iterator[None]] = []

    @property
    def equivocations(self) -> int:
        return self._slots.equivocations

    def add(self, index: int, raw: bytes, leaf: bytes) -> None:
        """Check one entry with its leaf hash.

        Raises `MalformedMessage`, or `InvalidProof` (05-F6) for a full slot.
        """
        try:
            self._slots.take(index, slot_of(raw), leaf)
        except MalformedMessage as error:
            raise MalformedMessage(error.message, f"entry {index}", error.offset) from None
        if self._verify:
            self._waiting.append(Submission.decode(raw, leaf))
            if len(self._waiting) == _SIGNATURES_IN_A_TASK:
                self._hand_out()

    def finish(self) -> None:
        """Wait for all signatures. Raises `InvalidSignature` (05-F7) if one does not verify."""
        self._hand_out()
        self._collect(0)

    def _hand_out(self) -> None:
        batch, self._waiting = self._waiting, []
        self.signatures += len(batch)
        if self._executor is None:
            _verify_all(batch)
        else:
            self._tasks.append(iter(self._executor.map(_verify_all, [batch])))
            self._collect(_TASKS_AHEAD)

    def _collect(self, leave: int) -> None:
        while len(self._tasks) > leave:
            for _ in self._tasks.pop(0):
                pass


def fsck(
    source: Source,
    policy: TrustPolicy,
    *,
    signatures: bool = False,
    executor: Executor | None = None,
) -> FsckReport:
    """Read and check all of a log. Raises a `ProtocolError` that names the first fault.

    Memory grows with the number of slots, about 70 bytes each, and not with
    the size of entries.
    """
    signed = policy.open(source.fetch(CHECKPOINT, resource_limit(CHECKPOINT)))  # F1
    checks = EntryChecks(signatures=signatures, executor=executor)
    files = LogFiles(source, signed.checkpoint)
    index = entry_bytes = 0
    for entries, leaves in files.hashed_bundles():  # F3, F4, F5
        for entry, leaf in zip(entries, leaves, strict=True):
            checks.add(index, entry, leaf)  # F6
            entry_bytes += len(entry)
            index += 1
    checks.finish()  # F7
    return FsckReport(
        signed.checkpoint.origin,
        signed.size,
        signed.root,
        entry_bytes,
        files.tiles,
        -(-signed.size // 256),
        checks.signatures,
        checks.equivocations,
    )


class LogFiles:
    """All files of a log, read once and compared with a checkpoint that the caller judges.

    `tiles` counts those that were found right.
    """

    def __init__(self, source: Source, checkpoint: Checkpoint) -> None:
        self._source = source
        self._checkpoint = checkpoint
        self.tiles = 0

    def bundles(self) -> Iterator[list[bytes]]:
        """Read all entries, in lists of up to 256; a caller believes none before the end."""
        return (entries for entries, _ in self.hashed_bundles())

    def hashed_bundles(self) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """Do as `bundles`, with the leaf hash of each entry.

        Raises `MissingResource`, `MalformedMessage` (05-F3) or `InvalidProof` (05-F4, 05-F5).
        """
        edge = RightEdge()
        for bundle in bundles(self._checkpoint.size):
            data = self._source.fetch(bundle.path, resource_limit(bundle.path))
            entries = _entries(data, bundle.width, bundle.path)  # F3
            leaves = list(map(leaf_hash, entries))
            yield entries, leaves
            self._compare(edge.extend(leaves))
        self._compare(edge.partial())
        if edge.root() != self._checkpoint.root:  # F5
            raise InvalidProof("the entries do not lead to the checkpoint's root", "05-F5")

    def _compare(self, contents: Iterable[TileContent]) -> None:
        for content in contents:  # F4
            path = content.tile.path
            if self._source.fetch(path, resource_limit(path)) != content.data:
                raise InvalidProof(f"{path} does not belong to the entries", "05-F4")
            self.tiles += 1


def fsck_directory(
    root: Path,
    policy: TrustPolicy,
    *,
    signatures: bool = False,
    executor: Executor | None = None,
) -> FsckReport:
    """Do as `fsck`, and refuse files that the checkpoint does not need (05-F2)."""
    source = DirectorySource(root)
    signed = policy.open(source.fetch(CHECKPOINT, resource_limit(CHECKPOINT)))
    check_listing(root, signed.size)
    return fsck(source, policy, signatures=signatures, executor=executor)


def check_listing(root: Path, size: int) -> None:
    """Raises `Unattributed` (05-F2) for a file that a log of this size does not need."""
    for path in _files_below(root):
        expected = path == CHECKPOINT or is_resource(path, size)
        if not expected or not stat.S_ISREG((root / path).lstat().st_mode):
            raise Unattributed(f"{path!r} is not part of a log of {size} entries")


def _files_below(root: Path) -> Iterator[str]:
    """Relative paths of everything that is not a directory, and of empty directories."""
    for directory, names, files in os.walk(root, onerror=_unreadable):
        base = Path(directory)
        links = [name for name in names if (base / name).is_symlink()]
        if not names and not files and base != root:
            yield base.relative_to(root).as_posix()
        for name in [*files, *links]:
            yield (base / name).relative_to(root).as_posix()


def _unreadable(error: OSError) -> None:
    raise Unattributed(f"{error.filename!r} cannot be listed: {error.strerror}")


def _entries(data: bytes, width: int, path: str) -> list[bytes]:
    try:
        return decode_bundle(data, width)
    except MalformedMessage as error:
        raise MalformedMessage(error.message, path, error.offset) from None


def _verify_all(batch: list[Submission]) -> None:
    for submission in batch:
        try:
            verify_entry(submission)
        except InvalidSignature as error:
            author = submission.entry.author.data.hex()[:16]
            message = f"the entry {submission.leaf.hex()[:16]} of {author}: {error.message}"
            raise InvalidSignature(message, "05-F7") from None
