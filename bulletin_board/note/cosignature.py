"""What a witness signs: the checkpoint and the time at which it was the newest it knew."""

from __future__ import annotations

from typing import NamedTuple

from bulletin_board.note.keys import KeyKind, NoteSigner, VerifierKey
from bulletin_board.note.lines import SignatureLine
from bulletin_board.text import LARGEST_NUMBER
from wire.ed25519 import SIGNATURE_SIZE
from wire.errors import InvalidSignature, UsageError

COSIGNATURE_SIZE = 8 + SIGNATURE_SIZE


class Cosignature(NamedTuple):
    """A verified cosignature: who, and the time it states in seconds since 1970."""

    witness: VerifierKey
    time: int


def cosigned_message(text: str, time: int) -> bytes:
    """The bytes under a cosignature/v1."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def split_cosignature(signature: bytes) -> tuple[int, bytes]:
    """The time and the Ed25519 signature inside the signature of a witness."""
    time = int.from_bytes(signature[:8])
    if time > LARGEST_NUMBER:
        raise InvalidSignature("a cosignature states a time below 2^63", "05-N5")
    return time, signature[8:]


def cosignature_time(signature: bytes) -> int:
    """The time stated by a cosignature that has been verified."""
    return split_cosignature(signature)[0]


def cosign(text: str, signer: NoteSigner, time: int) -> SignatureLine:
    """The signature line of a witness. The caller has checked what the witness promises."""
    if signer.verifier.kind is not KeyKind.WITNESS:
        raise UsageError("only a witness key cosigns; this is the key of a log")
    if not 0 <= time <= LARGEST_NUMBER:
        raise UsageError("a cosignature states a time from 0 to 2^63 - 1")
    signature = time.to_bytes(8) + signer.signing_key.sign(cosigned_message(text, time))
    return SignatureLine(signer.verifier.name, signer.verifier.key_id, signature)
