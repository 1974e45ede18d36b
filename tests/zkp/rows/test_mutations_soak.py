"""Twenty thousand changes of proofs about long vectors, each by somebody who knows the format."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from tests.zkp.rows.test_proofs import GROUP, KINDS, vectors_of
from tests.zkp.rows.worlds import Proved, Vectors, decoded_tests
from wire.errors import MalformedMessage, ProtocolError
from zkp.rows.product_tests import encode_tests

WORD = 32
CHANGES = 20_000
PARTS = 20
DIMENSION = 40
Words = list[bytes]
Change = Callable[[random.Random, Words, Words], None]


@lru_cache
def proofs_of(kind: str) -> tuple[Proved, Words]:
    """A statement with its proof, and the proof of another statement of the same kind."""
    other = Vectors.weighted(DIMENSION, 71) if kind == "weighted" else Vectors.random(DIMENSION, 9)
    proved, second = KINDS[kind](GROUP, vectors_of(kind, DIMENSION)), KINDS[kind](GROUP, other)
    return proved, words_of(second.proof)


def words_of(proof: bytes) -> Words:
    return [proof[at : at + WORD] for at in range(0, len(proof), WORD)]


def moved(chance: random.Random, word: bytes) -> bytes:
    """Another point, if this is one, else another scalar; both are well-formed."""
    try:
        point = GROUP.decode_point(word)
    except MalformedMessage:
        value = int.from_bytes(word, "little") + chance.choice((1, -1, chance.getrandbits(250)))
        return (value % GROUP.order).to_bytes(WORD, "little")
    return bytes((point + point).to_bytes())


def flip(chance: random.Random, words: Words, _: Words) -> None:
    at, bit = chance.randrange(len(words)), chance.randrange(8 * WORD)
    changed = bytearray(words[at])
    changed[bit // 8] ^= 1 << bit % 8
    words[at] = bytes(changed)


def copy(chance: random.Random, words: Words, _: Words) -> None:
    words[chance.randrange(len(words))] = chance.choice(words)


def swap(chance: random.Random, words: Words, _: Words) -> None:
    i, j = chance.sample(range(len(words)), 2)
    words[i], words[j] = words[j], words[i]


def take_over(chance: random.Random, words: Words, other: Words) -> None:
    """A run of words of a proof that holds for something else."""
    start = chance.randrange(len(words))
    end = min(len(words), start + chance.choice((1, 2, 7, 40)))
    words[start:end] = other[start:end]


def move(chance: random.Random, words: Words, _: Words) -> None:
    at = chance.randrange(len(words))
    words[at] = moved(chance, words[at])


def compensate(chance: random.Random, words: Words, _: Words) -> None:
    """What one point has more, a point near it has less."""
    at = chance.randrange(len(words) - 8)
    try:
        first = GROUP.decode_point(words[at])
        other = GROUP.decode_point(words[at + chance.randrange(1, 8)])
    except MalformedMessage:
        move(chance, words, [])
        return
    near = words.index(bytes(other.to_bytes()))
    words[at] = bytes((first + first).to_bytes())
    words[near] = bytes((other - first).to_bytes())


CHOICES: tuple[Change, ...] = (flip, copy, swap, take_over, move, compensate)


def changed_statement(chance: random.Random, proved: Proved) -> dict[str, Any]:
    """Other tests, or rows that were moved; one change or two that cancel in a sum."""
    statement = proved.statement
    if chance.random() < 0.5:
        answers = decoded_tests(statement.answers)
        i, j = chance.sample(range(len(answers)), 2)
        by = chance.choice((1, -1, chance.getrandbits(112)))
        answers[i] += by
        answers[j] -= by if chance.random() < 0.5 else 0
        return {"answers": encode_tests(answers)}
    names = ["inputs", "noise", "pads"] + ["carries"] * hasattr(statement, "carries")
    name = chance.choice(names)
    points = list(getattr(statement, name))
    at = chance.randrange(len(points))
    by = points[chance.randrange(len(points))]
    points[at] = points[at] + by
    if len(points) > 1 and chance.random() < 0.5:
        points[at - 1] = points[at - 1] - by
    return {name: GROUP.points(points)}


def require_refused(proved: Proved, other: Words, chance: random.Random) -> None:
    """One change, of the proof or of what it is about, and the verifier says no."""
    if chance.random() < 0.2:
        with pytest.raises(ProtocolError):
            proved.verify(**changed_statement(chance, proved))
        return
    words = words_of(proved.proof)
    while b"".join(words) == proved.proof:
        for _ in range(chance.choice((1, 1, 2))):
            chance.choice(CHOICES)(chance, words, other)
    with pytest.raises(ProtocolError):
        proved.verify(b"".join(words))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_some_changes_are_refused(kind: str) -> None:
    proved, other = proofs_of(kind)
    proved.verify()
    chance = random.Random(f"some {kind}")
    for _ in range(10):
        require_refused(proved, other, chance)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_no_change_is_accepted(part: int) -> None:
    chance = random.Random(part)
    kinds = sorted(KINDS)
    for number in range(CHANGES // PARTS):
        require_refused(*proofs_of(kinds[number % len(kinds)]), chance)
