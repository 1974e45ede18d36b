"""Changes of sessions of rows: every field of every message, and every piece of its proofs."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from enum import IntEnum
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Any, Final

import pytest

from bulletin_board import Submission, sign_entry
from bulletin_board.tree import leaf_hash
from commitments import ristretto255
from gopa.adversary.deeds import accuse, wrong_edge
from gopa.contract.bodies import BODIES_OF_ROWS
from gopa.contract.cutting import pieces_of
from gopa.contract.organiser import Close
from gopa.contract.phases import Kind
from gopa.protocol.rules.rounds import RoundSequence
from gopa.protocol.simulation import Script
from tests.lies import lying
from tests.protocol.simulation.row_worlds import MANY_ROWS, ROWS, simulate_rows, vectors_for
from tests.verifier.answers import any_roots
from tests.verifier.mutations import Material, flipped, made_of, material
from wire.errors import GopaError

ORDER: Final = ristretto255().order
PUBLISHED: Final = (
    "clean_rows",
    "clean_rows_recovery",
    "rows_dropout_before_prove",
    "rows_false_edge",
    "rows_false_self_mask_recovered",
    "rows_two_proofs",
)
PLAYED: Final = {
    "accused": (
        replace(ROWS, rounds=1),
        Script()
        .misbehave(2, lying("commit", wrong_edge()))
        .misbehave(0, lying("accuse", accuse())),
    ),
    "sparse": (replace(MANY_ROWS, rounds=1, k=3, loss=1, late=1, survivors=7), Script()),
}
NAMES: Final = (*PUBLISHED, *PLAYED)


@cache
def session_of_rows(name: str) -> Material:
    """A published session, or one that is played here."""
    if name in PUBLISHED:
        return material(name)
    terms, script = PLAYED[name]
    simulation = simulate_rows(terms, script)
    simulation.run_round(vectors_for(terms))
    return made_of(name, simulation)


@contextmanager
def any_closes() -> Iterator[None]:
    """Both believe roots, and go on with their own list where a close has another one.

    So they say of a message by which rule it is out, and what follows from that.
    """
    session = importlib.import_module("session").Session
    proceed, tried, required = RoundSequence._proceed, RoundSequence._try, session._require_due

    def takes(own: RoundSequence, message: Any, said: Any) -> None:
        vars(own)["posted"] = said, message.body
        proceed(own, message, said)

    def answers(own: RoundSequence, *given: Any) -> Any:
        found, (said, body) = tried(own, *given), vars(own)["posted"]
        if isinstance(said, Close) and isinstance(found.said.message, Close):
            same = said.phase == found.said.message.phase
            return replace(found, said=replace(found.said, body=body)) if same else found
        return found

    def require(due: Any, said: Any, kind: str) -> None:
        if not due.kind == kind == "close" or due.phase != said.phase:
            required(due, said, kind)

    with any_roots(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(RoundSequence, "_proceed", takes)
        patch.setattr(RoundSequence, "_try", answers)
        patch.setattr(session, "_require_due", staticmethod(require))
        yield


def messages_of(given: Material) -> dict[tuple[int, str], list[int]]:
    """Where the messages stand that have a field of this kind and name."""
    return _messages_of(given.entries)


@lru_cache(maxsize=2)
def _messages_of(entries: tuple[bytes, ...]) -> dict[tuple[int, str], list[int]]:
    found: dict[tuple[int, str], list[int]] = {}
    for at, raw in enumerate(entries):
        entry = Submission.decode(raw).entry
        if entry.chunk == 0 and at:
            content = BODIES_OF_ROWS[entry.kind].decode(_body(entries, at))
            for field in fields(content):
                found.setdefault((entry.kind, field.name), []).append(at)
    return found


@lru_cache(maxsize=256)
def _entries_of(entries: tuple[bytes, ...], at: int) -> tuple[int, ...]:
    """Where the entries of the message stand that begins here."""
    begun = Submission.decode(entries[at]).entry
    places = {begun.slot._replace(seq=begun.seq + chunk): chunk for chunk in range(begun.chunks)}
    found = [
        number
        for number, raw in enumerate(entries[at:], at)
        if Submission.decode(raw).entry.slot in places
    ]
    return tuple(found)


def _body(entries: tuple[bytes, ...], at: int) -> bytes:
    """The body of the message that begins here."""
    return b"".join(Submission.decode(entries[n]).entry.body for n in _entries_of(entries, at))


def changed(given: Material, place: tuple[int, str], source: random.Random) -> tuple[bytes, str]:
    """Somebody says something else in one field; and what was done to it."""
    kind, name = place
    at = source.choice(messages_of(given)[place])
    codec, own = BODIES_OF_ROWS[kind], _body(given.entries, at)
    others = [
        getattr(codec.decode(_body(given.entries, other)), name)
        for other in messages_of(given)[place]
    ]
    content = codec.decode(own)
    for _ in range(30):
        value, deed = other_value(getattr(content, name), others, source)
        try:
            body = codec.encode(replace(content, **{name: value}))
        except (GopaError, OverflowError):
            continue
        if body != own:
            break
    else:
        body, deed = flipped(own, source), "a bit of the body"
    return given.packed(_said(given, at, body)), f"{Kind(kind).name} {at} {name}: {deed}"


def _said(given: Material, at: int, body: bytes) -> list[bytes]:
    """The log in which this is the message that begins here, in as many entries.

    Where it would be cut into fewer or more, it is cut where it was.
    """
    entries, places = list(given.entries), _entries_of(given.entries, at)
    made = [Submission.decode(entries[number]).entry for number in places]
    before, pieces = made[0].prev_own_leaf, pieces_of(made[0].kind, body)
    if len(pieces) != len(places):
        ends = [0, *accumulate(len(entry.body) for entry in made[:-1]), len(body)]
        pieces = [body[begin:end] for begin, end in pairwise(ends)]
    for number, entry, piece in zip(places, made, pieces, strict=True):
        said = replace(entry, body=piece, prev_own_leaf=before)
        entries[number] = sign_entry(said, given.keys[entry.author.data])
        before = leaf_hash(entries[number])
    return entries


def other_value(value: Any, others: list[Any], source: random.Random) -> tuple[Any, str]:
    """Another value of the kind, and how it was made."""
    if others and source.randrange(6) == 0:
        return source.choice(others), "that of another message"
    if isinstance(value, bytes):
        deed = source.choice(DEEDS)
        return deed(value, source), deed.__name__
    if isinstance(value, tuple):
        return _other_items(value, source)
    if is_dataclass(value):
        name = source.choice([field.name for field in fields(value)] or [""])
        part, how = other_value(getattr(value, name), [], source) if name else (None, "nothing")
        changes = {name: part} if name else {}
        return replace(value, **changes), f"{name}, {how}"  # type: ignore[type-var]
    return _other_number(value, source), "another number"


def _other_number(value: int, source: random.Random) -> int:
    if isinstance(value, bool):
        return not value
    if isinstance(value, IntEnum):
        return source.choice(list(type(value)))
    return source.choice([value - 1, value + 1, 0, 2 * value + 1])


def _other_items(value: tuple[Any, ...], source: random.Random) -> tuple[tuple[Any, ...], str]:
    items = list(value)
    if not items:
        return ((bytes(32),), "one of zeros")
    at, to = source.randrange(len(items)), source.randrange(len(items))
    deed = source.randrange(7)
    if deed == 0:
        del items[at]
        return tuple(items), "one less"
    if deed == 1:
        items.insert(to, items[at])
        return tuple(items), "one twice"
    if deed == 2:
        items[at], items[to] = items[to], items[at]
        return tuple(items), "two exchanged"
    items[at], how = other_value(items[at], [], source)
    return tuple(items), f"item {at}, {how}"


def a_bit(value: bytes, source: random.Random) -> bytes:
    return flipped(value, source) if value else b"\0" * 32


def zeros(value: bytes, source: random.Random) -> bytes:
    del source
    return bytes(len(value))


def noise(value: bytes, source: random.Random) -> bytes:
    return source.randbytes(len(value))


def a_byte_less(value: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(value) + 1)
    return value[:at] + value[at + 1 :]


def a_byte_more(value: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(value) + 1)
    return value[:at] + source.randbytes(1) + value[at:]


def a_piece(value: bytes, source: random.Random) -> bytes:
    """One point or scalar of many: the identity, none, the same mod q, or that of another place."""
    count = len(value) // 32
    if not count:
        return flipped(value, source) if value else bytes(32)
    at, to = source.randrange(count), source.randrange(count)
    own, other = value[32 * at :][:32], value[32 * to :][:32]
    more = (int.from_bytes(own, "little") + ORDER) % 2**256
    minus = -int.from_bytes(own, "little") % ORDER
    pieces = [bytes(32), b"\xff" * 32, more.to_bytes(32, "little"), minus.to_bytes(32, "little")]
    piece = source.choice([*pieces, other])
    return value[: 32 * at] + piece + value[32 * at + 32 :]


def a_test(value: bytes, source: random.Random) -> bytes:
    """One of many integers of 15 bytes: at its bound, beyond it, moved by one."""
    if len(value) < 15:
        return a_bit(value, source)
    at = 15 * source.randrange(len(value) // 15)
    own = int.from_bytes(value[at : at + 15], signed=True)
    edges = [2**113, 2**113 - 1, -(2**113), 1 - 2**113, own + 1, own - 1, 0, -own]
    piece = source.choice(edges) % 2**120
    return value[:at] + piece.to_bytes(15) + value[at + 15 :]


Deed = Callable[[bytes, random.Random], bytes]
DEEDS: Final[tuple[Deed, ...]] = (
    *(a_bit, a_bit, zeros, noise, a_byte_less, a_byte_more),
    *(a_piece, a_piece, a_piece, a_test, a_test),
)
