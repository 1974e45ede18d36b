"""What came too late to change a list, and still says something ([A5], [E3], [F3], [O5])."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gopa.messages.framing import Message
from gopa.messages.party import OPENING, Opening
from gopa.messages.phases import Kind, Phase
from gopa.rules.accusations import Conviction, Court
from gopa.rules.book import Book
from gopa.rules.findings import Fault
from gopa.rules.mailbox import LEAF_SIZE
from gopa.rules.rollback import wrong_keys
from wire.errors import MalformedMessage
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class Late:
    """Convictions that bar from later rounds, faults, and edges that are public all the same."""

    convicted: Mapping[bytes, Conviction]
    faults: tuple[Fault, ...]
    opened: tuple[tuple[int, int], ...]


def judge_late(book: Book, court: Court | None) -> Late:
    """Late evidence of one round; it never changes a list or a result."""
    convicted = dict(court.convict(book.late_accusations)) if court is not None else {}
    faults = [
        book.fault(each.author, each.rule, each.what, each.entry) for each in convicted.values()
    ]
    opened: set[tuple[int, int]] = set()
    for message in book.stray_openings:
        edges = _public_inside(book, message)
        opened |= edges
        faults += _stray_faults(book, message, edges)
    return Late(convicted, tuple(faults), tuple(sorted(opened)))


def _public_inside(book: Book, message: Message) -> set[tuple[int, int]]:
    """Edges inside the final list whose keys this message gives away, whatever it acts on."""
    opening = _decoded(message)
    place, final = book.places[message.author], set(book.final or ())
    if opening is None or place not in final:
        return set()
    keys: list[tuple[int, SecretBytes]] = []
    for each in opening.edges:
        edge = book.matched.find(place, each.neighbour) if each.neighbour in final else None
        if edge is not None:
            keys.append((edge, SecretBytes(each.key)))
    wrong = wrong_keys(book, keys)
    return {book.matched.ends(edge) for number, (edge, _) in enumerate(keys) if number not in wrong}


def _stray_faults(book: Book, message: Message, edges: set[tuple[int, int]]) -> Iterator[Fault]:
    """Of a party in the final list that acts on a close of this log, not of a forked one."""
    author, index = message.author, message.index
    if book.final is None or book.places[author] not in book.final:
        return
    if message.kind != Kind.OPENING or message.body[:LEAF_SIZE] not in book.publish_leaves:
        return
    if edges:
        yield book.fault(author, "04-O5", "it opened an edge inside the final list", index)
    confirmed = book.confirmed_at.get(book.places[author], index)
    # What it opened before it confirmed says nothing about what it does from then on.
    if confirmed < index:
        what = "it confirmed the final close and opens edges"
        yield book.fault(author, "04-F3", what, confirmed, index)


def _decoded(message: Message) -> Opening | None:
    if message.kind != Kind.OPENING or message.phase != Phase.ROLLBACK:
        return None
    try:
        return OPENING.decode(message.body)
    except MalformedMessage:
        return None
