"""The coins of a round: hashes of values fixed when nobody could know the outcome.

`specs/09-beacon.md`, section 4; those about long vectors: `specs/14-long-vectors.md`, section 3.
Sessions, parties, nonces, leaves and coins have 32 bytes each, round numbers two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from wire import domains
from wire.domains import Domain
from wire.errors import UsageError

HASH_SIZE: Final = 32
MOST_BITS: Final = 63
_WORD = 8


def reveal_hash(session: bytes, round_number: int, party: bytes, nonce: bytes) -> bytes:
    """What a party posts before it reveals `nonce`, 32 fresh random bytes.

    Binding, and hiding for a nonce nobody else knows. It holds for this party alone, so
    posting somebody else's hash leads to nothing that can be revealed.
    """
    place = _place(session, round_number)
    return _hash(domains.REVEAL_HASH, place + _exact(party, "party") + _exact(nonce, "nonce"))


def seed_of_choices(session: bytes, round_number: int, join_leaf: bytes, nonce: bytes) -> bytes:
    """The seed of one party's neighbours with commit-reveal, from its own nonce only.

    `join_leaf` is the leaf hash of the close of join. No withheld nonce of another party
    changes it.
    """
    leaf = _exact(join_leaf, "join_leaf")
    return _hash(domains.CHOICES, _place(session, round_number) + leaf + _exact(nonce, "nonce"))


def joint_coins(
    session: bytes, round_number: int, join_leaf: bytes, nonces: Sequence[bytes]
) -> bytes:
    """R of a round with commit-reveal: all revealed nonces, in the order of the list.

    `join_leaf` is the leaf hash of the close of join, so no two rolls share coins.
    """
    if not 1 <= len(nonces) < 2**32:
        raise UsageError("coins need at least one nonce", "nonces")
    parts = [_place(session, round_number), _exact(join_leaf, "join_leaf")]
    parts.append(len(nonces).to_bytes(4))
    parts += [_exact(nonce, "nonces") for nonce in nonces]
    return _hash(domains.JOINT_COINS, b"".join(parts))


def drand_coins(session: bytes, round_number: int, join_leaf: bytes, value: bytes) -> bytes:
    """R of a round with a beacon, whose `value` comes from `verify_round`."""
    leaf = _exact(join_leaf, "join_leaf")
    return _hash(domains.DRAND_COINS, _place(session, round_number) + leaf + _exact(value, "value"))


def simulation_coins(session: bytes, round_number: int, join_leaf: bytes) -> bytes:
    """R of a *simulation*. Whoever posts the close of join chooses it: never for a session."""
    leaf = _exact(join_leaf, "join_leaf")
    return _hash(domains.SIMULATION_COINS, _place(session, round_number) + leaf)


def graph_seed(coins: bytes) -> bytes:
    """The one seed of everybody's neighbours when R does not come from nonces."""
    return _hash(domains.GRAPH_SEED, _exact(coins, "coins"))


def draw_coin(  # noqa: PLR0913, PLR0917  each argument is a field of the hash
    coins: bytes, session: bytes, round_number: int, party: bytes, draw: int, bits: int
) -> int:
    """The public half of one draw of noise: uniform over exactly `bits` bits, 1 to 63.

    `draw` counts a party's draws from 0.
    """
    if type(bits) is not int or not 1 <= bits <= MOST_BITS:
        raise UsageError(f"a coin has 1 to {MOST_BITS} bits", "bits")
    where = _whose(coins, session, round_number, party)
    what = _u32(draw, "draw") + bits.to_bytes(1)
    word = _stream(domains.DRAW_COIN, where + what, _WORD)
    return int.from_bytes(word) >> (8 * _WORD - bits)


def flip_coins(coins: bytes, session: bytes, round_number: int, party: bytes, count: int) -> bytes:
    """`count` public flips for a party's weighted bits: a byte 0 or 1 for each."""
    size = _u32(count, "count")
    if not count:
        raise UsageError("at least one flip", "count")
    where = _whose(coins, session, round_number, party)
    packed = _stream(domains.FLIP_COINS, where + size, -(-count // 8))
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).tobytes()


def input_tests_seed(coins: bytes, session: bytes, round_number: int) -> bytes:
    """The key of the stream of all parties' tests of vector and noise (14-H1)."""
    fields = _exact(coins, "coins") + _place(session, round_number)
    return _hash(domains.INPUT_TESTS, fields)


def permutation_seed(coins: bytes, session: bytes, round_number: int, party: bytes) -> bytes:
    """The key of the stream that moves one party's noise (14-H2)."""
    return _hash(domains.SIGNED_PERMUTATION, _whose(coins, session, round_number, party))


def carry_tests_seed(session: bytes, round_number: int, publish_leaf: bytes) -> bytes:
    """The key of the stream of all parties' tests of carries (14-H3).

    `publish_leaf` is the leaf hash of the close of publish: the carries are fixed below it.
    """
    leaf = _exact(publish_leaf, "publish_leaf")
    return _hash(domains.CARRY_TESTS, _place(session, round_number) + leaf)


def equation_point_bytes(
    session: bytes, round_number: int, publish_leaf: bytes, count: int, size: int
) -> bytes:
    """The bytes of so many points at which equations are checked (14-H4)."""
    if type(count) is not int or not 1 <= count < 2**16:
        raise UsageError("from 1 to 65,535 points", "count")
    fields = _place(session, round_number) + _exact(publish_leaf, "publish_leaf")
    return _stream(domains.EQUATION_POINTS, fields + count.to_bytes(2), size)


def _whose(coins: bytes, session: bytes, round_number: int, party: bytes) -> bytes:
    return _exact(coins, "coins") + _place(session, round_number) + _exact(party, "party")


def _place(session: bytes, round_number: int) -> bytes:
    if type(round_number) is not int or not 0 <= round_number < 2**16:
        raise UsageError("a round number is 0 to 65,535", "round_number")
    return _exact(session, "session") + round_number.to_bytes(2)


def _exact(value: bytes, field: str) -> bytes:
    if type(value) is not bytes or len(value) != HASH_SIZE:
        raise UsageError(f"needs {HASH_SIZE} bytes", field)
    return value


def _u32(value: int, field: str) -> bytes:
    if type(value) is not int or not 0 <= value < 2**32:
        raise UsageError("needs an integer from 0 to 2^32 - 1", field)
    return value.to_bytes(4)


def _hash(label: Domain, fields: bytes) -> bytes:
    return hashlib.sha256(_framed(label, fields)).digest()


def _stream(label: Domain, fields: bytes, size: int) -> bytes:
    return hashlib.shake_128(_framed(label, fields)).digest(size)


def _framed(label: Domain, fields: bytes) -> bytes:
    return len(label).to_bytes(1) + label + fields
