"""Entries of neighbours, as the log holds them: what counts of them ([E1] to [E4])."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from bulletin_board import Entry
from gopa.messages.framing import Assembler, Message, Posted
from gopa.messages.party import COMMIT, Commit
from gopa.messages.phases import KIND_IN
from gopa.party.chain import whole
from gopa.party.events import Fetch
from wire.errors import MalformedMessage, UsageError

_T = TypeVar("_T")


def first_messages(
    entries: Iterable[Posted], session: bytes, wanted: Fetch
) -> Mapping[bytes, Message]:
    """The message of each author that was asked for, if it is whole below the cut.

    A second entry in a slot changes nothing. Raises `UsageError` for entries of anything
    else or out of order: the caller answers with what was asked for.
    """
    by_author = _by_author(entries, (session, wanted.round, wanted.phase), wanted.cut)
    kind = KIND_IN[wanted.phase]
    found = {author: _first(by_author.get(author, ())) for author in wanted.authors}
    return {
        author: message
        for author, message in found.items()
        if message is not None and message.kind == kind
    }


def decoded(message: Message | None, decode: Callable[[bytes], _T], acts_on: bytes) -> _T | None:
    """The content of a message that is well-formed and acts on the right close; else None."""
    if message is None or not message.body.startswith(acts_on):
        return None
    try:
        return decode(message.body)
    except MalformedMessage:
        return None


@lru_cache(maxsize=1024)
def decode_commit(body: bytes) -> Commit:
    """Strictly. Kept, because all neighbours of one process read the same commits."""
    return COMMIT.decode(body)


def _by_author(
    entries: Iterable[Posted], place: tuple[bytes, int, int], cut: int
) -> dict[bytes, list[Posted]]:
    """The entries below the cut, in the order of the log."""
    found: dict[bytes, list[Posted]] = {}
    last = -1
    for posted in entries:
        entry = posted.entry
        if (entry.session, entry.round, entry.phase) != place:
            raise UsageError("entries of the phase that was asked for", "entries")
        if posted.index <= last:
            raise UsageError("entries in the order of the log", "entries")
        last = posted.index
        if posted.index < cut:
            found.setdefault(entry.author.data, []).append(posted)
    return found


def _first(entries: Sequence[Posted]) -> Message | None:
    """The first whole message, if it begins with the author's first entry."""
    if entries and _is_first_and_whole(entries[0].entry):
        return whole((entries[0],))  # what follows can change nothing, and most have no more
    assembler = Assembler()
    for posted in entries:
        for item in assembler.observe(posted):
            if isinstance(item, Message):
                return item if item.seq == 0 else None
    return None


def _is_first_and_whole(entry: Entry) -> bool:
    return (entry.seq, entry.chunk, entry.chunks) == (0, 0, 1)
