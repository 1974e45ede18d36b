"""Leaves sums out of requests to parties that do not ask for them.

A result over a long vector is a message of many entries, most of which hold nothing but sums. A
party needs to know how often values were released and who was left out, which stands in the first
and the last entries. Those between, which hold the sums, are shown by their leaves. Specification:
12-N12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bulletin_board import Entry
from bulletin_board.entry import LARGEST_BODY
from gopa.contract.cutting import cut_of, full_size, own_sums
from gopa.contract.framing import Posted
from gopa.contract.organiser import SUMS_BEGIN
from gopa.contract.phases import Kind, Phase
from gopa.sessions.tunnel.messages import HiddenEntry
from wire.errors import InvalidProof

_RULE: Final = "12-N12"
_ZEROS: Final = bytes(LARGEST_BODY)
"""Stand for sums that are not shown: a possible content, which nobody is told."""


def hideable(found: Sequence[Posted], organiser: bytes) -> frozenset[int]:
    """The indexes of entries with nothing but sums, of results that are there from end to end."""
    chosen: set[int] = set()
    said = [each for each in found if _is_result(each.entry, organiser)]
    for first in (each for each in said if each.entry.chunk == 0):
        chunks = [each for each in said if each.entry.round == first.entry.round]
        if [each.entry.chunk for each in chunks] == list(range(first.entry.chunks)):
            chosen |= {e.index for e in chunks if _holds_sums_alone(first.entry, e.entry.chunk)}
    return frozenset(chosen)


def restored(shown: Sequence[Posted | HiddenEntry], organiser: bytes) -> tuple[Posted, ...]:
    """What a request shows, with an entry of unknown sums in the place of each that is hidden.

    The entry behind them names the leaf of the last one, and each that of the one before, so what
    is hidden is the organiser's if the message is one.

    Raises:
        InvalidProof: something is hidden that may hold more than sums, or is not followed.
    """
    made: list[Posted] = []
    first: Entry | None = None
    last: Posted | None = None
    open_end = False
    for each in shown:
        if isinstance(each, HiddenEntry):
            if first is None or last is None or not _holds_sums_alone(first, last.entry.chunk + 1):
                raise InvalidProof("more is hidden than sums", _RULE)
            cut = cut_of(first.kind, first.body, first.chunks)
            entry = _following(last.entry, last.leaf, full_size(last.entry.chunk + 1, cut))
            posted, open_end = Posted(each.index, each.leaf, entry), True
        else:
            posted, entry = each, each.entry
            if entry.author.data != organiser or entry.phase != Phase.ORGANISER:
                made.append(posted)
                continue
            follows = last is not None and _follows(last, entry)
            if open_end and not follows:
                raise InvalidProof("what is hidden is not in front of what is shown", _RULE)
            open_end = False
            if entry.chunk == 0:
                first = entry if _is_result(entry, organiser) else None
            elif not follows:  # else part of a close would pass for sums of an older result
                first = None
        last = posted
        made.append(posted)
    if open_end:
        raise InvalidProof("the end of what is hidden is not shown", _RULE)
    return tuple(made)


def _is_result(entry: Entry, organiser: bytes) -> bool:
    place = entry.phase, entry.kind
    return place == (Phase.ORGANISER, Kind.RESULT) and entry.author.data == organiser


def _holds_sums_alone(first: Entry, chunk: int) -> bool:
    """Whether this chunk of a result, which begins with `first`, lies within its sums."""
    begin, sums = SUMS_BEGIN + (chunk - 1) * LARGEST_BODY, own_sums(first.kind, first.body)
    follows = len(first.body) == SUMS_BEGIN  # else it is none, and whoever sees all of it says so
    return follows and 0 < chunk < first.chunks - 1 and begin < sums


def _following(before: Entry, leaf: bytes, size: int) -> Entry:
    """The entry behind another one, with zeros for the sums in it."""
    return replace(
        before,
        chunk=before.chunk + 1,
        seq=before.seq + 1,
        prev_own_leaf=leaf,
        body=_ZEROS[:size],
    )


def _follows(last: Posted, entry: Entry) -> bool:
    """Whether an entry is the next of the same message.

    If one behind hidden ones were not, a host would have the party find a fault of the organiser.
    """
    before = last.entry
    place = before.chunk + 1, before.chunks, before.seq + 1
    if (entry.chunk, entry.chunks, entry.seq) != place:
        return False
    expected = replace(
        _following(before, last.leaf, 0),
        seen_size=entry.seen_size,
        seen_root=entry.seen_root,
        body=entry.body,
    )
    return entry == expected
