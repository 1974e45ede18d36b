"""The example protocol of draft-irtf-cfrg-fiat-shamir, to run its vectors through the sponge.

A table of 2^v field elements has a claimed sum. Each round halves the table along
its lowest variable at a random place; the prover sends the line of half-sums.
"""

from __future__ import annotations

from typing import Final

from wire.errors import InvalidProof, MalformedMessage
from zkp.transcript import DuplexSponge

P: Final = 2**31 - 1
WIDTH: Final = 4


def encode_uint(value: int, modulus: int) -> bytes:
    """The draft's fixed-width integer below a modulus."""
    assert 0 <= value < modulus
    return value.to_bytes(uint_width(modulus), "little")


def uint_width(modulus: int) -> int:
    """The least number of bytes that hold every integer below the modulus."""
    return ((modulus - 1).bit_length() + 7) // 8


def decode_uints(data: bytes, modulus: int, n: int) -> tuple[list[int], bytes]:
    """n integers below a modulus, and the bytes after them."""
    width, values = uint_width(modulus), []
    for at in range(0, n * width, width):
        chunk = data[at : at + width]
        value = int.from_bytes(chunk, "little")
        if len(chunk) < width or value >= modulus:
            raise MalformedMessage("not a canonical integer", "integer", at)
        values.append(value)
    return values, data[n * width :]


def decode_varlen(data: bytes) -> tuple[bytes, bytes]:
    """One framed byte string, and the bytes after it."""
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or len(data) - 4 < size:
        raise MalformedMessage("the frame is longer than the data", "frame", 0)
    return data[4 : 4 + size], data[4 + size :]


def start(session_id: bytes, variables: int, claim: int) -> DuplexSponge:
    sponge = DuplexSponge(session_id)
    sponge.absorb(encode_uint(variables, 2**32) + encode_uint(claim, P))
    return sponge


def draw(sponge: DuplexSponge, message: bytes) -> int:
    sponge.absorb(message)
    return int.from_bytes(sponge.squeeze(WIDTH), "little") % P


def prove(session_id: bytes, table: list[int]) -> tuple[bytes, int]:
    """The proof, and the value of the multilinear extension at the drawn place."""
    sponge = start(session_id, len(table).bit_length() - 1, sum(table) % P)
    proof = b""
    while len(table) > 1:
        even, odd = table[::2], table[1::2]
        at_zero = sum(even) % P
        slope = (sum(odd) - at_zero) % P
        message = encode_uint(at_zero, P) + encode_uint(slope, P)
        place = draw(sponge, message)
        table = [(a + place * (b - a)) % P for a, b in zip(even, odd, strict=True)]
        proof += message
    return proof, table[0]


def verify(session_id: bytes, variables: int, claim: int, proof: bytes, value: int) -> None:
    """Raises `MalformedMessage` or `InvalidProof`."""
    sponge = start(session_id, variables, claim)
    for _ in range(variables):
        message = proof[: 2 * WIDTH]
        (at_zero, slope), proof = decode_uints(proof, P, 2)
        if (2 * at_zero + slope) % P != claim:
            raise InvalidProof("the halves do not add up to the claim")
        claim = (at_zero + slope * draw(sponge, message)) % P
    if proof:
        raise MalformedMessage("trailing bytes", "proof")
    if claim != value:
        raise InvalidProof("the last claim is not the value of the table")
