"""What each party sees tells nothing but the result, and what one that cheats sees besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from commitments import ristretto255
from commitments.gates import Labels
from gopa.twoparty import Builder, Circuit, Garbler, comparison
from gopa.twoparty import parties as parties_module
from gopa.twoparty.conversation import HEADER, MessageChain, MessageKind
from gopa.twoparty.labels import BLOCK, GarbledRun, fresh_offset
from gopa.twoparty.transfer import COLUMNS, BaseSender, extend_as_receiver
from tests.randomness import seeded
from tests.twoparty.runs import CONTEXT, pair
from wire.randomness import Rng

RUNS = 100
SMALL = comparison(2)


def bits_seen(kind: MessageKind, mine: Sequence[int], yours: Sequence[int]) -> Any:
    """The bits of the body of one message, a row for each run."""
    rows, rng = [], seeded(f"views {kind} {mine} {yours}")
    for _ in range(RUNS):
        frames = [frame for _, frame in pair(SMALL, mine, yours, rng=rng).messages()]
        body = next(frame[HEADER:] for frame in frames if frame[0] == kind)
        rows.append(np.unpackbits(np.frombuffer(body, np.uint8), bitorder="little"))
    return np.array(rows, np.float64)


def difference(left: Any, right: Any) -> float:
    """The largest difference of two frequencies of a bit, in standard deviations."""
    spread = np.sqrt(0.5 / RUNS)  # of the difference of two means of fair bits
    return float(np.abs(left.mean(axis=0) - right.mean(axis=0)).max() / spread)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (MessageKind.CHOICES, ([0], [1]), ([0], [2])),
        (MessageKind.GARBLED, ([0], [3]), ([2], [3])),
        (MessageKind.RESULT, ([0], [3]), ([2], [1])),
    ],
)
def test_no_bit_of_a_message_leans_towards_a_secret(
    kind: MessageKind, one: tuple[list[int], list[int]], other: tuple[list[int], list[int]]
) -> None:
    first, second = bits_seen(kind, *one), bits_seen(kind, *other)
    assert difference(first, second) < 5.5
    second[:, 9] = 1
    assert difference(first, second) > 5.5


def simulated(
    circuit: Circuit, run: GarbledRun, active: Labels, rng: Rng, result: int
) -> tuple[bytes, bytes]:
    """Tables and tags that an evaluator with these labels sees, made from the result alone."""
    tables = rng(2 * BLOCK * circuit.ands)
    outputs = run.evaluate(tables, active)
    tags = np.frombuffer(rng(2 * BLOCK * len(outputs)), np.uint8).reshape(-1, 2, BLOCK).copy()
    hashed = run.kernels.hash_blocks(run.key, 2 * circuit.ands, outputs)
    own = np.frombuffer(hashed, np.uint8).reshape(-1, BLOCK).copy()
    values = (result - circuit.low) >> np.arange(len(outputs)) & 1
    own[:, 0] = own[:, 0] & 254 | values
    select = outputs[:, 0] & 1
    tags[:, :, 0] = tags[:, :, 0] & 254 | (1 - values)[:, None]
    tags[np.arange(len(outputs)), select] = own
    return tables, tags.tobytes()


def test_the_evaluator_s_view_can_be_made_from_the_result() -> None:
    """The simulator of the proof: what it makes decodes to any result, and no bit leans."""
    real = bits_seen(MessageKind.GARBLED, [0], [3])
    made, rng = [], seeded("views of a simulator")
    for index in range(RUNS):
        run = GarbledRun.derive(ristretto255(), SMALL, bytes(32), rng(BLOCK))
        active = np.frombuffer(rng(2 * BLOCK), np.uint8).reshape(-1, BLOCK)
        tables, tags = simulated(SMALL, run, active, rng, index % 2)
        assert run.decode(run.evaluate(tables, active), tags) == index % 2
        made.append(np.unpackbits(np.frombuffer(tables + tags, np.uint8), bitorder="little"))
    assert difference(real[:, -len(made[0]) :], np.array(made, np.float64)) < 5.5


def test_an_evaluator_that_cheats_in_columns_learns_the_offset_and_the_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the specification says of extended runs: they are for parties that follow it."""
    offsets: list[bytes] = []

    def remembered(rng: Rng) -> Labels:
        offsets.append((made := fresh_offset(rng)).tobytes())
        return made

    monkeypatch.setattr(parties_module, "fresh_offset", remembered)
    group, rng, build = ristretto255(), seeded("cheats"), Builder()
    x = build.word("garbler", BLOCK)
    y = [wire for width in (62, 62, 4) for wire in build.word("evaluator", width)]
    circuit = build.build([build.and_(a, b) for a, b in zip(x, y, strict=False)])
    garbler = Garbler(circuit, [0xBEEF], context=CONTEXT, rng=rng)
    frame = garbler.start()
    sizes = dict.fromkeys(MessageKind, len(frame) - HEADER)
    chain = MessageChain(circuit, CONTEXT, sizes)
    asked = chain.read(frame, MessageKind.CHOICES)
    sender, said = BaseSender(group, rng), chain.digest
    labels, sent = extend_as_receiver(said, sender.keys(said, asked), np.zeros(128, np.bool_))
    columns = np.frombuffer(sent, np.uint8).reshape(COLUMNS, -1).copy()
    for j in range(COLUMNS):  # row j // 8 has another choice in eight of its columns
        columns[j, j // 8 >> 3] ^= 1 << (j // 8 & 7)
    point = sender.point.to_bytes()
    frame = garbler.step(chain.write(MessageKind.COLUMNS, point + columns.tobytes()))
    run_of = chain.digest
    sizes[MessageKind.GARBLED] = len(frame) - HEADER
    body = chain.read(frame, MessageKind.GARBLED)
    run = GarbledRun.derive(group, circuit, run_of, body[:BLOCK])
    tables, tags = body[BLOCK : -2 * BLOCK * BLOCK], body[-2 * BLOCK * BLOCK :]
    listed = np.frombuffer(tags, np.uint8).reshape(-1, 2, BLOCK)
    places, found = np.arange(BLOCK), np.zeros(BLOCK, np.uint8)
    for guess in range(256):  # of a byte of the offset in each row
        tried = labels.copy()
        tried[places, places] ^= guess
        outputs = run.evaluate(tables, tried)
        hashed = run.kernels.hash_blocks(run.key, 2 * circuit.ands, outputs)
        chosen = listed[places, outputs[:, 0] & 1]
        right = np.frombuffer(hashed, np.uint8).reshape(-1, BLOCK) == chosen
        found[right[:, 1:].all(axis=1)] = guess
    assert [found.tobytes()] == offsets
    inputs = labels[:BLOCK].copy()
    inputs[places, places] ^= found
    # The second half of table k is W of the garbler's wire behind two hashes, both known now.
    learnt = 0
    for k in range(BLOCK):
        half = np.frombuffer(tables, np.uint8).reshape(-1, 2, BLOCK)[k, 1]
        pair_of = [inputs[k], inputs[k] ^ found]
        hashes = [run.kernels.hash_blocks(run.key, 2 * k + 1, each) for each in pair_of]
        zero = half ^ np.frombuffer(hashes[0], np.uint8) ^ np.frombuffer(hashes[1], np.uint8)
        learnt |= (zero.tobytes() != run.labels[BLOCK * (k + 1) : BLOCK * (k + 2)]) << k
    assert learnt == 0xBEEF
