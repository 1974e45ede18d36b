"""What the tests of lookups share: questions, a mixed log, answers as a board makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bulletin_board.entry import Submission
from bulletin_board.lookup import (
    LOOKUP,
    LOOKUP_ANSWER,
    MEDIA_TYPE,
    FoundEntry,
    Lookup,
    LookupAnswer,
)
from bulletin_board.reader import LogReader
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.tree import subset_proof
from tests.board.asking import Answer, ask
from tests.board.tools import SESSION, entry_bytes, new_board, open_log, party

OTHER = bytes(32)


def author(number: int) -> bytes:
    return party(number).public.data


def authors(*numbers: int) -> tuple[bytes, ...]:
    return tuple(sorted(map(author, numbers)))


def question(size: int, *numbers: int, phases: tuple[int, ...] = (1,), **more: object) -> Lookup:
    fields: dict[str, object] = {
        "version": 1,
        "session": SESSION,
        "round": 0,
        "start": 0,
        "below": size,
        "size": size,
        "phases": phases,
        "authors": authors(*numbers),
    }
    return Lookup(**(fields | more))  # type: ignore[arg-type]


def answer_of(reader: LogReader, indexes: Sequence[int], until: int | None = None) -> bytes:
    """An answer with these entries and a good proof, whoever asked."""
    entries = list(reader.entries())
    found = tuple(FoundEntry(index, entries[index]) for index in indexes)
    end = reader.size if until is None else until
    if len(indexes) == 1 and until is None:
        end = indexes[0] + 1
    proof = tuple(subset_proof(sorted(set(indexes)), reader.size, reader.node))
    return LOOKUP_ANSWER.encode(LookupAnswer(end, found, proof))


MIXED = [
    *(entry_bytes(0, author=a, phase=p) for p in (1, 2) for a in range(30)),
    entry_bytes(0, author=3, phase=1, body=b"again"),
    *(entry_bytes(s, author=3, phase=3, session=OTHER) for s in range(3)),
    *(entry_bytes(s, author=4, phase=9, body=bytes(100 * s)) for s in range(600)),
]


def mixed_board(root: Path) -> BoardDirectory:
    """A board on disk, closed again, whose log has the entries of `MIXED`."""
    board = new_board(root)
    log = open_log(board)
    for at in range(0, len(MIXED), 100):
        log.append([Submission.decode(raw) for raw in MIXED[at : at + 100]])
    log.close()
    return board


def expected(wanted: Lookup) -> list[int]:
    slots = [Submission.decode(raw).entry.slot for raw in MIXED]
    return [
        index
        for index, slot in enumerate(slots)
        if wanted.start <= index < wanted.below
        and slot.session == wanted.session
        and slot.round == wanted.round
        and slot.phase in wanted.phases
        and slot.author in wanted.authors
    ]


def lookup(url: str, wanted: Lookup) -> Answer:
    return ask(url, "POST", "/v1/lookup", LOOKUP.encode(wanted), {"Content-Type": MEDIA_TYPE})
