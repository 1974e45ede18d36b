"""Rounds of drand: those that networks published are accepted, everything else is not."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
import textwrap
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from py_ecc.bls.hash_to_curve import hash_to_G1, hash_to_G2
from py_ecc.bls.point_compression import compress_G1, compress_G2, decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G2Compressed
from py_ecc.fields import optimized_bls12_381_FQ as FQ
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import (
    G1,
    G2,
    add,
    curve_order,
    is_inf,
    multiply,
    neg,
)
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

from gopa.contract.beacon import LEAGUE_OF_ENTROPY, QUICKNET, DrandChain, Scheme, verify_round
from gopa.contract.beacon.scheme import FIELD_MODULUS
from tests.contract.beacon.rounds import FASTNET, ONE_OF_EACH_SCHEME, ROUNDS, Published, name
from wire.errors import InvalidProof, UsageError

if TYPE_CHECKING:
    from _hashlib import HASH

    from py_ecc.bls.typing import G1Uncompressed, G2Uncompressed


_SHA256 = cast("HASH", hashlib.sha256)


GROUP_HASH: Final = hashlib.sha256(b"a group").digest()


def encode_g1(point: G1Uncompressed) -> bytes:
    """The compressed form."""
    return int(compress_G1(point)).to_bytes(48)


def encode_g2(point: G2Uncompressed) -> bytes:
    """The compressed form."""
    high, low = compress_G2(point)
    return high.to_bytes(48) + low.to_bytes(48)


def chain_with_key(scheme: Scheme, key: bytes, period: int = 3, genesis: int = 1000) -> DrandChain:
    """A chain around any key, its hash computed as the specification says."""
    name = "local"
    parts = period.to_bytes(4) + genesis.to_bytes(8) + key + GROUP_HASH + name.encode()
    chain_hash = hashlib.sha256(parts).digest()
    return DrandChain(scheme, key, period, genesis, GROUP_HASH, name, chain_hash)


class Network:
    """Signs any round of its own chain, whatever the time."""

    def __init__(self, scheme: Scheme, secret: int = 0x5EED, period: int = 3) -> None:
        self.secret = secret
        on_g1 = scheme.key_on_g1
        key = encode_g1(multiply(G1, secret)) if on_g1 else encode_g2(multiply(G2, secret))
        self.chain = chain_with_key(scheme, key, period)

    def sign(self, number: int, previous: bytes | None = None) -> bytes:
        """The signature of a round, after `previous` if the scheme is chained."""
        message = hashlib.sha256((previous or b"") + number.to_bytes(8)).digest()
        scheme = self.chain.scheme
        if scheme.key_on_g1:
            on_g2 = hash_to_G2(message, scheme.hash_domain, _SHA256)
            return encode_g2(multiply(on_g2, self.secret))
        on_g1 = hash_to_G1(message, scheme.hash_domain, _SHA256)
        return encode_g1(multiply(on_g1, self.secret))


ORDER_THREE = (FQ(0), FQ(2), FQ(1))


"""A point of y^2 = x^3 + 4 outside the subgroup."""


one_of_each = pytest.mark.parametrize("published", ONE_OF_EACH_SCHEME, ids=name)


@lru_cache(maxsize=64)
def accept(published: Published) -> bytes:
    return verify_round(published.chain, published.number, published.signature, published.previous)


def refusal(published: Published, **changes: Any) -> str:
    """The rule under which the changed round is refused; the round itself is accepted."""
    accept(published)
    with pytest.raises(InvalidProof) as caught:
        accept(dataclasses.replace(published, **changes))
    return caught.value.check


@pytest.mark.thirds
@pytest.mark.parametrize("published", ROUNDS, ids=name)
def test_published_rounds_are_accepted(published: Published) -> None:
    value = accept(published)
    assert value == hashlib.sha256(published.signature).digest()
    assert published.value in {None, value}


def test_some_values_are_known_from_the_networks_themselves() -> None:
    assert len([published for published in ROUNDS if published.value]) == 4


@pytest.mark.slow
@pytest.mark.thirds
@one_of_each
def test_a_signature_is_for_its_round_and_key(published: Published) -> None:
    assert refusal(published, number=published.number + 1) == "09-D9"
    assert refusal(published, number=published.number - 1 or 2**64 - 1) == "09-D9"
    assert refusal(published, number=0) == "09-D6"
    other = Network(published.chain.scheme).chain
    assert refusal(published, chain=other) == "09-D9"


@pytest.mark.slow
def test_networks_with_points_of_one_size_stay_apart() -> None:
    quicknet, fastnet = ROUNDS[7], ROUNDS[5]
    assert refusal(quicknet, chain=FASTNET) == "09-D9"
    assert refusal(fastnet, chain=QUICKNET) == "09-D9"
    assert refusal(quicknet, signature=fastnet.signature) == "09-D9"


@pytest.mark.slow
def test_the_domain_of_hashing_belongs_to_the_scheme() -> None:
    """drand's chain hash does not tell these two apart; the signature does."""
    for published in (ROUNDS[5], ROUNDS[7]):
        schemes = {Scheme.BLS_UNCHAINED_ON_G1, Scheme.BLS_UNCHAINED_G1_RFC9380}
        (other,) = schemes - {published.chain.scheme}
        confused = dataclasses.replace(published.chain, scheme=other)
        assert confused.chain_hash == published.chain.chain_hash
        assert refusal(published, chain=confused) == "09-D9"


