"""Opens a log without reading all of it again, from a sealed snapshot of what follows from it.

Rules S10 and S11 of `specs/05-bulletin-board.md`, section 5. A snapshot is never needed: whatever
is wrong with one, the log is read from its beginning.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Final, TypeGuard

from bulletin_board.admission import AdmissionPolicy, PolicyFactory, Resumable
from bulletin_board.entry import Entry, Submission
from bulletin_board.note import NoteSigner, SignedCheckpoint, VerifierKey
from bulletin_board.reader import VerifiedTiles
from bulletin_board.storage import Digest, Inconsistent, Index, IndexRow, Storage
from bulletin_board.tree import TILE_WIDTH, tree_root
from wire.codec import Codec, fixed, opaque, record, u64
from wire.domains import SNAPSHOT_PAYLOAD_TYPE
from wire.ed25519 import SIGNATURE_SIZE, pre_auth_encoding, verify
from wire.errors import MalformedMessage, ProtocolError, UsageError

_LOG: Final = logging.getLogger("gopa.board")

Census = Counter[tuple[bytes, int]]

_LARGEST_CENSUS = 2**28
_LARGEST_STATE = 2**31
_CENSUS_ROW = Struct(">32sBQ")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of the first `size` entries of a log, with their root and index rows."""

    policy: bytes
    size: int
    root: bytes
    rows: bytes
    census: bytes
    state: bytes


SNAPSHOT: Codec[Snapshot] = record(
    Snapshot,
    policy=opaque(0, 255),
    size=u64,
    root=fixed(32),
    rows=fixed(32),
    census=opaque(0, _LARGEST_CENSUS),
    state=opaque(0, _LARGEST_STATE),
)


@dataclass(slots=True)
class LogKnowledge:
    """What follows from all entries of a log; `size` of them are in the last snapshot."""

    policy: AdmissionPolicy
    rows: Digest
    census: Census
    size: int

    def take(self, row: IndexRow) -> None:
        """Learn of the next entry of the log, which the policy has observed."""
        self.rows.update(row.to_bytes())
        self.census[row.slot.session, row.slot.phase] += 1

    def snapshot(self, signed: SignedCheckpoint, signer: NoteSigner) -> bytes | None:
        """Seal all of it with the log's key; None for a policy that does not say what it knows."""
        policy = self.policy
        if not is_resumable(policy):
            return None
        census = b"".join(_CENSUS_ROW.pack(*key, n) for key, n in self.census.items())
        found = Snapshot(
            policy.identity(), signed.size, signed.root, self.rows.digest(), census, policy.save()
        )
        return seal(found, signer)


def seal(snapshot: Snapshot, signer: NoteSigner) -> bytes:
    """Sign a snapshot: only the holder of the log's key makes one."""
    content = SNAPSHOT.encode(snapshot)
    return content + signer.signing_key.sign(_signed_part(content))


def unseal(data: bytes, log_key: VerifierKey) -> Snapshot:
    """Verify and decode; raises `ProtocolError` for what this log's writer has not sealed."""
    if len(data) < SIGNATURE_SIZE:
        raise MalformedMessage("a snapshot and its seal", "snapshot")
    content = data[:-SIGNATURE_SIZE]
    # Whoever can write this file could else have the board let in what its policy forbids.
    verify(log_key.key, _signed_part(content), data[-SIGNATURE_SIZE:])
    return SNAPSHOT.decode(content)


def resume(
    storage: Storage, signed: SignedCheckpoint, log_key: VerifierKey, make: PolicyFactory
) -> LogKnowledge:
    """Find out what follows from all entries: from the snapshot if it holds, and what came later.

    Raises `Inconsistent` if the log cannot be read, or the index says something else.
    """
    tiles = VerifiedTiles(storage.public, signed.checkpoint)
    try:
        found = _from_snapshot(storage, tiles, log_key, make)
        if found is None:
            found = LogKnowledge(make(), hashlib.sha256(), Counter(), 0)
        _catch_up(found, storage.index, tiles)
    except ProtocolError as error:
        raise Inconsistent(f"the log cannot be read back: {error}") from error
    return found


