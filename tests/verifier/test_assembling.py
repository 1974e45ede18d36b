"""Entries cut in odd places, out of turn and twice: both find the same messages in them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import pytest

from bulletin_board.entry import LARGEST_BODY, VERSION, Entry
from gopa.contract.bodies import widest_body
from gopa.contract.cutting import LEAST_TAIL, chunks_of, head_end, is_head, pieces_of
from gopa.contract.framing import Assembler, Broken, Equivocation, Message, Posted
from gopa.contract.organiser import SUMS_BEGIN
from gopa.contract.phases import Kind, Phase
from gopa.protocol.party.reading import _first
from tests.contract.test_cutting import ORGANISER, SESSION, commit, prove, result, row_commit
from tests.verifier.test_parts import part

BODIES: Final[tuple[tuple[Kind, bytes], ...]] = (
    (Kind.COMMIT, commit(3, LEAST_TAIL - 6)),
    (Kind.COMMIT, commit(0, 5_000, shared=False)),
    (Kind.COMMIT, row_commit(3)),
    (Kind.COMMIT, row_commit(623)),
    (Kind.COMMIT, row_commit(624)),
    (Kind.COMMIT, row_commit(1_300)),
    (Kind.PROVE, prove(3)),
    (Kind.PROVE, prove(1_872, 60_000)),
    (Kind.PROVE, prove(1_873, 60_000)),
    (Kind.PROVE, prove(4_000)),
    (Kind.PUBLISH, row_commit(624)),
    (Kind.RESULT, result(7_494)),
    (Kind.RESULT, result(7_600, 3)),
    (Kind.RESULT, result(15_300)),
)


@dataclass(frozen=True)
class Planned:
    """One entry to be made: its place, and what is in it."""

    kind: int
    seq: int
    chunk: int
    chunks: int
    body: bytes


def pieces(source: random.Random, kind: Kind, body: bytes) -> list[bytes]:
    """The body as an honest author cuts it, or anywhere near a border."""
    if source.randrange(3) == 0:
        return pieces_of(kind, body)
    head = head_end(kind, body[:LARGEST_BODY])
    sums = SUMS_BEGIN + int.from_bytes(body[40:43])
    borders = [0, 32, head, head + LARGEST_BODY, LARGEST_BODY, 2 * LARGEST_BODY, len(body)]
    borders += [SUMS_BEGIN, sums, SUMS_BEGIN + LARGEST_BODY]
    cuts = {source.choice(borders) + source.choice([0, 0, 0, -1, 1]) for _ in range(3)}
    cuts |= set(range(max(cuts), len(body), LARGEST_BODY)) if source.randrange(2) else set()
    ends = [0, *sorted(each for each in cuts if 0 < each < len(body)), len(body)]
    found = [body[a:b][:LARGEST_BODY] for a, b in pairwise(ends)]
    return [*found, b""] if source.randrange(8) == 0 else found


def planned(source: random.Random) -> list[Planned]:
    """Two or three messages of one author, and then disorder in them."""
    made: list[Planned] = []
    for _ in range(source.randint(1, 3)):
        kind, body = source.choice(BODIES)
        if source.randrange(6) == 0:
            body = body[: head_end(kind, body[:LARGEST_BODY]) or LARGEST_BODY]
        found = pieces(source, kind, body + source.choice([b"", b"", b"\0"]))
        widest = chunks_of(widest_body(kind))
        odd = [len(found) + 1, len(found) + 2, 65_535, *range(widest, widest + 4)]
        count = source.choice([len(found)] * 10 + odd)
        begin = len(made)
        made += [
            Planned(kind, begin + at, at, count, each)
            for at, each in enumerate(found[: source.choice([1, 9, 9, 9])])
        ]
    for _ in range(source.randrange(3)):
        at = source.randrange(len(made))
        moved = made.pop(at) if source.randrange(2) else made[at]
        if source.randrange(2):
            moved = replace(
                moved,
                kind=source.choice([moved.kind, Kind.COMMIT, Kind.PROVE]),
                seq=max(0, moved.seq + source.choice([-1, 0, 1])),
                chunk=max(0, min(moved.chunks - 1, moved.chunk + source.choice([-1, 0, 1]))),
            )
        made.insert(source.randint(0, len(made)), moved)
    return made


def posted(plan: Sequence[Planned]) -> Iterator[Posted]:
    """Entries that hold it; each names the one before, as their author would have it."""
    leaf = bytes(32)
    for index, each in enumerate(plan):
        entry = Entry(
            VERSION, SESSION, int(Phase.COMMIT), each.kind, 1, each.chunk, each.chunks,
            ORGANISER.public, each.seq, leaf, 0, bytes(32), each.body,
        )  # fmt: skip
        leaf = (index + 1).to_bytes(32)
        yield Posted(index, leaf, entry)


def first(entries: Sequence[Posted]) -> list[tuple[Any, ...]]:
    """What the library makes of them."""
    assembler, found = Assembler(), list[tuple[Any, ...]]()
    for each in entries:
        for item in assembler.observe(each):
            if isinstance(item, Message):
                found.append(("message", item.first, item.index, item.seq, item.kind, item.body))
            elif isinstance(item, Broken):
                found.append(("broken", item.index))
            elif isinstance(item, Equivocation):
                found.append(("twice", item.first, item.index))
    return found


def second(entries: Sequence[Posted]) -> list[tuple[Any, ...]]:
    """What the second verifier makes of them."""
    assembler, found = part("board").Assembler(), list[tuple[Any, ...]]()
    record = part("codec").Record
    for each in entries:
        fields = {name: getattr(each.entry, name) for name in Entry.__slots__}
        fields |= {"author": each.entry.author.data, "leaf": each.leaf}
        item = assembler.take(record(index=each.index, first=each.index, **fields))
        if item is None:
            continue
        if item.what == "message":
            found.append(("message", item.first, item.index, item.seq, item.kind, item.body))
        elif item.what == "broken":
            found.append(("broken", item.index))
        else:
            found.append(("twice", item.first, item.index))
    return found


@pytest.mark.parametrize(
    "tries", [300, pytest.param(30_000, marks=pytest.mark.soak)], ids=["few", "many"]
)
def test_both_find_the_same_messages_however_they_are_cut(tries: int) -> None:
    source, seen = random.Random(f"cuts {tries}"), set[tuple[str, int]]()
    for number in range(tries):
        entries = list(posted(planned(source)))
        found = first(entries)
        assert found == second(entries), number
        read = _first(entries)
        whole = next((each for each in found if each[0] == "message"), None)
        if read is not None and whole is not None and whole[3] == 0:
            # What a neighbour reads is what the message that counts begins with.
            assert whole[5].startswith(read.body), number
        if read is None:
            assert whole is None or whole[3], number
        head = read is not None and is_head(entries[read.first].entry)
        seen |= {(each[0], head) for each in found}
    assert seen == {(each, head) for each in ("message", "broken", "twice") for head in (0, 1)}