@pytest.mark.slow
def test_the_previous_signature_is_signed() -> None:
    chained, unchained = ROUNDS[1], ROUNDS[3]
    previous = chained.previous or b""
    assert refusal(chained, previous=bytes([previous[0] ^ 1]) + previous[1:]) == "09-D9"
    assert refusal(chained, previous=chained.signature) == "09-D9"
    assert refusal(chained, previous=ROUNDS[2].previous) == "09-D9"
    assert refusal(chained, signature=previous, previous=chained.signature) == "09-D9"
    assert refusal(chained, previous=None) == "09-D6"
    assert refusal(chained, previous=b"") == "09-D6"
    assert refusal(chained, previous=previous[:-1]) == "09-D6"
    assert refusal(chained, previous=previous + b"\0") == "09-D6"
    assert refusal(unchained, previous=previous) == "09-D6"
    assert refusal(unchained, previous=b"") == "09-D6"


@pytest.mark.slow
def test_before_the_first_round_stands_the_group_hash() -> None:
    first = ROUNDS[0]
    assert first.previous == LEAGUE_OF_ENTROPY.group_hash
    assert refusal(first, previous=first.signature) == "09-D6"
    assert refusal(first, previous=bytes(32)) == "09-D6"
    assert refusal(first, previous=None) == "09-D6"
    assert refusal(ROUNDS[1], previous=LEAGUE_OF_ENTROPY.group_hash) == "09-D6"


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


def flip_all(published: Published, step: int) -> set[str]:
    accept(published)
    checks = set()
    for bit in range(0, 8 * len(published.signature), step):
        with pytest.raises(InvalidProof) as caught:
            accept(dataclasses.replace(published, signature=flipped(published.signature, bit)))
        checks.add(caught.value.check)
    return checks


@pytest.mark.slow
@pytest.mark.thirds
@one_of_each
def test_flipped_bits_are_refused(published: Published) -> None:
    """The first three bits are the flags; the sign alone leads to another good point."""
    assert refusal(published, signature=flipped(published.signature, 0)) == "09-D7"
    assert refusal(published, signature=flipped(published.signature, 1)) == "09-D7"
    assert refusal(published, signature=flipped(published.signature, 2)) == "09-D9"
    assert flip_all(published, 47) <= {"09-D7", "09-D8"}


@pytest.mark.soak
@pytest.mark.parametrize("published", ROUNDS, ids=name)
def test_every_flipped_bit_is_refused(published: Published) -> None:
    assert flip_all(published, 1) == {"09-D7", "09-D8", "09-D9"}


@one_of_each
def test_other_sizes_are_refused(published: Published) -> None:
    signature = published.signature
    for other in (b"", signature[:-1], signature + b"\0", signature + signature):
        assert refusal(published, signature=other) == "09-D6"


@one_of_each
def test_infinity_is_refused(published: Published) -> None:
    size = len(published.signature)
    for flags in (0xC0, 0xE0, 0x40):
        assert refusal(published, signature=bytes([flags]) + bytes(size - 1)) == "09-D7"


