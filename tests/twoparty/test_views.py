"""What each party sees tells nothing but the result, and what one that cheats sees besides."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commitments import derive_generators, ristretto255
from commitments.gates import GateKernels, Gates, Labels, gate_kernels
from commitments.group import Group
from gopa import MalformedMessage
from gopa.twoparty import Builder, Circuit, Evaluator, Garbler, comparison, converse, laplace_noise
from gopa.twoparty import labels as labels_module
from gopa.twoparty import parties as parties_module
from gopa.twoparty.conversation import HEADER, MessageChain, MessageKind
from gopa.twoparty.labels import BLOCK, GarbledRun, fresh_offset
from gopa.twoparty.transfer import (
    COLUMNS,
    FAMILY,
    BaseReceiver,
    BaseSender,
    extend_as_receiver,
    extend_as_sender,
)
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.twoparty.runs import CONTEXT, pair
from tests.twoparty.test_runs import connected
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


CIRCUITS = {"by points": comparison(16), "extended": comparison(16, laplace_noise(1))}


RUNS_CORE, BLOCK_CORE, PAD = 5, 16, 0x5A


def hidden(data: bytes) -> bytes:
    """Bytes that a search does not find: so the parent knows what the child drew."""
    return bytes(byte ^ PAD for byte in data)


def offset_of(drawn: bytes) -> int:
    """An integer, not in the order of bytes that a label has in memory."""
    folded = int.from_bytes(drawn[:BLOCK_CORE]) ^ int.from_bytes(drawn[BLOCK_CORE:])
    return folded | 1 << 120


def garble_in_child(connection: Any, parent: Any, circuit: Circuit, plant: str) -> None:
    """Garbles with chance of the system, then waits until it has been looked at."""

    def rng(count: int) -> bytes:
        drawn = os.urandom(count)
        if count == 2 * BLOCK_CORE:  # what an offset is made of
            parent.send_bytes(hidden(drawn))
            offsets.append(offset_of(drawn))
        return drawn

    offsets: list[int] = []
    for run in range(RUNS_CORE):
        party = Garbler(circuit, [run], context=b"%d" % run, rng=rng)
        converse(party, connection, seconds=60)
    planted = offsets[0].to_bytes(BLOCK_CORE) if plant else b""
    planted = bit_by_bit(planted) if plant == "bits" else planted
    parent.send_bytes(b"done")
    parent.recv()
    assert len(planted) in {0, BLOCK_CORE, 8 * BLOCK_CORE}


class Spy:
    """Keeps all labels that evaluators have."""

    def __init__(self) -> None:
        self.labels: list[Labels] = []

    def __call__(self, evaluate: Callable[..., None], *arguments: Any) -> None:
        evaluate(*arguments)
        self.labels.append(arguments[-1].copy())


def core_of(process: int, folder: Path) -> bytes:
    gcore = shutil.which("gcore") or "gcore"
    command = [gcore, "-o", str(folder / "core"), str(process)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return (folder / f"core.{process}").read_bytes()


def found_in(core: bytes, blocks: Iterable[bytes]) -> int:
    """How many of these blocks of 16 bytes stand anywhere in it."""
    wanted = {int.from_bytes(block[:8], "little"): block for block in blocks}
    hint = np.zeros(1 << 16, np.bool_)
    hint[[start & 0xFFFF for start in wanted]] = True
    found = set()
    for shift in range(8):
        words = np.frombuffer(core, "<u8", (len(core) - shift) // 8, shift)
        for at in np.flatnonzero(hint[words & np.uint64(0xFFFF)]).tolist():
            block = wanted.get(int(words[at]))
            if block is not None and core[shift + 8 * at : shift + 8 * at + BLOCK_CORE] == block:
                found.add(block)
    return len(found)


def bit_by_bit(block: bytes) -> bytes:
    """As numpy unpacks it: a byte for each bit."""
    return np.unpackbits(np.frombuffer(block, np.uint8), bitorder="little").tobytes()


def found_after(
    circuit: Circuit, folder: Path, monkeypatch: pytest.MonkeyPatch, plant: str = ""
) -> tuple[int, int, int]:
    """How many offsets and labels of the other value stand in a core, and how many bit by bit."""
    native, spy = gate_kernels(ristretto255()), Spy()

    def evaluate(key: bytes, tweak: int, gates: Gates, tables: bytes, labels: Labels) -> None:
        spy(native.evaluate_gates, key, tweak, gates, tables, labels)

    kernels = GateKernels(native.hash_blocks, native.garble_gates, evaluate)
    monkeypatch.setattr(labels_module, "gate_kernels", lambda _: kernels)
    context: Any = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with connected() as (left, right):
        process = context.Process(target=garble_in_child, args=(left, theirs, circuit, plant))
        process.start()
        for run in range(RUNS_CORE):
            party = Evaluator(circuit, [7], context=b"%d" % run, rng=os.urandom)
            converse(party, right, seconds=60)
        drawn = []
        while (data := ours.recv_bytes()) != b"done":
            drawn.append(hidden(data))
        core = core_of(process.pid, folder)
        ours.send(None)
        process.join()
    offsets = [offset_of(data).to_bytes(BLOCK_CORE) for data in drawn]
    assert len(offsets) == len(spy.labels) == RUNS_CORE
    other = {
        (row ^ np.frombuffer(offset, np.uint8)).tobytes()
        for offset, labels in zip(offsets, spy.labels, strict=True)
        for row in labels
    }
    other -= set(offsets)
    assert len(other) > 10 * RUNS_CORE
    unpacked = sum(bit_by_bit(block) in core for block in [*offsets, *sorted(other)[:50]])
    return found_in(core, offsets), found_in(core, other), unpacked


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("gcore") is None, reason="needs gcore, of the package gdb")
@pytest.mark.parametrize("circuit", CIRCUITS.values(), ids=CIRCUITS)
def test_no_offset_and_no_label_of_the_other_value_is_left(
    circuit: Circuit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_after(circuit, tmp_path, monkeypatch) == (0, 0, 0)


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("gcore") is None, reason="needs gcore, of the package gdb")
@pytest.mark.parametrize(("plant", "column"), [("bytes", 0), ("bits", 2)])
def test_an_offset_that_was_kept_is_found(
    plant: str, column: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_after(CIRCUITS["by points"], tmp_path, monkeypatch, plant)[column] == 1


GROUPS = pytest.mark.parametrize("group", installed_groups(), ids=lambda group: group.backend)


SAID = bytes(range(32))


def choices_of(count: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 2, count).astype(np.bool_)


@GROUPS
def test_the_receiver_has_the_key_of_its_choice(group: Group) -> None:
    choices, rng = choices_of(12), seeded("transfer")
    receiver, sender = BaseReceiver(group, choices, rng), BaseSender(group, rng)
    zero, one = sender.keys(SAID, receiver.message)
    received = receiver.keys(SAID, sender.point)
    assert (received == np.where(choices[:, None], one, zero)).all()
    assert (received != np.where(choices[:, None], zero, one)).any(axis=1).all()
    everything = {key.tobytes() for keys in (zero, one) for key in keys}
    assert len(everything) == 24


@GROUPS
def test_keys_belong_to_one_conversation(group: Group) -> None:
    rng = seeded("transfer")
    receiver, sender = BaseReceiver(group, choices_of(3), rng), BaseSender(group, rng)
    keys = receiver.keys(SAID, sender.point)
    assert (receiver.keys(SAID, sender.point) == keys).all()
    assert (receiver.keys(bytes(32), sender.point) != keys).any(axis=1).all()
    assert (receiver.keys(SAID, group.generator) != keys).any(axis=1).all()


@GROUPS
def test_keys_belong_to_one_place_and_one_point(group: Group) -> None:
    """Though the shared point is the same: of a point twice, and of P + C with the other choice."""
    sender, base = BaseSender(group, seeded("transfer")), derive_generators(group, FAMILY, 1)[0]
    received = group.generator + base
    message = b"".join(point.to_bytes() for point in (received, received, received + base))
    zero, one = sender.keys(SAID, message)
    assert len({key.tobytes() for keys in (zero, one) for key in keys}) == 6
    shifted = sender.keys(SAID, (received + base).to_bytes() + message[32:])[1]
    assert (shifted[0] != zero[0]).any()


@GROUPS
def test_points_of_both_choices_are_the_same_but_for_the_offset(group: Group) -> None:
    """So a uniform exponent makes either one a uniform point."""
    base = derive_generators(group, FAMILY, 1)[0]
    received = [
        BaseReceiver(group, np.array([choice]), seeded("same")).message for choice in (False, True)
    ]
    zero, one = (group.decode_point(message) for message in received)
    assert one == zero + base


@GROUPS
def test_points_that_do_not_decode_are_refused(group: Group) -> None:
    sender = BaseSender(group, seeded("transfer"))
    message = BaseReceiver(group, choices_of(3), seeded("points")).message
    sender.keys(SAID, message)
    for wrong in (bytes(32), bytes(31) + b"\xff", b"\x01" + bytes(31)):
        with pytest.raises(MalformedMessage) as caught:
            sender.keys(SAID, message[:32] + wrong + message[64:])
        assert caught.value.offset == 32


@GROUPS
@pytest.mark.parametrize("count", [1, 7, 128, 1001])
def test_extension_gives_labels_that_differ_by_the_offset(group: Group, count: int) -> None:
    rng, choices = seeded("extension"), choices_of(count)
    offset = fresh_offset(rng)
    bits = np.unpackbits(offset, bitorder="little").astype(np.bool_)
    zero, one = (np.frombuffer(rng(16 * COLUMNS), np.uint8).reshape(-1, 16) for _ in range(2))
    labels, columns = extend_as_receiver(SAID, (zero, one), choices)
    assert len(columns) == COLUMNS * -(-count // 8)
    made = extend_as_sender(SAID, np.where(bits[:, None], one, zero), bits, columns, count)
    assert (labels == made ^ choices[:, None] * offset).all()
    assert len({label.tobytes() for label in labels}) == count
    assert group.name


def test_no_label_stays_behind_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def kept(draw: Any) -> Any:
        def remembered(*arguments: Any, **options: Any) -> Any:
            made.append(draw(*arguments, **options))
            return made[-1]

        return remembered

    bits, keys = choices_of(COLUMNS), np.ones((COLUMNS, 16), np.uint8)
    for name in ("unpackbits", "ascontiguousarray", "empty"):
        monkeypatch.setattr(np, name, kept(getattr(np, name)))
    labels = extend_as_sender(SAID, keys, bits, bytes(COLUMNS * 20), 160)
    monkeypatch.undo()
    assert labels.any(axis=1).all()
    assert len(made) == 3
    assert not any(array.any() for array in made)


def test_columns_belong_to_one_place_and_one_conversation() -> None:
    """So what is computed for the keys of one run says nothing of another one."""
    alike = np.zeros((COLUMNS, 16), np.uint8), np.ones((COLUMNS, 16), np.uint8)
    seen = set()
    for conversation in (SAID, bytes(32)):
        _, sent = extend_as_receiver(conversation, alike, choices_of(160))
        seen |= {sent[at : at + 20] for at in range(0, len(sent), 20)}
    assert len(seen) == 2 * COLUMNS


def test_columns_hide_the_choices() -> None:
    """The same keys with other choices give other columns in the same places, and equal labels."""
    rng = seeded("extension")
    zero, one = (np.frombuffer(rng(16 * COLUMNS), np.uint8).reshape(-1, 16) for _ in range(2))
    some, other = choices_of(200, 1), choices_of(200, 2)
    first, second = (extend_as_receiver(SAID, (zero, one), choices) for choices in (some, other))
    assert (first[0] == second[0]).all()
    differ = np.frombuffer(first[1], np.uint8) ^ np.frombuffer(second[1], np.uint8)
    packed = np.packbits(some ^ other, bitorder="little")
    assert (differ.reshape(COLUMNS, -1) == packed).all()


def test_the_offset_has_the_select_bit() -> None:
    rng = seeded("offsets")
    offsets = [fresh_offset(rng) for _ in range(64)]
    assert all(offset[0] & 1 for offset in offsets)
    assert len({offset.tobytes() for offset in offsets}) == 64
