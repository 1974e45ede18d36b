"""A generator that repeats shows no input: two logs of equal entropy have no pad in common.

The attack reads two public logs. Their answers to the tests of the coins differ by sums of one
vector and its noise if both have one pad, and 360 such sums are more than there are entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from bulletin_board import Submission
from commitments import ristretto255
from gopa.contract.party import JOIN, REVEAL, UNMASK
from gopa.contract.phases import Phase
from gopa.contract.row_terms import origin
from gopa.contract.rows import ROW_COMMIT, ROW_JOIN
from gopa.contract.terms import Terms
from gopa.protocol.party.context import PartyContext
from gopa.protocol.simulation import Simulation
from gopa.rounds.context import RoundContext
from gopa.rounds.rows import statements
from gopa.rounds.rows.challenges import input_tests
from tests.protocol.simulation.row_worlds import IN_ROWS, ROWS, vectors_for
from tests.protocol.simulation.worlds import SCALAR, VECTOR
from tests.randomness import seeded
from wire.domains import STEP_CHANCE
from wire.randomness import Rng
from zkp.rows.product_tests import TEST_SIZE, ProductTests
from zkp.rows.shape import TESTS
from zkp.transcript import Transcript

VICTIM = 0
OTHER = replace(ROWS, attempts=ROWS.attempts + 1)
"""Another session of the same parties."""
TWICE = replace(ROWS, rounds=2, charged=2)
Bodies = dict[tuple[int, Phase], bytes]


@dataclass(frozen=True)
class PublicLog:
    """What everybody can read of one session: messages of one party, and what coins decide."""

    messages: Bodies
    tests: dict[int, ProductTests]

    def pads(self, number: int = 1) -> tuple[bytes, ...]:
        return ROW_JOIN.decode(self.messages[number, Phase.JOIN]).pads

    def answers(self, number: int) -> list[int]:
        data = ROW_COMMIT.decode(self.messages[number, Phase.COMMIT]).tests
        steps = range(0, TESTS * TEST_SIZE, TEST_SIZE)
        return [int.from_bytes(data[at : at + TEST_SIZE], "big", signed=True) for at in steps]


def unhedged(
    party: PartyContext, step: bytes, context: RoundContext, leaf: bytes, witness: object
) -> PartyContext:
    """The party as it would be with what its generator gives."""
    del step, context, leaf, witness
    return party


@contextmanager
def hedging(*, on: bool) -> Iterator[None]:
    if on:
        yield
    else:
        with patch.object(PartyContext, "hedged", unhedged):
            yield


def stuck(name: str) -> Rng:
    """A generator that gives the same bytes whenever it is asked for as many."""
    return lambda count: hashlib.shake_128(name.encode()).digest(count)


def played(
    terms: Terms, inputs: Sequence[Sequence[int]], *, generators: Callable[[str], Rng] | None = None
) -> PublicLog:
    """A session whose entropy is the same each time."""
    asked: dict[int, ProductTests] = {}

    def noted(context: RoundContext, joint: bytes) -> ProductTests:
        return asked.setdefault(context.round, input_tests(context, joint))

    simulation = Simulation(terms, rng=seeded("frozen"), setting=IN_ROWS)
    if generators is not None:
        for i, each in enumerate(simulation.parties):
            context = each.party._context
            each.party._context = replace(context, rng=generators(f"party {i}"))
    with patch.object(statements, "input_tests", noted):
        for _ in range(terms.rounds):
            assert simulation.run_round(inputs).sums is not None
        assert simulation.findings().faults == ()
    messages: Bodies = {}
    for raw in simulation.log().entries():
        entry = Submission.decode(raw).entry
        if entry.author.data == simulation.parties[VICTIM].author:
            place = entry.round, Phase(entry.phase)
            messages[place] = messages.get(place, b"") + entry.body
    return PublicLog(messages, asked)


def choices(tests: ProductTests) -> list[np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """For the vector and for its noise: which entries each test adds up."""
    shape = tests.shape

    def bits(data: bytes, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        held = np.frombuffer(data, np.uint8).reshape(TESTS, -1)
        return np.unpackbits(held, axis=1, count=count, bitorder="little")

    columns = bits(tests.columns, shape.width)
    return [
        (bits(rows, shape.rows)[:, :, None] * columns[:, None, :]).reshape(TESTS, -1).astype(float)
        for rows in tests.rows
    ]


def guesses(
    one: PublicLog, other: PublicLog, rounds: tuple[int, int], kinds: int
) -> list[list[int]]:
    """What two answers say of the vectors, if one pad hides both; empty if nothing fits.

    With `kinds` 2 vector and noise are the same in both, with 4 each log has its own.
    """
    (first, second), (left, right) = (
        rounds,
        (choices(one.tests[rounds[0]]), choices(other.tests[rounds[1]])),
    )
    found = np.array(one.answers(first), object) - np.array(other.answers(second), object)
    blocks = (
        [a - b for a, b in zip(left, right, strict=True)]
        if kinds == 2
        else [*left, *(-b for b in right)]
    )
    matrix = np.hstack(blocks)
    if max(map(abs, found)) > 1 << 40:
        return []
    solved = np.linalg.lstsq(matrix, found.astype(float), rcond=None)[0]
    whole = np.rint(solved).astype(np.int64)
    if (matrix.astype(np.int64) @ whole != found.astype(np.int64)).any():
        return []
    width = matrix.shape[1] // kinds
    return [whole[at : at + ROWS.dimension].tolist() for at in range(0, matrix.shape[1], width)]


def lengths(values: Sequence[int]) -> list[int]:
    return [value - origin(ROWS) for value in values]


@pytest.mark.slow
@pytest.mark.parametrize("on", [False, True], ids=["taken as drawn", "hedged"])
def test_two_sessions_of_equal_entropy(*, on: bool) -> None:
    inputs = vectors_for(ROWS)
    with hedging(on=on):
        one, other = played(ROWS, inputs), played(OTHER, inputs)
    assert (one.pads() == other.pads()) is not on
    found = guesses(one, other, (1, 1), 2)
    assert (lengths(inputs[VICTIM]) in found) is not on


@pytest.mark.slow
@pytest.mark.parametrize("on", [False, True], ids=["taken as drawn", "hedged"])
def test_another_value_in_the_other_session(*, on: bool) -> None:
    """Vectors and noise of both logs are unknown, and still fewer than what is shown."""
    inputs = vectors_for(ROWS)
    others = [vectors_for(ROWS, seed=2)[VICTIM], *inputs[1:]]
    with hedging(on=on):
        one, other = played(ROWS, inputs), played(OTHER, others)
    assert (one.pads() == other.pads()) is not on
    found = guesses(one, other, (1, 1), 4)
    for values in (inputs[VICTIM], others[VICTIM]):
        assert (lengths(values) in found) is not on


@pytest.mark.slow
@pytest.mark.parametrize("on", [False, True], ids=["taken as drawn", "hedged"])
def test_a_generator_that_is_stuck_for_a_session(*, on: bool) -> None:
    """One session, one value, two rounds: each of them draws the same."""
    inputs = vectors_for(ROWS)
    with hedging(on=on):
        log = played(TWICE, inputs, generators=stuck)
    assert (log.pads(1) == log.pads(2)) is not on
    found = guesses(log, log, (1, 2), 2)
    assert (lengths(inputs[VICTIM]) in found) is not on


@pytest.mark.parametrize("terms", [SCALAR, VECTOR], ids=["number", "vector"])
@pytest.mark.parametrize("on", [False, True], ids=["taken as drawn", "hedged"])
def test_what_two_sessions_of_equal_entropy_say(terms: Terms, *, on: bool) -> None:
    """Not one commitment, seed, key or nonce of a message stands in a message of the other."""
    values = [[i % 2] * terms.dimension for i in range(terms.parties)]
    with hedging(on=on):
        logs = [played(each, values) for each in (terms, replace(terms, attempts=9))]
    joins = [JOIN.decode(each.messages[1, Phase.JOIN]) for each in logs]
    reveals = [REVEAL.decode(each.messages[1, Phase.COINS]) for each in logs]
    # Weighted bits are committed to with what their transcript hedges.
    for name in ("key", "input", "seed") if terms is SCALAR else ("key", "input"):
        assert getattr(joins[0], name) != b""
        assert (getattr(joins[0], name) == getattr(joins[1], name)) is not on
    assert (reveals[0].nonce == reveals[1].nonce) is not on
    seeds = [UNMASK.decode(each.messages[1, Phase.UNMASK]) for each in logs]
    assert (seeds[0].seed == seeds[1].seed) is not on


def test_the_randomness_of_a_step_depends_on_all_that_it_acts_on() -> None:
    """Equal generators give the same bytes for the same step alone."""

    group = ristretto255()

    def first(**other: Any) -> bytes:
        given: dict[str, Any] = {
            "step": b"join",
            "session": bytes(32),
            "round": 1,
            "leaf": bytes(32),
            "party": bytes(32),
            "hidden": [1, 2],
            "rng": seeded("one"),
        } | other
        transcript = Transcript(STEP_CHANCE)
        transcript.absorb(b"session", given["session"])
        transcript.absorb_int(b"round", given["round"])
        transcript.absorb(b"acts-on", given["leaf"])
        transcript.absorb(b"party", given["party"])
        witness = group.secret_scalars(given["hidden"])
        source = transcript.hedged(given["step"], group, witness, given["rng"])
        return source(7) + source(40)

    assert first() == first()
    different = [
        first(step=b"commit"),
        first(session=b"s" * 32),
        first(round=2),
        first(leaf=b"l" * 32),
        first(party=b"p" * 32),
        first(hidden=[1, 3]),
        first(rng=seeded("other")),
    ]
    assert len({first(), *different}) == 8