def test_the_sum_of_infinities_signs_nothing() -> None:
    """Infinity as key and as signature satisfies the equation for every message."""
    network = Network(Scheme.BLS_UNCHAINED_G1_RFC9380)
    assert verify_round(network.chain, 5, network.sign(5))
    with pytest.raises(UsageError) as caught:
        chain_with_key(network.chain.scheme, b"\xc0" + bytes(95))
    assert caught.value.field == "public_key"


def raised(signature: bytes, at: int) -> bytes | None:
    """The same point with the modulus added to one coordinate, if 381 bits hold that."""
    flags = signature[0] & 0xE0
    plain = bytes([signature[0] & 0x1F]) + signature[1:]
    coordinate = int.from_bytes(plain[at : at + 48]) + FIELD_MODULUS
    if coordinate >= 2**381:
        return None
    plain = plain[:at] + coordinate.to_bytes(48) + plain[at + 48 :]
    return bytes([plain[0] | flags]) + plain[1:]


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize(
    ("scheme", "at"),
    [
        (Scheme.BLS_UNCHAINED_G1_RFC9380, 0),
        (Scheme.PEDERSEN_BLS_UNCHAINED, 0),
        (Scheme.PEDERSEN_BLS_UNCHAINED, 48),
    ],
)
def test_a_coordinate_has_one_spelling(scheme: Scheme, at: int) -> None:
    """Two spellings of one point would be two values of one round, to choose between."""
    network = Network(scheme)
    signed = ((number, network.sign(number)) for number in range(1, 60))
    number, signature, other = next(
        (number, signature, found)
        for number, signature in signed
        if (found := raised(signature, at))
    )
    assert refusal(Published(network.chain, number, signature), signature=other) == "09-D7"


def test_flags_of_the_second_coordinate_are_refused() -> None:
    published = ROUNDS[3]
    for bit in range(384, 387):
        assert refusal(published, signature=flipped(published.signature, bit)) == "09-D7"


@one_of_each
def test_points_off_the_curve_are_refused(published: Published) -> None:
    size = len(published.signature)
    numbers = (bytes([0x80]) + bytes(size - 2) + bytes([x]) for x in range(1, 30))
    nowhere = next(data for data in numbers if not on_curve(data))
    assert refusal(published, signature=nowhere) == "09-D8"


def on_curve(data: bytes) -> bool:
    try:
        if len(data) == 48:
            decompress_G1(G1Compressed(int.from_bytes(data)))
        else:
            high, low = int.from_bytes(data[:48]), int.from_bytes(data[48:])
            decompress_G2(G2Compressed((high, low)))
    except ValueError:
        return False
    return True


@one_of_each
def test_points_outside_the_subgroup_are_refused(published: Published) -> None:
    size = len(published.signature)
    numbers = (bytes([0x80]) + bytes(size - 2) + bytes([x]) for x in range(1, 30))
    outside = next(data for data in numbers if on_curve(data))
    assert refusal(published, signature=outside) == "09-D8"


def test_without_the_subgroup_check_a_round_would_have_three_values() -> None:
    """A signature plus a point of order 3 satisfies the equation and has other bytes."""
    published = ROUNDS[7]
    key = published.chain.public_key
    parts = (int.from_bytes(key[:48]), int.from_bytes(key[48:]))
    on_g2 = decompress_G2(G2Compressed(parts))
    message = hashlib.sha256(published.number.to_bytes(8)).digest()
    hashed = hash_to_G1(message, published.chain.scheme.hash_domain, _SHA256)
    signature = decompress_G1(G1Compressed(int.from_bytes(published.signature)))

    assert is_inf(multiply(ORDER_THREE, 3))
    for multiple in (1, 2):
        forged = add(signature, multiply(ORDER_THREE, multiple))
        left = pairing(G2, forged, final_exponentiate=False)
        right = pairing(on_g2, neg(hashed), final_exponentiate=False)
        assert final_exponentiate(left * right) == FQ12.one()
        encoded = encode_g1(forged)
        assert encoded != published.signature
        assert refusal(published, signature=encoded) == "09-D8"


