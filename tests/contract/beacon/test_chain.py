"""Chains: their hash, their encoding, what relays say of them, and when rounds are due."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gopa.contract.beacon import (
    DRAND_CHAIN,
    KNOWN_CHAINS,
    LEAGUE_OF_ENTROPY,
    QUICKNET,
    DrandChain,
    Scheme,
    earliest_round,
    latest_cosignature_time,
    parse_chain_info,
    require_before,
)
from gopa.contract.beacon.scheme import FIELD_MODULUS
from tests.contract.beacon.rounds import FASTNET, UNCHAINED_TESTNET, info_first, info_second
from wire.errors import InvalidProof, MalformedMessage, UsageError

CHAINS = (LEAGUE_OF_ENTROPY, QUICKNET, FASTNET, UNCHAINED_TESTNET)


CURVE_PARAMETER = -0xD201000000010000


MODULUS = (CURVE_PARAMETER - 1) ** 2 * (
    CURVE_PARAMETER**4 - CURVE_PARAMETER**2 + 1
) // 3 + CURVE_PARAMETER


by_id = pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.beacon_id)


@by_id
def test_public_networks_have_the_hashes_they_are_known_by(chain: DrandChain) -> None:
    known = {"default": "8990e7a9", "quicknet": "52db9ba7", "fastnet": "dbd506d6"}
    assert chain.chain_hash.hex().startswith(known.get(chain.beacon_id, "7672797f"))


def test_the_four_schemes_are_those_of_drand() -> None:
    assert [chain.scheme for chain in CHAINS] == [
        Scheme.titled("pedersen-bls-chained"),
        Scheme.titled("bls-unchained-g1-rfc9380"),
        Scheme.titled("bls-unchained-on-g1"),
        Scheme.titled("pedersen-bls-unchained"),
    ]
    assert len(set(Scheme)) == len(CHAINS)
    with pytest.raises(UsageError):
        Scheme.titled("bls-bn254-unchained-on-g1")


def test_the_networks_offered_are_those_that_run() -> None:
    assert KNOWN_CHAINS == (LEAGUE_OF_ENTROPY, QUICKNET)


@by_id
def test_a_chain_survives_its_encoding(chain: DrandChain) -> None:
    encoded = DRAND_CHAIN.encode(chain)
    assert DRAND_CHAIN.decode(encoded) == chain
    for shorter in (encoded[:-1], encoded + b"\0"):
        with pytest.raises(MalformedMessage):
            DRAND_CHAIN.decode(shorter)


@by_id
def test_no_bit_of_an_encoded_chain_can_be_changed(chain: DrandChain) -> None:
    """But for the scheme: drand leaves it out of the hash, so another of the same sizes fits."""
    encoded = DRAND_CHAIN.encode(chain)
    assert DRAND_CHAIN.decode(encoded) == chain
    for bit in range(8, 8 * len(encoded)):
        changed = bytearray(encoded)
        changed[bit // 8] ^= 0x80 >> bit % 8
        with pytest.raises(MalformedMessage):
            DRAND_CHAIN.decode(bytes(changed))


@by_id
def test_a_scheme_of_other_sizes_does_not_fit(chain: DrandChain) -> None:
    for scheme in Scheme:
        if scheme.key_size == chain.scheme.key_size:
            assert dataclasses.replace(chain, scheme=scheme).chain_hash == chain.chain_hash
        else:
            with pytest.raises(UsageError) as caught:
                dataclasses.replace(chain, scheme=scheme)
            assert caught.value.field == "public_key"


def test_the_modulus_is_that_of_the_curve() -> None:
    assert FIELD_MODULUS == MODULUS


def high(data: bytes, flags: int) -> bytes:
    return bytes([data[0] & 0x1F | flags]) + data[1:]


def beyond(data: bytes, at: int) -> bytes:
    """The same with the coordinate at `at` replaced by the modulus."""
    return high(data[:at] + MODULUS.to_bytes(48) + data[at + 48 :], 0x80)


KEY = QUICKNET.public_key


WRONG_PARTS: list[tuple[str, Any]] = [
    ("scheme", 4),
    ("scheme", "bls-unchained-g1-rfc9380"),
    ("public_key", KEY.hex()),
    ("public_key", bytearray(KEY)),
    ("public_key", KEY[:48]),
    ("public_key", KEY + b"\0"),
    ("public_key", b""),
    ("public_key", high(KEY, 0x00)),
    ("public_key", high(KEY, 0xC0)),
    ("public_key", b"\xc0" + bytes(95)),
    ("public_key", beyond(KEY, 0)),
    ("public_key", beyond(KEY, 48)),
    ("public_key", KEY[:48] + bytes([KEY[48] | 0x80]) + KEY[49:]),
    ("period", 0),
    ("period", 2**32),
    ("period", 3.0),
    ("period", True),
    ("genesis", -1),
    ("genesis", 2**63),
    ("genesis", "1692803367"),
    ("group_hash", bytes(31)),
    ("group_hash", bytes(33)),
    ("group_hash", QUICKNET.group_hash.hex()),
    ("beacon_id", ""),
    ("beacon_id", "a" * 65),
    ("beacon_id", "quick net"),
    ("beacon_id", "quicknet\n"),
    ("beacon_id", "quicknét"),
    ("beacon_id", b"quicknet"),
    ("chain_hash", bytes(32)),
    ("chain_hash", b""),
    ("chain_hash", None),
]


@pytest.mark.parametrize(("field", "value"), WRONG_PARTS, ids=range(len(WRONG_PARTS)))
def test_wrong_parts_are_refused_by_name(field: str, value: Any) -> None:
    assert dataclasses.replace(QUICKNET) == QUICKNET
    with pytest.raises(UsageError) as caught:
        dataclasses.replace(QUICKNET, **{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "value"), [("period", 4), ("genesis", 0), ("beacon_id", "default")]
)
def test_right_parts_of_another_chain_do_not_hash_to_this_one(field: str, value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        dataclasses.replace(QUICKNET, **{field: value})
    assert caught.value.field == "chain_hash"


@by_id
@pytest.mark.parametrize("served", [info_first, info_second])
def test_what_relays_serve_is_understood(
    chain: DrandChain, served: Callable[[DrandChain], dict[str, object]]
) -> None:
    assert parse_chain_info(json.dumps(served(chain)).encode()) == chain


FIRST, SECOND = info_first(QUICKNET), info_second(QUICKNET)


WRONG_INFOS: list[tuple[str, dict[str, object]]] = [
    ("public_key", FIRST | {"public_key": KEY.hex().upper()}),
    ("public_key", FIRST | {"public_key": KEY.hex()[:-1]}),
    ("public_key", FIRST | {"public_key": KEY.hex()[:-2]}),
    ("public_key", FIRST | {"public_key": 7}),
    ("public_key", SECOND | {"public_key": None}),
    ("period", FIRST | {"period": "3"}),
    ("period", FIRST | {"period": 3.0}),
    ("period", FIRST | {"period": True}),
    ("period", FIRST | {"period": 2**32}),
    ("genesis_time", SECOND | {"genesis_time": -1}),
    ("genesis_time", SECOND | {"genesis_time": [1]}),
    ("hash", FIRST | {"period": 30}),
    ("hash", FIRST | {"hash": FASTNET.chain_hash.hex()}),
    ("chain_hash", SECOND | {"genesis_time": 1}),
    ("chain_hash", SECOND | {"beacon_id": "quicknet-t"}),
    ("chain_hash", SECOND | {"genesis_seed": FASTNET.group_hash.hex()}),
    ("groupHash", FIRST | {"groupHash": "f477"}),
    ("genesis_seed", SECOND | {"genesis_seed": "0x" + QUICKNET.group_hash.hex()}),
    ("schemeID", FIRST | {"schemeID": "bls-bn254-unchained-on-g1"}),
    ("scheme", SECOND | {"scheme": ""}),
    ("scheme", SECOND | {"scheme": "BLS-UNCHAINED-G1-RFC9380"}),
    ("public_key", SECOND | {"scheme": "pedersen-bls-chained"}),
    ("metadata", FIRST | {"metadata": "quicknet"}),
    ("metadata.beaconID", FIRST | {"metadata": {}}),
    ("metadata.beaconID", FIRST | {"metadata": {"beaconID": ["quicknet"]}}),
    ("metadata.version", FIRST | {"metadata": {"beaconID": "quicknet", "version": 2}}),
    ("note", SECOND | {"note": ""}),
    ("beacon_id", {key: value for key, value in SECOND.items() if key != "beacon_id"}),
    ("period", {key: value for key, value in FIRST.items() if key != "period"}),
    ("chain_hash", FIRST | {"chain_hash": QUICKNET.chain_hash.hex()}),
    ("beacon_id", {}),
]


@pytest.mark.parametrize(("field", "info"), WRONG_INFOS, ids=range(len(WRONG_INFOS)))
def test_wrong_chain_information_is_refused_by_name(field: str, info: dict[str, object]) -> None:
    assert parse_chain_info(json.dumps(FIRST).encode()) == QUICKNET
    with pytest.raises(MalformedMessage) as caught:
        parse_chain_info(json.dumps(info).encode())
    assert caught.value.field == field


GOOD = json.dumps(FIRST).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b"3",
        GOOD[:-1],
        GOOD + b"{}",
        GOOD[:-1] + b',"period":3}',
        GOOD.replace(b'"period": 3', b'"period": NaN'),
        GOOD.replace(b'"beaconID"', b'"beaconID": "quicknet", "beaconID"'),
        b"\xef\xbb\xbf" + GOOD,
        GOOD.decode().encode("utf-16"),
        GOOD.replace(b"quicknet", b"quickn\xe9t"),
        b"[" * 4000,
        b'{"period":' + b"9" * 4000 + b"}",
        GOOD + b" " * 4096,
    ],
    ids=range(15),
)
def test_what_is_not_chain_information_is_refused(raw: bytes) -> None:
    assert parse_chain_info(GOOD) == QUICKNET
    with pytest.raises(MalformedMessage):
        parse_chain_info(raw)


@given(st.binary(max_size=300))
def test_no_bytes_make_the_decoders_fail_otherwise(raw: bytes) -> None:
    for decode in (parse_chain_info, DRAND_CHAIN.decode):
        with pytest.raises(MalformedMessage):
            decode(raw)


def test_text_is_not_chain_information() -> None:
    with pytest.raises(UsageError):
        parse_chain_info(GOOD.decode())  # type: ignore[arg-type]


def test_rounds_count_from_the_genesis() -> None:
    assert QUICKNET.time_of(1) == QUICKNET.genesis
    assert QUICKNET.time_of(1001) == QUICKNET.genesis + 3000
    assert QUICKNET.round_at(QUICKNET.genesis - 1) == 0
    assert QUICKNET.round_at(0) == 0
    assert QUICKNET.round_at(QUICKNET.genesis) == 1
    assert QUICKNET.round_at(QUICKNET.genesis + 2) == 1
    assert QUICKNET.round_at(QUICKNET.genesis + 3) == 2


@given(st.integers(1, 2**64 - 1), st.integers(0, 29))
def test_a_round_is_the_newest_until_the_next_is_due(number: int, later: int) -> None:
    assert LEAGUE_OF_ENTROPY.round_at(LEAGUE_OF_ENTROPY.time_of(number) + later) == number


@pytest.mark.parametrize("number", [0, -1, 2**64, 1.0, True, None])
def test_what_is_no_round_has_no_time(number: Any) -> None:
    with pytest.raises(UsageError):
        QUICKNET.time_of(number)


@pytest.mark.parametrize("time", [1.5, None, True])
def test_what_is_no_time_has_no_round(time: Any) -> None:
    with pytest.raises(UsageError):
        QUICKNET.round_at(time)


ROUND = 1000


LATEST = QUICKNET.genesis + 999 * 3 - 6


def refused(times: Sequence[int], quorum: int, number: int = ROUND) -> tuple[str, tuple[int, ...]]:
    require_before(QUICKNET, ROUND, [LATEST, LATEST - 1], 2)
    with pytest.raises(InvalidProof) as caught:
        require_before(QUICKNET, number, times, quorum)
    return caught.value.check, caught.value.culprits


def test_the_last_moment_is_two_periods_before_the_round() -> None:
    assert latest_cosignature_time(QUICKNET, ROUND) == LATEST
    require_before(QUICKNET, ROUND, (LATEST,), 1)
    assert refused([LATEST + 1], 1) == ("09-D11", (0,))


def test_a_quorum_of_cosignatures_precedes_the_round() -> None:
    """A late one, or one without a time, takes nothing from early ones, and adds nothing."""
    times = [LATEST - 9, LATEST + 1, LATEST, LATEST + 1000, 0]
    for quorum in (1, 2):
        require_before(QUICKNET, ROUND, times, quorum)
    for quorum in (3, 5):
        assert refused(times, quorum) == ("09-D11", (1, 3, 4))
    assert refused(times, 6) == ("09-D12", ())


def test_a_beacon_round_chosen_afterwards_is_refused() -> None:
    """The close is cosigned now; a round whose value is public already was named."""
    now = LATEST
    public = QUICKNET.round_at(now)
    assert refused([now, now], 2, public) == ("09-D11", (0, 1))
    assert refused([now, now], 2, earliest_round(QUICKNET, now) - 1) == ("09-D11", (0, 1))
    require_before(QUICKNET, earliest_round(QUICKNET, now), [now, now], 2)


def test_a_log_without_enough_witnesses_proves_nothing_about_time() -> None:
    assert refused([], 1) == ("09-D12", ())
    assert refused([LATEST, LATEST], 3) == ("09-D12", ())


def test_a_cosignature_without_a_time_is_refused() -> None:
    assert refused([0, LATEST], 2) == ("09-D11", (0,))
    assert refused([LATEST, -1], 2) == ("09-D11", (1,))


def test_a_close_that_names_no_round_is_refused() -> None:
    assert refused([LATEST], 1, 0) == ("09-D11", ())


@pytest.mark.parametrize("quorum", [0, -1, True, None])
def test_a_beacon_without_a_quorum_is_refused(quorum: Any) -> None:
    require_before(QUICKNET, ROUND, [LATEST], 1)
    with pytest.raises(UsageError) as caught:
        require_before(QUICKNET, ROUND, [LATEST], quorum)
    assert caught.value.field == "quorum"


@pytest.mark.parametrize("time", [1.5, "1692803367", None, True])
def test_what_is_no_time_is_the_callers_fault(time: Any) -> None:
    require_before(QUICKNET, ROUND, [LATEST], 1)
    with pytest.raises(UsageError):
        require_before(QUICKNET, ROUND, [time], 1)
    with pytest.raises(UsageError):
        earliest_round(QUICKNET, time)


@pytest.mark.parametrize("chain", [QUICKNET, LEAGUE_OF_ENTROPY], ids=lambda c: c.beacon_id)
@given(time=st.integers(0, 2**40))
def test_the_earliest_round_is_the_first_that_passes(chain: Any, time: int) -> None:
    number = earliest_round(chain, time)
    assert latest_cosignature_time(chain, number) >= time
    assert number == 1 or latest_cosignature_time(chain, number - 1) < time