def is_resumable(policy: AdmissionPolicy) -> TypeGuard[Resumable]:
    """Whether the policy's own class says what it knows: what it inherits may be less than that."""
    return "save" in type(policy).__dict__


def _from_snapshot(
    storage: Storage, tiles: VerifiedTiles, log_key: VerifierKey, make: PolicyFactory
) -> LogKnowledge | None:
    data = None if storage.snapshots is None else storage.snapshots.load()
    if data is None:
        return None
    try:
        snapshot = unseal(data, log_key)
        policy = _same_policy(make(), snapshot)
        rows = _checked(snapshot, storage.index, tiles)
        policy.restore(snapshot.state, snapshot.size, _Fetching(tiles))
        census = Counter(_read_census(snapshot.census))
    except (ProtocolError, UsageError) as error:
        _LOG.warning("the snapshot is not used, all of the log is read: %s", error)
        return None
    return LogKnowledge(policy, rows, census, snapshot.size)


def _same_policy(policy: AdmissionPolicy, snapshot: Snapshot) -> Resumable:
    if not is_resumable(policy) or policy.identity() != snapshot.policy:
        raise MalformedMessage("it was made by another policy", "snapshot")
    return policy


def _checked(snapshot: Snapshot, index: Index, tiles: VerifiedTiles) -> Digest:
    """The hash of the rows of a snapshot, if it is of this log and this index."""
    if snapshot.size > tiles.size or tree_root(snapshot.size, tiles.node) != snapshot.root:
        raise MalformedMessage("it is of another log", "snapshot")
    rows = hashlib.sha256()
    index.absorb(snapshot.size, rows)
    if rows.digest() != snapshot.rows:
        raise MalformedMessage("it is of another index", "snapshot")
    return rows


def _catch_up(found: LogKnowledge, index: Index, tiles: VerifiedTiles) -> None:
    """Show the policy all later entries, and compare each with what the index says about it."""
    rows = index.rows(found.size)
    for place, raw in enumerate(_entries(tiles, found.size), found.size):
        submission = Submission.decode(raw, tiles.leaf(place))
        row = next(rows, None)
        if row is None or not _says(index, row, place, submission):
            raise Inconsistent(
                f"the index does not say what the log says about entry {place}. Nothing was"
                " changed: stop the board and rebuild the index with `gopa board reindex`"
            )
        found.policy.observe(place, submission.entry, evidence=row.copy > 0)
        found.take(row)


def _says(index: Index, row: IndexRow, place: int, submission: Submission) -> bool:
    if (row.slot, row.leaf) != (submission.entry.slot, submission.leaf):
        return False
    # A second entry under a copy of its own, and a first one that never was, would free a slot.
    return row.copy == 0 or index.places(row.slot)[0].index < place


def _entries(tiles: VerifiedTiles, start: int) -> Iterator[bytes]:
    first, offset = divmod(start, TILE_WIDTH)
    for number in range(first, -(-tiles.size // TILE_WIDTH)):
        yield from tiles.bundle(number)[offset if number == first else 0 :]


class _Fetching:
    """Entries of the log, verified; cheap in the order of the log."""

    def __init__(self, tiles: VerifiedTiles) -> None:
        self._tiles = tiles
        self._number = -1
        self._bundle: list[bytes] = []

    def __call__(self, index: int) -> Entry:
        number, offset = divmod(index, TILE_WIDTH)
        if not 0 <= index < self._tiles.size:
            raise MalformedMessage("an entry of the log", "snapshot")
        if number != self._number:
            self._number, self._bundle = number, self._tiles.bundle(number)
        return Submission.decode(self._bundle[offset]).entry


def _read_census(data: bytes) -> Mapping[tuple[bytes, int], int]:
    if len(data) % _CENSUS_ROW.size:
        raise MalformedMessage("whole rows", "census")
    return {(session, phase): n for session, phase, n in _CENSUS_ROW.iter_unpack(data)}


def _signed_part(content: bytes) -> bytes:
    return pre_auth_encoding(SNAPSHOT_PAYLOAD_TYPE, content)
