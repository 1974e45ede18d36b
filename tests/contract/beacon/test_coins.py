"""Coins: the bytes the specification says, apart from each other, and fair."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gopa.contract.beacon import (
    DRAND_CHAIN,
    KNOWN_CHAINS,
    Scheme,
    bls,
    drand,
    drand_coins,
    draw_coin,
    flip_coins,
    graph_seed,
    joint_coins,
    reveal_hash,
    seed_of_choices,
    simulation_coins,
)
from gopa.graph import all_choices
from tests.contract.beacon.beacon_vectors import records, value
from wire import domains
from wire.codec import describe
from wire.errors import UsageError

VECTORS = json.loads(
    (Path(__file__).resolve().parents[3] / "specs" / "vectors" / "beacon.json").read_text()
)


COINS, SESSION, PARTY, LEAF, NONCE = (value(name) for name in ("r", "s", "p", "l", "n"))


def framed(label: str, *fields: bytes) -> bytes:
    full = f"gopa/v1/beacon/{label}".encode()
    return bytes([len(full)]) + full + b"".join(fields)


def sha256(label: str, *fields: bytes) -> str:
    return hashlib.sha256(framed(label, *fields)).hexdigest()


def test_vectors_are_current() -> None:
    assert records() == VECTORS


@pytest.mark.parametrize("entry", VECTORS["hashes"], ids=lambda entry: entry["round"])
def test_hashes_are_those_of_the_specification(entry: dict[str, Any]) -> None:
    place = bytes.fromhex(entry["session"]) + entry["round"].to_bytes(2)
    party, nonce = bytes.fromhex(entry["party"]), bytes.fromhex(entry["nonce"])
    leaf, drawn = bytes.fromhex(entry["join_leaf"]), bytes.fromhex(entry["drand_value"])
    nonces = [bytes.fromhex(each) for each in entry["nonces"]]
    assert entry["reveal_hash"] == sha256("reveal-hash", place, party, nonce)
    assert entry["seed_of_choices"] == sha256("choices", place, leaf, nonce)
    assert entry["joint_coins"] == sha256(
        "joint-coins", place, leaf, len(nonces).to_bytes(4), b"".join(nonces)
    )
    assert entry["drand_coins"] == sha256("drand-coins", place, leaf, drawn)
    assert entry["simulation_coins"] == sha256("simulation-coins", place, leaf)
    coins = bytes.fromhex(entry["drand_coins"])
    assert entry["graph_seed_of_drand_coins"] == sha256("graph-seed", coins)


def test_expansions_are_those_of_the_specification() -> None:
    given_values = VECTORS["expansion"]
    coins, session, party = (
        bytes.fromhex(given_values[name]) for name in ("coins", "session", "party")
    )
    where = coins + session + given_values["round"].to_bytes(2) + party
    for each in given_values["draws"]:
        fields = framed("draw-coin", where, each["draw"].to_bytes(4), bytes([each["bits"]]))
        word = int.from_bytes(hashlib.shake_128(fields).digest(8))
        assert each["coin"] == int(f"{word:064b}"[: each["bits"]], 2)
    for each in given_values["flips"]:
        fields = framed("flip-coins", where, each["count"].to_bytes(4))
        stream = hashlib.shake_128(fields).digest(each["count"] // 8 + 1)
        text = "".join(f"{byte:08b}" for byte in stream)[: each["count"]]
        assert each["flips"] == [int(bit) for bit in text]


CALLS: list[tuple[Callable[..., object], tuple[object, ...]]] = [
    (reveal_hash, (SESSION, 1, PARTY, NONCE)),
    (seed_of_choices, (SESSION, 1, LEAF, NONCE)),
    (joint_coins, (SESSION, 1, LEAF, (NONCE, PARTY))),
    (drand_coins, (SESSION, 1, LEAF, NONCE)),
    (simulation_coins, (SESSION, 1, LEAF)),
    (graph_seed, (COINS,)),
    (draw_coin, (COINS, SESSION, 1, PARTY, 0, 63)),
    (flip_coins, (COINS, SESSION, 1, PARTY, 64)),
]


each_call = pytest.mark.parametrize(
    ("call", "arguments"), CALLS, ids=[c.__name__ for c, _ in CALLS]
)


def changed(argument: object) -> object:
    match argument:
        case bytes():
            return argument[:-1] + bytes([argument[-1] ^ 1])
        case int():
            return argument - 1 if argument > 1 else argument + 1
        case _:
            return tuple(reversed(argument))  # type: ignore[call-overload]


@each_call
def test_every_argument_counts(call: Callable[..., object], arguments: tuple[object, ...]) -> None:
    results = [call(*arguments)]
    for at, argument in enumerate(arguments):
        results.append(call(*arguments[:at], changed(argument), *arguments[at + 1 :]))
    assert call(*arguments) == results[0]
    assert len(set(results)) == len(arguments) + 1


def test_no_two_purposes_share_a_value() -> None:
    """The same bytes in every place that takes 32 of them."""
    same = bytes(32)
    values = {
        reveal_hash(same, 0, same, same),
        seed_of_choices(same, 0, same, same),
        drand_coins(same, 0, same, same),
        joint_coins(same, 0, same, [same, same]),
        simulation_coins(same, 0, same),
        graph_seed(same),
    }
    assert len(values) == 6


def test_one_party_withholding_changes_nobody_elses_choices() -> None:
    """But it changes the joint coins, which is why withholding is counted."""
    nonces = [value(f"nonce/{i}") for i in range(5)]
    seeds = [seed_of_choices(SESSION, 2, LEAF, nonce) for nonce in nonces]
    assert len(set(seeds)) == 5
    assert joint_coins(SESSION, 2, LEAF, nonces) != joint_coins(SESSION, 2, LEAF, nonces[:-1])


def test_a_list_of_nonces_is_not_a_longer_one_with_an_empty_end() -> None:
    assert len({joint_coins(SESSION, 0, LEAF, [bytes(32)] * count) for count in range(1, 6)}) == 5


def test_the_graph_comes_from_the_coins() -> None:
    rows = all_choices(graph_seed(drand_coins(SESSION, 1, LEAF, NONCE)), 30, 4)
    assert rows.shape == (30, 4)
    assert (rows != all_choices(graph_seed(COINS), 30, 4)).any()


BYTES32 = (b"", bytes(31), bytes(33), bytearray(32), "0" * 32, None)


ROUNDS = (-1, 65_536, 1.0, True, None)


def nonsense(argument: object) -> tuple[object, ...]:
    match argument:
        case bytes():
            return BYTES32
        case int():
            return (-1, 2**32, 1.0, True, None)
        case _:
            return ((), (NONCE, b"short"), (NONCE, None))


@each_call
def test_nonsense_is_refused(call: Callable[..., object], arguments: tuple[object, ...]) -> None:
    call(*arguments)
    for at, argument in enumerate(arguments):
        for wrong in nonsense(argument):
            with pytest.raises(UsageError) as caught:
                call(*arguments[:at], wrong, *arguments[at + 1 :])
            assert caught.value.field


@pytest.mark.parametrize("number", ROUNDS)
def test_round_numbers_have_two_bytes(number: Any) -> None:
    assert simulation_coins(SESSION, 0, LEAF) != simulation_coins(SESSION, 65_535, LEAF)
    with pytest.raises(UsageError) as caught:
        simulation_coins(SESSION, number, LEAF)
    assert caught.value.field == "round_number"


@pytest.mark.parametrize("bits", [0, 64])
def test_coins_have_1_to_63_bits(bits: int) -> None:
    assert draw_coin(COINS, SESSION, 0, PARTY, 0, 1) in {0, 1}
    with pytest.raises(UsageError) as caught:
        draw_coin(COINS, SESSION, 0, PARTY, 0, bits)
    assert caught.value.field == "bits"


def test_no_flips_are_refused() -> None:
    assert len(flip_coins(COINS, SESSION, 0, PARTY, 1)) == 1
    with pytest.raises(UsageError) as caught:
        flip_coins(COINS, SESSION, 0, PARTY, 0)
    assert caught.value.field == "count"


@given(st.integers(1, 63), st.integers(0, 2**32 - 1))
def test_a_coin_fits_its_bits(bits: int, draw: int) -> None:
    assert 0 <= draw_coin(COINS, SESSION, 0, PARTY, draw, bits) < 2**bits


@pytest.mark.parametrize("bits", [1, 8, 33, 63])
def test_coins_are_uniform(bits: int) -> None:
    draws = [draw_coin(COINS, SESSION, 0, PARTY, draw, bits) for draw in range(20_000)]
    top = np.bincount([draw >> max(0, bits - 6) for draw in draws])
    low = np.bincount([draw % 64 for draw in draws])
    assert stats.chisquare(top).pvalue > 1e-4
    assert stats.chisquare(low).pvalue > 1e-4


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100_003])
def test_flips_are_as_many_as_asked_for(count: int) -> None:
    flips = flip_coins(COINS, SESSION, 0, PARTY, count)
    assert len(flips) == count
    assert set(flips) <= {0, 1}


def test_flips_are_fair_and_independent() -> None:
    count = 2**18
    flips = np.frombuffer(flip_coins(COINS, SESSION, 0, PARTY, count), dtype=np.uint8)
    assert stats.binomtest(int(flips.sum()), count).pvalue > 1e-4
    assert stats.chisquare(np.bincount(np.packbits(flips), minlength=256)).pvalue > 1e-4


SPEC = (Path(__file__).resolve().parents[3] / "specs" / "09-beacon.md").read_text()


RULES = re.findall(r"\*\*\[(D\d+)\]\*\*", SPEC)


def test_rules_are_numbered_without_gaps() -> None:
    assert RULES
    assert [int(rule[1:]) for rule in RULES] == list(range(1, len(RULES) + 1))


def test_errors_cite_rules_that_exist() -> None:
    cited = [drand.INPUTS, bls.ENCODING, bls.SUBGROUP, bls.EQUATION, drand.TIMES, drand.QUORUM]
    assert len(set(cited)) == len(cited)
    assert {check.removeprefix("09-") for check in cited} <= set(RULES)


def test_the_printed_format_is_the_one_that_runs() -> None:
    (printed,) = re.findall(r"^```tls\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL)
    assert printed == describe(DRAND_CHAIN)


def test_the_table_of_schemes_is_the_one_that_runs() -> None:
    rows = re.findall(
        r"^\| (\d) \| `([\w-]+)` \| (\d\d) \| (\d\d) \| `(\S+)` \| (.*) \|$", SPEC, re.MULTILINE
    )
    assert [tuple(row) for row in rows] == [
        (
            str(scheme.value),
            scheme.title,
            str(scheme.key_size),
            str(scheme.signature_size),
            scheme.hash_domain.decode(),
            "previous signature, round" if scheme.chained else "round",
        )
        for scheme in Scheme
    ]


def test_every_label_is_printed() -> None:
    labels = {
        label.decode()
        for label in vars(domains).values()
        if isinstance(label, bytes) and label.startswith(b"gopa/v1/beacon/")
    }
    printed = set(re.findall(r"`(gopa/v1/beacon/[a-z-]+)`", SPEC))
    assert len(labels) == 10
    assert printed == labels


def test_known_networks_are_printed() -> None:
    for chain in KNOWN_CHAINS:
        assert chain.chain_hash.hex() in SPEC
        assert f"`{chain.scheme.title}`, {chain.period} s" in SPEC


def test_the_distance_is_the_one_that_runs() -> None:
    assert f"time(i) - {drand.DISTANCE} period" in SPEC
