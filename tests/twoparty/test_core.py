"""A core of a process that garbled has no offset and no label of the other value in it."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commitments import ristretto255
from commitments.gates import GateKernels, Gates, Labels, gate_kernels
from gopa.twoparty import Circuit, Evaluator, Garbler, comparison, converse, laplace_noise
from gopa.twoparty import labels as labels_module
from tests.twoparty.test_runs import connected

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(shutil.which("gcore") is None, reason="needs gcore, of the package gdb"),
]

CIRCUITS = {"by points": comparison(16), "extended": comparison(16, laplace_noise(1))}
RUNS, BLOCK, PAD = 5, 16, 0x5A


def hidden(data: bytes) -> bytes:
    """Bytes that a search does not find: so the parent knows what the child drew."""
    return bytes(byte ^ PAD for byte in data)


def offset_of(drawn: bytes) -> int:
    """An integer, not in the order of bytes that a label has in memory."""
    folded = int.from_bytes(drawn[:BLOCK]) ^ int.from_bytes(drawn[BLOCK:])
    return folded | 1 << 120


def garble_in_child(connection: Any, parent: Any, circuit: Circuit, plant: str) -> None:
    """Garbles with chance of the system, then waits until it has been looked at."""

    def rng(count: int) -> bytes:
        drawn = os.urandom(count)
        if count == 2 * BLOCK:  # what an offset is made of
            parent.send_bytes(hidden(drawn))
            offsets.append(offset_of(drawn))
        return drawn

    offsets: list[int] = []
    for run in range(RUNS):
        party = Garbler(circuit, [run], context=b"%d" % run, rng=rng)
        converse(party, connection, seconds=60)
    planted = offsets[0].to_bytes(BLOCK) if plant else b""
    planted = bit_by_bit(planted) if plant == "bits" else planted
    parent.send_bytes(b"done")
    parent.recv()
    assert len(planted) in {0, BLOCK, 8 * BLOCK}


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
            if block is not None and core[shift + 8 * at : shift + 8 * at + BLOCK] == block:
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
        for run in range(RUNS):
            party = Evaluator(circuit, [7], context=b"%d" % run, rng=os.urandom)
            converse(party, right, seconds=60)
        drawn = []
        while (data := ours.recv_bytes()) != b"done":
            drawn.append(hidden(data))
        core = core_of(process.pid, folder)
        ours.send(None)
        process.join()
    offsets = [offset_of(data).to_bytes(BLOCK) for data in drawn]
    assert len(offsets) == len(spy.labels) == RUNS
    other = {
        (row ^ np.frombuffer(offset, np.uint8)).tobytes()
        for offset, labels in zip(offsets, spy.labels, strict=True)
        for row in labels
    }
    other -= set(offsets)
    assert len(other) > 10 * RUNS
    unpacked = sum(bit_by_bit(block) in core for block in [*offsets, *sorted(other)[:50]])
    return found_in(core, offsets), found_in(core, other), unpacked


@pytest.mark.parametrize("circuit", CIRCUITS.values(), ids=CIRCUITS)
def test_no_offset_and_no_label_of_the_other_value_is_left(
    circuit: Circuit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_after(circuit, tmp_path, monkeypatch) == (0, 0, 0)


@pytest.mark.parametrize(("plant", "column"), [("bytes", 0), ("bits", 2)])
def test_an_offset_that_was_kept_is_found(
    plant: str, column: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_after(CIRCUITS["by points"], tmp_path, monkeypatch, plant)[column] == 1
