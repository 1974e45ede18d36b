"""Writes and verifies receipts: offline proofs that a log holds an entry (C2SP tlog-proof)."""

from __future__ import annotations

from dataclasses import dataclass

from bulletin_board.note import (
    SignedCheckpoint,
    VerifierKey,
    encode_base64,
    open_checkpoint,
    parse_decimal,
    parse_hash,
)
from bulletin_board.tree import leaf_hash, verify_inclusion
from wire.errors import MalformedMessage

MEDIA_TYPE = "text/plain; charset=utf-8"
LARGEST_RECEIPT = 131_072

_HEADER = "c2sp.org/tlog-proof@v1"
_HIGHEST_TREE = 63


@dataclass(frozen=True, slots=True)
class Receipt:
    """Index, siblings and checkpoint; call `verify_receipt` before believing it."""

    index: int
    proof: tuple[bytes, ...]
    checkpoint: bytes

    def to_bytes(self) -> bytes:
        lines = [_HEADER, f"index {self.index}", *map(encode_base64, self.proof), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes) -> Receipt:
        """The receipt whose only encoding is `data`, or `MalformedMessage`.

        The optional `extra` line is refused: nothing authenticates it and
        nothing of ours writes it.
        """
        if len(data) > LARGEST_RECEIPT:
            raise MalformedMessage(f"a receipt has at most {LARGEST_RECEIPT} bytes", "receipt")
        head, blank, checkpoint = data.partition(b"\n\n")
        try:
            lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise MalformedMessage("ASCII before the checkpoint", "receipt") from None
        if not blank or lines[0] != _HEADER or len(lines) < 2:
            raise MalformedMessage(f"a receipt starts with {_HEADER}", "receipt")
        if not lines[1].startswith("index "):
            raise MalformedMessage("an index line", "receipt")
        if len(lines) > 2 + _HIGHEST_TREE:
            raise MalformedMessage(f"at most {_HIGHEST_TREE} hashes", "receipt")
        index = parse_decimal(lines[1].removeprefix("index "), "index")
        return cls(index, tuple(parse_hash(line, "proof") for line in lines[2:]), checkpoint)


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """Where an entry is in the log, and under which checkpoint. Verified."""

    index: int
    leaf: bytes
    signed: SignedCheckpoint


def verify_receipt(receipt: Receipt, entry: bytes, log: VerifierKey) -> VerifiedReceipt:
    """Check that `log` committed to `entry` at the receipt's index.

    Raises `ProtocolError`s: a checkpoint that is malformed or not signed by the
    log, an inclusion proof that does not hold. Whether enough witnesses cosigned
    is the business of a `TrustPolicy`.
    """
    signed = open_checkpoint(receipt.checkpoint, log)
    leaf = leaf_hash(entry)
    verify_inclusion(receipt.index, signed.size, leaf, receipt.proof, signed.root)
    return VerifiedReceipt(receipt.index, leaf, signed)
