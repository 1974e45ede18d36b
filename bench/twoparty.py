"""Garbled gates a second, and whole runs between two strangers, oblivious transfer included."""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

import numpy as np

from bench.measure import Numbers, Scale, cpu_time, ms, require
from commitments import ristretto255
from commitments.backends import single_thread
from commitments.group import Group
from gopa.twoparty import (
    Circuit,
    Evaluator,
    Garbler,
    comparison,
    concordance,
    converse,
    laplace_noise,
    randomised_answer,
)
from gopa.twoparty.conversation import HEADER
from gopa.twoparty.labels import BLOCK, GarbledRun, add_where, fresh_offset
from gopa.twoparty.transfer import (
    COLUMNS,
    BaseReceiver,
    BaseSender,
    extend_as_receiver,
    extend_as_sender,
)

PAIRS = {
    "comparison": (comparison(16), "16 bits, no noise"),
    "comparison_rr": (comparison(16, randomised_answer(2, 1)), "16 bits, randomised response"),
    "kendall_rr": (concordance(8, randomised_answer(3, 1)), "8 bits each, randomised response"),
    "comparison_laplace": (comparison(16, laplace_noise(1)), "16 bits, Laplace noise of scale 1"),
    "kendall_laplace": (concordance(8, laplace_noise(4)), "8 bits each, Laplace noise of scale 4"),
}
SIZES = (16, 64, 96, 112, 128, 144, 192, 256, 600)


def run(scale: Scale) -> Numbers:
    """Measures kernels, transfers, fresh pairs, and pairs over loopback."""
    group = ristretto255()
    with single_thread(group):
        numbers = _gates(group, scale.of(1_000, 100_000, 400_000))
        numbers |= _transfers(group, scale.of(SIZES[::4], SIZES, SIZES), scale.of(1, 4, 10))
        for name, (circuit, what) in PAIRS.items():
            numbers |= _fresh(name, circuit, what, scale.of(1, 10, 50))
    return numbers | _loopback(scale.of(2, 100, 500))


def _gates(group: Group, gates: int) -> Numbers:
    """A long vector of AND gates of any two wires before each, in one call."""
    inputs, draws = 64, np.random.default_rng(1)
    before = np.arange(gates) + inputs
    wires = (draws.integers(0, 2**31, (2, gates)) % before).astype(np.uint32)
    table = np.stack([np.ones(gates, np.uint32), *wires], axis=1)
    circuit = Circuit((62,), (1,), 0, table, (), 0)
    run = GarbledRun.derive(group, circuit, bytes(32), os.urandom(BLOCK))
    offset = fresh_offset(os.urandom)
    zero = np.frombuffer(os.urandom(BLOCK * inputs), np.uint8).reshape(-1, BLOCK)
    labels = np.zeros((inputs + gates, BLOCK), np.uint8)
    labels[:inputs] = zero
    words, kernels = table.reshape(-1), run.kernels
    garbling = cpu_time(lambda: kernels.garble_gates(run.key, 0, words, offset, labels))
    bits = draws.integers(0, 2, inputs).astype(np.bool_)
    active = np.zeros_like(labels)
    active[:inputs] = zero
    add_where(active[:inputs], bits, offset)
    evaluating = cpu_time(
        lambda: kernels.evaluate_gates(run.key, 0, words, garbling.result, active)
    )
    values = np.append(bits, np.zeros(gates, np.bool_))
    for output, (left, right) in enumerate(wires.T.tolist(), inputs):
        values[output] = values[left] & values[right]
    add_where(labels, values, offset)
    require(bool((labels == active).all()), "labels do not follow the values")
    return {
        "garbled_gates_per_s": round(gates / garbling.seconds),
        "evaluated_gates_per_s": round(gates / evaluating.seconds),
        "gates_unit": f"AND gates, {gates} in one call, processor time, {group.backend} backend",
    }


def _transfers(group: Group, sizes: Sequence[int], repeat: int) -> Numbers:
    """Both ways for the same numbers of choice bits, and where they cross."""
    numbers: Numbers = {}
    crossing: dict[str, int | None] = {"ms": None, "bytes": None}
    for count in sizes:
        choices = np.random.default_rng(count).integers(0, 2, count).astype(np.bool_)
        points = cpu_time(lambda c=choices: _by_points(group, c), repeat=repeat)  # type: ignore[misc]
        hashes = cpu_time(lambda c=choices: _by_hashes(group, c), repeat=repeat)  # type: ignore[misc]
        numbers[f"transfer{count}_ms"] = f"{ms(points.seconds)} points, {ms(hashes.seconds)} hashes"
        numbers[f"transfer{count}_bytes"] = f"{points.result} points, {hashes.result} hashes"
        if crossing["ms"] is None and hashes.seconds < points.seconds:
            crossing["ms"] = count
        if crossing["bytes"] is None and hashes.result < points.result:
            crossing["bytes"] = count
    return numbers | {f"transfer_crossing_{key}": value for key, value in crossing.items()}