def test_long_signatures_with_a_part_outside_the_subgroup_are_refused() -> None:
    published = ROUNDS[3]
    numbers = (b"\x80" + bytes(94) + bytes([x]) for x in range(1, 30))
    outside = next(data for data in numbers if on_curve(data))
    point = decompress_G2(
        G2Compressed((int.from_bytes(outside[:48]), int.from_bytes(outside[48:])))
    )
    stray = multiply(point, curve_order)
    assert not is_inf(stray)
    signature = published.signature
    parts = (int.from_bytes(signature[:48]), int.from_bytes(signature[48:]))
    forged = encode_g2(add(decompress_G2(G2Compressed(parts)), stray))
    assert refusal(published, signature=forged) == "09-D8"


@pytest.mark.thirds
@pytest.mark.parametrize("scheme", Scheme)
def test_a_key_outside_the_subgroup_is_refused(scheme: Scheme) -> None:
    network = Network(scheme)
    previous = bytes(96) if scheme.chained else None
    signature = network.sign(9, previous)
    good = Published(network.chain, 9, signature, previous)
    if scheme.key_on_g1:
        bad_key = encode_g1(add(multiply(G1, network.secret), ORDER_THREE))
    else:
        numbers = (b"\x80" + bytes(94) + bytes([x]) for x in range(1, 30))
        bad_key = next(data for data in numbers if on_curve(data))
    assert refusal(good, chain=chain_with_key(scheme, bad_key)) == "09-D8"


def test_a_key_with_a_part_outside_the_subgroup_satisfies_the_bare_equation() -> None:
    """So nothing but the check of the key tells the two keys apart."""
    message = hashlib.sha256(bytes(8)).digest()
    hashed = hash_to_G2(message, Scheme.PEDERSEN_BLS_UNCHAINED.hash_domain, _SHA256)
    secret = 77
    signature = multiply(hashed, secret)
    for key in (multiply(G1, secret), add(multiply(G1, secret), ORDER_THREE)):
        left = pairing(hashed, key, final_exponentiate=False)
        right = pairing(signature, neg(G1), final_exponentiate=False)
        assert final_exponentiate(left * right) == FQ12.one()


@pytest.mark.slow
@pytest.mark.thirds
@pytest.mark.parametrize("scheme", Scheme)
def test_a_network_of_our_own_signs_what_is_accepted(scheme: Scheme) -> None:
    network = Network(scheme)
    previous = network.chain.group_hash if scheme.chained else None
    first = network.sign(1, previous)
    assert verify_round(network.chain, 1, first, previous)
    if scheme.chained:
        second = network.sign(2, first)
        assert verify_round(network.chain, 2, second, first)


@pytest.mark.parametrize(
    ("number", "signature", "previous"),
    [
        (2**64, bytes(48), None),
        (-1, bytes(48), None),
        (True, bytes(48), None),
        (1.0, bytes(48), None),
        (1, "00" * 48, None),
        (1, bytearray(48), None),
        (1, None, None),
        (1, bytes(48), "00"),
    ],
)
def test_arguments_of_other_types_are_the_callers_fault(
    number: Any, signature: Any, previous: Any
) -> None:
    assert accept(ROUNDS[7])
    with pytest.raises(UsageError):
        verify_round(QUICKNET, number, signature, previous)


def run(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_nothing_but_a_verification_imports_the_extra() -> None:
    published = ROUNDS[7]
    run(f"""
        import sys
        import gopa, gopa.contract.beacon as beacon
        chain = beacon.DRAND_CHAIN.decode(beacon.DRAND_CHAIN.encode(beacon.QUICKNET))
        beacon.require_before(chain, 100, [chain.genesis], 1)
        beacon.graph_seed(beacon.simulation_coins(bytes(32), 0, bytes(32)))
        assert "py_ecc" not in sys.modules
        beacon.verify_round(chain, 123, bytes.fromhex("{published.signature.hex()}"))
        assert "py_ecc" in sys.modules
    """)


def test_without_the_extra_a_verification_says_what_to_install() -> None:
    """A round that cannot be checked is neither accepted nor called wrong."""
    published = ROUNDS[7]
    run(f"""
        import sys
        sys.modules["py_ecc"] = None
        import gopa, gopa.contract.beacon as beacon
        try:
            beacon.verify_round(beacon.QUICKNET, 123, bytes.fromhex("{published.signature.hex()}"))
        except gopa.BackendError:
            sys.exit(0)
        sys.exit("no error")
    """)
    assert accept(published)
