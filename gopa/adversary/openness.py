"""What a log shows to everybody who takes every message at its word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bulletin_board import Entry, LogReader, Submission
from gopa.adversary.outcome import OpenToAll
from gopa.messages.organiser import RESULT
from gopa.messages.party import OPENING
from gopa.messages.phases import Kind
from gopa.rules import RoundFindings
from wire.errors import MalformedMessage


def open_to_all(
    log: LogReader, found: RoundFindings, keys: Sequence[bytes], numbers: Sequence[int]
) -> OpenToAll:
    """Of one round. `numbers` are those of the parties on its roll.

    Openings are read from single entries: one has room for more than 1,000 edges.
    """
    values, seeds = set[int](), {numbers[at] for at in found.unmasked}
    edges, commits = set[frozenset[int]](), set[int]()
    for entry in _entries(log, found.number):
        author = keys.index(entry.author.data) if entry.author.data in keys else None
        if author is None:
            continue
        if entry.kind == Kind.COMMIT:
            commits.add(author)
        elif entry.kind == Kind.PUBLISH:
            values.add(author)
        elif entry.kind == Kind.UNMASK:
            seeds.add(author)
        elif entry.kind == Kind.OPENING:
            edges |= {frozenset({author, other}) for other in _neighbours(entry.body, numbers)}
    return OpenToAll(frozenset(values), frozenset(seeds), frozenset(edges), frozenset(commits))


def announced_in(log: LogReader, organiser: bytes, number: int) -> tuple[int, ...] | None:
    """The sum that the organiser's first result of a round states, whatever it is worth."""
    said = [
        entry
        for entry in _entries(log, number)
        if entry.kind == Kind.RESULT and entry.author.data == organiser
    ]
    first = {entry.seq: entry.body for entry in reversed(said)}
    try:
        return RESULT.decode(b"".join(first[seq] for seq in sorted(first))).sums if said else None
    except MalformedMessage:
        return None


def _neighbours(body: bytes, numbers: Sequence[int]) -> Iterator[int]:
    try:
        opening = OPENING.decode(body)
    except MalformedMessage:
        return
    for edge in opening.edges:
        if edge.neighbour < len(numbers):
            yield numbers[edge.neighbour]


def _entries(log: LogReader, number: int) -> Iterator[Entry]:
    for raw in log.entries():
        entry = Submission.decode(raw).entry
        if entry.round == number:
            yield entry