def _by_points(group: Group, choices: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """The bytes of labels for all choices, a point for each."""
    offset = fresh_offset(os.urandom)
    receiver, sender = BaseReceiver(group, choices, os.urandom), BaseSender(group, os.urandom)
    zero, one = sender.keys(bytes(32), receiver.message)
    corrections = zero ^ one ^ offset
    labels = receiver.keys(bytes(32), sender.point)
    add_where(labels, choices, corrections)
    require(bool((labels == zero ^ choices[:, None] * offset).all()), "labels by points")
    return len(receiver.message) + group.point_size + corrections.size


def _by_hashes(group: Group, choices: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """The bytes of labels for all choices, by extension."""
    offset = fresh_offset(os.urandom)
    bits = np.unpackbits(offset, bitorder="little").astype(np.bool_)
    receiver, sender = BaseReceiver(group, bits, os.urandom), BaseSender(group, os.urandom)
    labels, columns = extend_as_receiver(
        bytes(32), sender.keys(bytes(32), receiver.message), choices
    )
    keys = receiver.keys(bytes(32), sender.point)
    zero = extend_as_sender(bytes(32), keys, bits, columns, len(choices))
    require(bool((labels == zero ^ choices[:, None] * offset).all()), "labels by hashes")
    return len(receiver.message) + group.point_size + len(columns)


def _fresh(name: str, circuit: Circuit, what: str, repeat: int) -> Numbers:
    """Two new parties each time: processor time of both together, and every byte sent."""
    timed = cpu_time(lambda: _pair(circuit), repeat=repeat)
    frames = timed.result
    transfer = BLOCK * circuit.evaluator_bits + 32
    garbled = next(len(frame) for frame in frames if frame[0] == 3) - HEADER
    if circuit.evaluator_bits < COLUMNS:
        garbled -= transfer
    return {
        f"{name}_ms": ms(timed.seconds),
        f"{name}_bytes": sum(map(len, frames)),
        f"{name}_bytes_without_transfer": garbled + HEADER + len(frames[-1]),
        f"{name}_unit": f"{what}; both parties; {circuit.ands} AND gates, "
        f"{circuit.evaluator_bits} transfers, {len(frames)} messages",
    }


def _pair(circuit: Circuit) -> list[bytes]:
    """All messages of a run in one process."""
    mine, yours = [3] * len(circuit.garbler), [5] * len(circuit.evaluator)
    garbler = Garbler(circuit, mine, context=b"bench", rng=os.urandom)
    evaluator = Evaluator(circuit, yours, context=b"bench", rng=os.urandom)
    frames = [garbler.start() or evaluator.start()]
    step: Callable[[bytes], bytes] = evaluator.step
    if circuit.evaluator_bits >= COLUMNS:
        evaluator.start()
    else:
        step = garbler.step
    while answer := step(frames[-1]):
        frames.append(answer)
        step = garbler.step if step == evaluator.step else evaluator.step
    require(garbler.result is not None and garbler.result == evaluator.result, "parties differ")
    return frames


def _loopback(pairs: int) -> Numbers:
    """Two processes, and a new TCP connection for each pair."""
    context = multiprocessing.get_context("spawn")
    numbers: Numbers = {}
    for name in ("comparison_rr", "comparison_laplace"):
        circuit, _ = PAIRS[name]
        ours, theirs = context.Pipe()
        process = context.Process(target=_evaluators, args=(theirs, name, pairs))
        process.start()
        port = ours.recv()
        wall = time.perf_counter()
        results = [_garbler_over(circuit, port) for _ in range(pairs)]
        seconds = time.perf_counter() - wall
        process.join()
        require(results == ours.recv(), "parties differ")
        numbers[f"loopback_{name}_pairs_per_s"] = round(pairs / seconds, 1)
    return numbers | {
        "loopback_unit": f"{pairs} pairs of strangers one after the other, TCP, two processes, wall"
    }


def _garbler_over(circuit: Circuit, port: int) -> int:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        party = Garbler(circuit, [3], context=b"bench", rng=os.urandom)
        return converse(party, connection)


def _evaluators(parent: Connection, name: str, pairs: int) -> None:
    """The other process: a new party for each connection."""
    circuit, results = PAIRS[name][0], []
    with socket.create_server(("127.0.0.1", 0)) as server:
        parent.send(server.getsockname()[1])
        for _ in range(pairs):
            connection, _ = server.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                party = Evaluator(circuit, [5], context=b"bench", rng=os.urandom)
                results.append(converse(party, connection))
    parent.send(results)
