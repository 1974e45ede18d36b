"""Circuits against plain integers: in the clear, and garbled many at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from commitments import ristretto255
from commitments.gates import GateKernels, gate_kernels
from gopa import MalformedMessage, UsageError
from gopa.twoparty import (
    Builder,
    Circuit,
    arithmetic,
    comparison,
    concordance,
    distance,
    equality,
    randomised_answer,
    squared_distance,
)
from gopa.twoparty.circuits import ONE, ZERO, Word
from gopa.twoparty.labels import BLOCK, GarbledRun, add_where, fresh_offset
from tests import valgrind
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.twoparty.runs import tiled

Integers = Any


Case = tuple[Callable[[int], Circuit], int, Callable[[list[Integers], list[Integers]], Integers]]


def built(make: Callable[[Builder, Word, Word], Word]) -> Callable[[int], Circuit]:
    """A circuit of two words."""

    def circuit(width: int) -> Circuit:
        build = Builder()
        return build.build(
            make(build, build.word("garbler", width), build.word("evaluator", width))
        )

    return circuit


def choice(build: Builder, x: Word, y: Word) -> Word:
    return arithmetic.choose(build, arithmetic.less(build, x, y), x, y)


def signs(x: list[Integers], y: list[Integers]) -> Integers:
    return np.sign(x[0] - y[0]) * np.sign(x[1] - y[1])


CASES: dict[str, Case] = {
    "comparison": (comparison, 1, lambda x, y: x[0] < y[0]),
    "equality": (equality, 1, lambda x, y: x[0] == y[0]),
    "distance": (distance, 1, lambda x, y: abs(x[0] - y[0])),
    "square": (squared_distance, 1, lambda x, y: (x[0] - y[0]) ** 2),
    "concordance": (concordance, 4, signs),
    "sum": (built(arithmetic.add), 1, lambda x, y: x[0] + y[0]),
    "difference": (
        built(lambda build, x, y: arithmetic.subtract(build, x, y)[:-1]),
        1,
        lambda x, y: x[0] - y[0],
    ),
    "smaller": (built(choice), 1, lambda x, y: np.minimum(x[0], y[0])),
    "below 37": (
        built(lambda build, x, y: (arithmetic.below(build, x, 37), build.and_(x[0], y[0]))),
        1,
        lambda x, y: (x[0] < 37) + 2 * (x[0] & y[0] & 1),
    ),
}


TABLES = {"comparison": 16, "equality": 15, "distance": 31, "square": 285, "concordance": 64}


TABLES |= {"sum": 16, "difference": 15, "smaller": 32}


def bits(values: list[Integers], width: int) -> Integers:
    """The bits of all integers of a party, along the last axis."""
    columns = [value[:, None] >> np.arange(width) & 1 for value in values]
    return np.concatenate(columns, axis=1).astype(np.bool_)


def integers(circuit: Circuit, width: int, count: int, seed: int) -> list[list[Integers]]:
    """Random integers of both parties; every fourth pair is close, the first four are the ends."""
    draws = np.random.default_rng(seed)
    mine = [draws.integers(0, 1 << width, count) for _ in circuit.garbler]
    yours = [draws.integers(0, 1 << width, count) for _ in circuit.evaluator]
    for x, y in zip(mine, yours, strict=True):
        y[::4] = np.clip(x[::4] + draws.integers(-1, 2, len(y[::4])), 0, (1 << width) - 1)
        x[:4], y[:4] = np.array([[0, 0, 1, 1], [0, 1, 0, 1]]) * ((1 << width) - 1)
    return [mine, yours]


def check_in_the_clear(name: str, width: int, count: int) -> None:
    make, _, truth = CASES[name]
    circuit = make(width)
    mine, yours = integers(circuit, width, count, seed=width)
    result = circuit.compute(bits(mine, width), bits(yours, width))
    expected = truth(mine, yours)
    if name == "difference":
        expected = expected % (1 << width)
    assert (result == expected).all()


def check_garbled(name: str, width: int, count: int, copies: int) -> None:
    """Garble and evaluate `count` instances, `copies` at a time."""
    make, _, truth = CASES[name]
    single, group = make(width), ristretto255()
    circuit, rng = tiled(single, copies), seeded(name)
    for start in range(0, count, copies):
        mine, yours = integers(single, width, copies, seed=start)
        given = bits(mine, width), bits(yours, width)
        run = GarbledRun.derive(group, circuit, bytes(32), rng(BLOCK))
        offset = fresh_offset(rng)
        zero = np.frombuffer(rng(BLOCK * circuit.evaluator_bits), np.uint8).reshape(-1, BLOCK)
        tables, decoding = run.garble(given[0].reshape(-1), offset, zero)
        active = zero.copy()
        add_where(active, given[1].reshape(-1), offset)
        labels = run.evaluate(tables, active)
        rows = np.frombuffer(decoding, np.uint8).reshape(-1, 2, BLOCK)
        chosen = rows[np.arange(len(labels)), labels[:, 0] & 1]
        ignored = np.array([254] + 15 * [255], np.uint8)
        tags = run.kernels.hash_blocks(run.key, 2 * circuit.ands, labels)
        tagged = np.frombuffer(tags, np.uint8).reshape(-1, BLOCK)
        assert ((tagged ^ chosen) & ignored == 0).all()
        values = (chosen[:, 0] & 1).reshape(copies, -1).astype(np.bool_)
        expected = truth(mine, yours)
        if name == "difference":
            expected = expected % (1 << width)
        assert (single.read(values) == expected).all()


@pytest.mark.parametrize("width", [1, 2, 7, 16, 31])
@pytest.mark.parametrize("name", CASES)
def test_circuits_compute_what_integers_do(name: str, width: int) -> None:
    check_in_the_clear(name, width, 10_000)


@pytest.mark.parametrize("name", CASES)
def test_garbled_circuits_compute_what_integers_do(name: str) -> None:
    # The reference needs a minute for what the native core does in a tenth of a second.
    few = ristretto255().backend == "reference"
    check_garbled(name, 16, 200 if few else 2_500, 200 if few else 2_500)


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
def test_a_million_garbled_circuits_compute_what_integers_do(name: str) -> None:
    check_garbled(name, 16, 1_000_000, 10_000)


@pytest.mark.parametrize("name", CASES)
def test_all_small_inputs(name: str) -> None:
    make, _, truth = CASES[name]
    circuit = make(2)
    total = 2 * (len(circuit.garbler) + len(circuit.evaluator))
    rows = (np.arange(1 << total)[:, None] >> np.arange(total) & 1).astype(np.bool_)
    half = 2 * len(circuit.garbler)
    words = [rows[:, at : at + 2] @ np.array([1, 2]) for at in range(0, total, 2)]
    expected = truth(words[: len(circuit.garbler)], words[len(circuit.garbler) :])
    if name == "difference":
        expected = expected % 4
    assert (circuit.compute(rows[:, :half], rows[:, half:]) == expected).all()


@pytest.mark.parametrize(("name", "tables"), TABLES.items())
def test_tables_are_as_many_as_the_specification_says(name: str, tables: int) -> None:
    assert CASES[name][0](16).ands == tables


def test_a_constant_bound_costs_less_than_a_bit_each() -> None:
    build = Builder()
    coins = build.coins(8)
    for bound in range(257):
        wire = arithmetic.below(build, coins, bound)
        circuit = build.build([wire])
        assert circuit.ands <= 7
        mine = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.bool_)
        assert (circuit.compute(mine, mine ^ mine) == (np.arange(256) < bound)).all()


def test_gates_of_constants_and_unused_gates_are_left_out() -> None:
    build = Builder()
    (x,), (y,) = build.word("garbler", 1), build.word("evaluator", 1)
    assert build.xor(x, ZERO) == x
    assert build.xor(x, x) == ZERO
    assert build.xor(ZERO, ONE) == ONE
    assert build.and_(x, ONE) == build.and_(ONE, x) == build.and_(x, x) == x
    assert build.and_(x, ZERO) == ZERO
    assert build.not_(build.not_(ONE)) == ONE
    assert build.and_(x, y) == build.and_(y, x)
    assert build.build([build.xor(x, y)]).ands == 0
    constants = build.build([ONE, ZERO, ONE])
    assert constants.compute(np.zeros(1, np.bool_), np.zeros(1, np.bool_)) == 5


def test_the_name_of_a_circuit_is_that_of_all_its_parts() -> None:
    assert comparison(8).digest == comparison(8).digest
    build = Builder()
    x, y = build.word("garbler", 8), build.word("evaluator", 8)
    differ = [comparison(8), comparison(9), equality(8), distance(8), concordance(8)]
    differ += [build.build([arithmetic.less(build, x, y)], low=low) for low in (1, 2)]
    differ += [build.build(outputs) for outputs in (x[:1], x[1:2], x[:2])]
    differ += [Circuit((8,), (8,), coins, differ[0].gates, x[:1], 0) for coins in (1, 2)]
    assert len({circuit.digest for circuit in differ}) == len(differ)
    assert build.build([arithmetic.less(build, x, y)]).digest == comparison(8).digest


def test_wrong_inputs_are_refused() -> None:
    circuit = comparison(8)
    values: Any
    for values in ([255], [np.int64(255)], (255,), np.array([255])):
        assert circuit.bits_of("garbler", values, b"").all()
    for values in ([], [1, 2], [-1], [256], [1.0], [True], ["1"], [None], [float("nan")]):
        with pytest.raises(UsageError):
            circuit.bits_of("garbler", values, b"")
    noisy = comparison(8, randomised_answer(2, 1))
    assert not noisy.bits_of("garbler", [0], bytes(3)).any()
    with pytest.raises(UsageError) as caught:
        noisy.bits_of("garbler", [0], bytes(2))
    assert caught.value.field == "coins"
    with pytest.raises(UsageError):
        Builder().word("garbler", 0)
    with pytest.raises(UsageError):
        Builder().word("garbler", 63)
    build = Builder()
    (wire,) = build.word("garbler", 1)
    assert build.build([wire], low=-(2**62) + 1).low < 0
    with pytest.raises(UsageError):
        build.build([])
    low: Any
    for low in (2**62, -(2**62), 0.5, True, None):
        with pytest.raises(UsageError) as caught:
            build.build([wire], low=low)
        assert caught.value.field == "low"


GROUPS = installed_groups()


KERNELS = {group.backend: gate_kernels(group) for group in GROUPS}


KEY = bytes(range(16))


BOTH = pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)


def blocks(seed: str, count: int) -> Any:
    return np.frombuffer(seeded(seed)(16 * count), np.uint8).reshape(-1, 16).copy()


def offset_of(seed: str) -> Any:
    found = blocks(seed, 1)[0]
    found[0] |= 1
    return found


def random_gates(inputs: int, count: int, seed: int) -> Any:
    """Gates of both kinds, each of any two wires before it."""
    draws = np.random.default_rng(seed)
    rows = [(k % 3 > 0, *draws.integers(0, inputs + k, 2)) for k in range(count)]
    return np.array(rows, np.uint32).reshape(-1)


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)  # noqa: S305


def test_the_cipher_is_that_of_fips_197() -> None:
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert aes(KEY, plain).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@BOTH
def test_the_hash_is_its_definition(kernels: GateKernels) -> None:
    """H(x, i) = P(P(x) + i) + P(x); with tweak 0 the inner block of FIPS 197 shows."""
    given, first = blocks("hash", 20), 2**128 - 7
    hashed = kernels.hash_blocks(KEY, first, given)
    for index, block in enumerate(given):
        inner = int.from_bytes(aes(KEY, block.tobytes()), "little")
        tweaked = inner ^ (first + index) % 2**128
        outer = int.from_bytes(aes(KEY, tweaked.to_bytes(16, "little")), "little")
        assert hashed[16 * index : 16 * index + 16] == (outer ^ inner).to_bytes(16, "little")
    plain = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), np.uint8)
    inner_block = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")
    expected = bytes(a ^ b for a, b in zip(aes(KEY, inner_block), inner_block, strict=True))
    assert kernels.hash_blocks(KEY, 0, plain.copy()) == expected


@BOTH
def test_labels_follow_the_values(kernels: GateKernels) -> None:
    inputs, count = 10, 300
    gates, offset = random_gates(inputs, count, 5), offset_of("offset")
    zero = np.zeros((inputs + count, 16), np.uint8)
    zero[:inputs] = blocks("labels", inputs)
    tables = kernels.garble_gates(KEY, 9, gates, offset, zero)
    assert len(tables) == 32 * int(gates.reshape(-1, 3)[:, 0].sum())
    for trial in range(20):
        values = list(np.random.default_rng(trial).integers(0, 2, inputs))
        for kind, left, right in gates.reshape(-1, 3).tolist():
            values.append(values[left] & values[right] if kind else values[left] ^ values[right])
        active = np.zeros_like(zero)
        active[:inputs] = zero[:inputs] ^ np.array(values[:inputs], np.uint8)[:, None] * offset
        kernels.evaluate_gates(KEY, 9, gates, tables, active)
        assert (active == zero ^ np.array(values, np.uint8)[:, None] * offset).all()


@pytest.mark.skipif(len(KERNELS) < 2, reason="needs both backends")
def test_backends_agree() -> None:
    results = []
    for kernels in KERNELS.values():
        gates, offset = random_gates(7, 500, 6), offset_of("other")
        labels = np.zeros((507, 16), np.uint8)
        labels[:7] = blocks("seven", 7)
        tables = kernels.garble_gates(KEY, 2**127, gates, offset, labels)
        active = labels.copy()
        active[7:] = 0
        kernels.evaluate_gates(KEY, 2**127, gates, tables, active)
        hashed = kernels.hash_blocks(KEY, 3, labels)
        results.append((tables, labels.tobytes(), active.tobytes(), hashed))
    assert results[0] == results[1]


@BOTH
def test_wrong_arguments_are_refused(kernels: GateKernels) -> None:
    offset, gates = offset_of("offset"), np.array([1, 0, 1], np.uint32)
    labels = blocks("labels", 3)
    tables = kernels.garble_gates(KEY, 0, gates, offset, labels)
    kernels.evaluate_gates(KEY, 0, gates, tables, labels)
    for wrong in ([2, 0, 1], [1, 0, 2], [1, 3, 0], [0, 1], [1, 2, 2]):
        with pytest.raises(UsageError):
            kernels.garble_gates(KEY, 0, np.array(wrong, np.uint32), offset, labels)
        with pytest.raises(UsageError):
            kernels.evaluate_gates(KEY, 0, np.array(wrong, np.uint32), tables, labels)
    for cut in (tables[:-1], tables + tables, b"", tables + b"\0"):
        with pytest.raises(MalformedMessage):
            kernels.evaluate_gates(KEY, 0, gates, cut, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, gates, offset, labels.reshape(-1)[:47])
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, np.tile(gates, 4), offset, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY[:15], 0, gates, offset, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, gates, labels, labels)
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, -1, gates, offset, labels)
    labels.flags.writeable = False
    with pytest.raises(UsageError):
        kernels.garble_gates(KEY, 0, gates, offset, labels)


@BOTH
def test_labels_that_are_cut_or_mixed_up_do_not_decode(kernels: GateKernels) -> None:
    with pytest.raises(UsageError):
        kernels.hash_blocks(KEY, 0, np.zeros(17, np.uint8))
    assert kernels.hash_blocks(KEY, 0, np.zeros(0, np.uint8)) == b""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example that garbles and evaluates with labels of its own."""
    return valgrind.built("constant_time", tmp_path_factory.mktemp("target"))


@pytest.mark.soak
@valgrind.needed
def test_no_branch_and_no_address_depends_on_labels(program: str) -> None:
    assert valgrind.marked(program) == (0, "")


@pytest.mark.soak
@valgrind.needed
def test_a_branch_on_a_select_bit_is_seen(program: str) -> None:
    code, complaints = valgrind.marked(program, "leak")
    assert code == valgrind.LEAKED
    assert "depends on uninitialised value" in complaints
