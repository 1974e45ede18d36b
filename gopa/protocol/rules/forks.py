"""A log as a whole: its signatures, its leaves, and what another view of it would explain.

Whoever was shown another log than this one is not convicted by this one (04-E6).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Final

from bulletin_board.entry import Submission
from bulletin_board.tree import PastRoots
from gopa.contract.framing import Posted, signature_claim
from gopa.protocol.rules.findings import Fault, Findings, Role, RuleNote, Views
from wire.ed25519 import verify_many
from wire.errors import InvalidSignature, MalformedMessage
from wire.packed import Rows

_BATCH: Final = 1024
_LEAF: Final = 32

_OF_ONE_VIEW: Final = frozenset(
    {
        *("04-A1", "04-A5", "04-C1", "04-C2", "04-C3", "04-C4", "04-C7", "04-F2"),
        *("04-F3", "04-J6", "04-K1", "04-L3", "04-O1", "04-O3", "04-O4", "04-P1"),
        *("04-P3", "04-U2", "04-U3", "04-U4", "04-X1", "04-X2", "04-Z1", "04-Z3"),
    }
)
"""Rules that an honest author may seem to break in this log because it was shown another one."""

_OF_ONE_VIEW_IN_ROWS: Final = frozenset({"14-P6"})
"""The same where vectors are proved row by row: which edges are live a fork may show otherwise."""


def read_session(raws: Iterable[bytes], *, executor: Executor | None = None) -> Iterator[Posted]:
    """Decode the entries of a log and verify their signatures, in bounded batches.

    Raises `MalformedMessage` or `InvalidSignature` for a log that holds anything else;
    `culprits` are indexes of the log.
    """
    source, start = iter(raws), 0
    while batch := list(islice(source, _BATCH)):
        submissions = [_decoded(raw, start + number) for number, raw in enumerate(batch)]
        try:
            verify_many(map(signature_claim, submissions), executor)
        except InvalidSignature as error:
            culprits = tuple(start + culprit for culprit in error.culprits)
            raise InvalidSignature(error.message, error.check, culprits) from None
        for number, submission in enumerate(submissions):
            yield Posted(start + number, submission.leaf, submission.entry)
        start += len(batch)


class Leaves:
    """All leaf hashes of a log, as long as no index is missing."""

    def __init__(self) -> None:
        self.hashes = Rows(_LEAF)
        self.whole = True
        self._past = PastRoots(self.hashes)

    def add(self, index: int, leaf: bytes) -> None:
        self.whole = self.whole and index == len(self.hashes)
        if self.whole:
            self.hashes.append(leaf)

    def roots(self, sizes: Iterable[int]) -> dict[int, bytes]:
        """The root at each of these sizes that the log has reached."""
        past = PastRoots(self.hashes)
        found = {size: past.at(size) for size in sorted(set(sizes))}
        return {size: root for size, root in found.items() if root is not None}

    def root_at(self, size: int) -> bytes | None:
        """The root at this size; None where leaves are missing."""
        return self._past.at(size) if self.whole else None


def with_views(found: Findings, views: Views, leaves: Leaves) -> Findings:
    """Compare what entries and closes say about the log with the log (04-E6).

    Whoever rests on a root that this log never had was shown another log, or pretends that it
    was.
    """
    if not leaves.whole:
        return found
    strange = views.strange(leaves.roots(views.sizes()))
    if not strange:
        return found
    elsewhere = array("Q")
    for view in strange:
        elsewhere.extend(view.entries)
    apart = frozenset(elsewhere)
    what = "it rests on a root that the log never had"
    notes = [
        RuleNote("04-E6", what, b"", view.entries[:16], 0, len(view.entries)) for view in strange
    ]
    faults = tuple(_weighed(fault, apart) for fault in found.faults)
    return replace(found, faults=faults, notes=(*found.notes, *notes))


def _weighed(fault: Fault, apart: frozenset[int]) -> Fault:
    """The fault, not proved if its author may only have been shown another log.

    Lists stay as they are: who says that it was shown another log is out all the same (attack
    `hides-behind-a-fork`).
    """
    of_one_view = _OF_ONE_VIEW | _OF_ONE_VIEW_IN_ROWS
    if fault.rule in of_one_view and apart.intersection(fault.entries):
        return replace(fault, proved=False)
    return fault


def anchored(found: Findings, manifest_hash: bytes) -> Findings:
    """Require the manifest that the caller knows.

    An organiser could run the session under another one than it announced (`another-manifest`).
    """
    manifest = found.manifest
    if manifest is not None and sha256(manifest.to_bytes()).digest() == manifest_hash:
        return found
    if manifest is None and found.faults:  # a manifest that is invalid itself is named already
        return found
    what = "not the manifest that is expected"
    author = b"" if manifest is None else manifest.organiser
    fault = Fault(Role.ORGANISER, author, "04-S1", what, (), 0, proved=False)
    return replace(found, faults=(fault, *found.faults), complete=False)


def _decoded(raw: bytes, index: int) -> Submission:
    try:
        return Submission.decode(raw)
    except MalformedMessage as error:
        raise MalformedMessage(error.message, f"entry {index}") from None
